// The form of a video instruction, which decode() packs into Op::imm: what it computes, which parts of a and
// b take part, and what becomes of the results. Source: PTX ISA 9.0, 9.7.18.
//
// A scalar instruction takes a byte, a half or the word of a and of b: a selector is 0 for the word, 1 to 4
// for bytes, 5 and 6 for halves; `d` is one too, of where the result goes. A SIMD one takes 2 halves or 4
// bytes out of a's and b's together: selectors are numbers of these, 4 bits for each of the results from the
// lowest on, and `d` is the mask of those that are written.
#pragma once
#include <bit>
#include <cstdint>

namespace egpu::sim {

enum class Video : uint8_t { add, sub, absdiff, average, min, max, shl, shr, eq, ne, lt, le, gt, ge };
enum class VideoSecond : uint8_t { none, add, min, max };  // with c

struct VideoForm {
  Video operation = Video::add;
  VideoSecond second = VideoSecond::none;
  bool a_is_signed : 1 = false, b_is_signed : 1 = false, d_is_signed : 1 = false;
  bool saturates : 1 = false, wraps : 1 = false;  // wraps: shifts count modulo 32
  uint8_t parts : 3 = 1;                          // results
  uint8_t d = 0;
  uint16_t a = 0, b = 0;
};
static_assert(sizeof(VideoForm) == sizeof(int64_t));

// Of vmad, in Op::x: (a * b) + c with these changes.
enum VideoMad : uint8_t { kNegatesProduct = 1, kNegatesAddend = 2, kPlusOne = 4 };

}  // namespace egpu::sim
