// What each instruction computes: operation, operands' bits, result's bits. Expected values are
// worked out by hand or by the host's arithmetic from PTX ISA 9.0, chapter 9.
#include <bit>
#include <cmath>

#include "tests/sim-machine/run.h"

namespace egpu::sim {
namespace {

constexpr uint64_t f(float v) { return std::bit_cast<uint32_t>(v); }
constexpr uint64_t d(double v) { return std::bit_cast<uint64_t>(v); }
constexpr uint64_t kNan = 0x7FFFFFFF, kInf = 0x7F800000, kTiny = 1;  // of f32; the smallest subnormal

constexpr uint64_t two(float low, float high) { return f(high) << 32 | f(low); }

// "op D, A, B, C;" with registers d, a, b, c of these types; "pred" of d gives 0 or 1. CELL is 16 bytes of
// shared memory at x that hold a and b.
struct Case {
  const char *text, *types;  // types: of d, a, b, c
  uint64_t a, b, c, expected;
};

constexpr const char *kWords = "b64 b64 b64 b64", *kFour = "b32 b32 b32 b32";
const Case kCases[] = {
    // integer arithmetic
    {"add.s32 d, a, b;", "b32 b32 b32", 0x7FFFFFFF, 1, 0, 0x80000000},
    {"add.sat.s32 d, a, b;", "b32 b32 b32", 0x7FFFFFFF, 1, 0, 0x7FFFFFFF},
    {"sub.sat.s32 d, a, b;", "b32 b32 b32", 0x80000000, 1, 0, 0x80000000},
    {"add.u16 d, a, b;", "b16 b16 b16", 0xFFFF, 2, 0, 1},
    {"add.u64 d, a, b;", "b64 b64 b64", ~0ull, 2, 0, 1},
    {"sub.s64 d, a, b;", "b64 b64 b64", 0, 1, 0, ~0ull},
    {"add.u16x2 d, a, b;", "b32 b32 b32", 0xFFFF0001, 0x00010002, 0, 0x00000003},
    {"mul.lo.s32 d, a, b;", "b32 b32 b32", 0x10001, 0x10001, 0, 0x20001},
    {"mul.hi.u32 d, a, b;", "b32 b32 b32", 0xFFFFFFFF, 0xFFFFFFFF, 0, 0xFFFFFFFE},
    {"mul.hi.s32 d, a, b;", "b32 b32 b32", 0xFFFFFFFF, 0xFFFFFFFF, 0, 0},
    {"mul.hi.u64 d, a, b;", "b64 b64 b64", ~0ull, ~0ull, 0, ~1ull},
    {"mul.hi.s64 d, a, b;", "b64 b64 b64", 1ull << 63, 2, 0, ~0ull},
    {"mul.lo.u16 d, a, b;", "b16 b16 b16", 0xFFFF, 0xFFFF, 0, 1},
    {"mul.wide.s16 d, a, b;", "b32 b16 b16", 0x8000, 2, 0, 0xFFFF0000},
    {"mul.wide.u16 d, a, b;", "b32 b16 b16", 0xFFFF, 0xFFFF, 0, 0xFFFE0001},
    {"mul.wide.s32 d, a, b;", "b64 b32 b32", 0xFFFFFFFF, 5, 0, static_cast<uint64_t>(-5)},
    {"mul.wide.u32 d, a, b;", "b64 b32 b32", 0xFFFFFFFF, 5, 0, 0x4FFFFFFFB},
    {"mad.lo.s32 d, a, b, c;", "b32 b32 b32 b32", 7, 6, 0xFFFFFFFF, 41},
    {"mad.hi.s32 d, a, b, c;", "b32 b32 b32 b32", 0x80000000, 4, 10, 8},
    {"mad.wide.s32 d, a, b, c;", "b64 b32 b32 b64", 0xFFFFFFFF, 3, 1, static_cast<uint64_t>(-2)},
    {"mad.lo.u16 d, a, b, c;", "b16 b16 b16 b16", 0x100, 0x100, 9, 9},
    {"mul24.lo.s32 d, a, b;", "b32 b32 b32", 0xFF800001, 2, 0, 0xFF000002},
    {"mul24.hi.u32 d, a, b;", "b32 b32 b32", 0xFFFFFF, 0xFFFFFF, 0, 0xFFFFFE00},
    {"mad24.lo.u32 d, a, b, c;", "b32 b32 b32 b32", 0x1000002, 3, 4, 10},
    {"sad.s32 d, a, b, c;", "b32 b32 b32 b32", 0xFFFFFFFD, 4, 10, 17},
    {"sad.u32 d, a, b, c;", "b32 b32 b32 b32", 0xFFFFFFFF, 0, 1, 0},
    {"div.s32 d, a, b;", "b32 b32 b32", 0xFFFFFFF9, 2, 0, 0xFFFFFFFD},
    {"div.s32 d, a, b;", "b32 b32 b32", 0x80000000, 0xFFFFFFFF, 0, 0x80000000},
    {"div.u32 d, a, b;", "b32 b32 b32", 0xFFFFFFF9, 2, 0, 0x7FFFFFFC},
    {"div.u32 d, a, b;", "b32 b32 b32", 5, 0, 0, 0xFFFFFFFF},
    {"div.s64 d, a, b;", "b64 b64 b64", 1ull << 63, ~0ull, 0, 1ull << 63},
    {"rem.s32 d, a, b;", "b32 b32 b32", 0xFFFFFFF9, 2, 0, 0xFFFFFFFF},
    {"rem.u64 d, a, b;", "b64 b64 b64", 100, 7, 0, 2},
    {"min.s32 d, a, b;", "b32 b32 b32", 0xFFFFFFFF, 1, 0, 0xFFFFFFFF},
    {"min.u32 d, a, b;", "b32 b32 b32", 0xFFFFFFFF, 1, 0, 1},
    {"max.s64 d, a, b;", "b64 b64 b64", ~0ull, 1, 0, 1},
    {"max.u16 d, a, b;", "b16 b16 b16", 0xFFFF, 1, 0, 0xFFFF},
    {"max.s16x2 d, a, b;", "b32 b32 b32", 0xFFFF0005, 0x0001FFFE, 0, 0x00010005},
    {"abs.s32 d, a;", "b32 b32", 0xFFFFFFFE, 0, 0, 2},
    {"neg.s64 d, a;", "b64 b64", 2, 0, 0, ~1ull},
    {"abs.s16 d, a;", "b16 b16", 0x8001, 0, 0, 0x7FFF},
    // carries: {d,c} = a + b with a following addc
    {"add.cc.u32 d, a, b; addc.u32 d, c, 0;", "b32 b32 b32 b32", 0xFFFFFFFF, 1, 5, 6},
    {"add.cc.u32 d, a, b; addc.u32 d, c, 0;", "b32 b32 b32 b32", 0xFFFFFFFE, 1, 5, 5},
    {"sub.cc.u32 d, a, b; subc.u32 d, c, 0;", "b32 b32 b32 b32", 0, 1, 5, 4},
    {"add.cc.u32 d, a, b; addc.cc.u32 d, a, b; addc.u32 d, 0, 0;", "b32 b32 b32", 0xFFFFFFFF, 0xFFFFFFFF, 0,
     1},
    {"mad.lo.cc.u32 d, a, b, c; madc.hi.u32 d, a, b, 0;", "b32 b32 b32 b32", 0xFFFFFFFF, 0xFFFFFFFF,
     0xFFFFFFFF, 0xFFFFFFFF},
    {"add.cc.u64 d, a, b; addc.u64 d, c, 0;", "b64 b64 b64 b64", ~0ull, 1, 5, 6},
    // logic, shifts, bit fields
    {"and.b32 d, a, b;", "b32 b32 b32", 0xFF00FF00, 0x0FF00FF0, 0, 0x0F000F00},
    {"or.b64 d, a, b;", "b64 b64 b64", 1ull << 40, 3, 0, 1ull << 40 | 3},
    {"xor.b16 d, a, b;", "b16 b16 b16", 0xFFFF, 0x0F0F, 0, 0xF0F0},
    {"not.b32 d, a;", "b32 b32", 0x12345678, 0, 0, 0xEDCBA987},
    {"cnot.b32 d, a;", "b32 b32", 0, 0, 0, 1},
    {"shl.b32 d, a, b;", "b32 b32 b32", 1, 31, 0, 0x80000000},
    {"shl.b32 d, a, b;", "b32 b32 b32", 1, 32, 0, 0},
    {"shl.b64 d, a, b;", "b64 b64 b32", 1, 63, 0, 1ull << 63},
    {"shr.u32 d, a, b;", "b32 b32 b32", 0x80000000, 100, 0, 0},
    {"shr.s32 d, a, b;", "b32 b32 b32", 0x80000000, 100, 0, 0xFFFFFFFF},
    {"shr.s16 d, a, b;", "b16 b16 b32", 0x8000, 3, 0, 0xF000},
    {"shr.u64 d, a, b;", "b64 b64 b32", 1ull << 63, 62, 0, 2},
    {"shf.l.wrap.b32 d, a, b, c;", "b32 b32 b32 b32", 0x80000000, 1, 33, 3},
    {"shf.l.clamp.b32 d, a, b, c;", "b32 b32 b32 b32", 0x80000001, 1, 33, 0x80000001},
    {"shf.r.wrap.b32 d, a, b, c;", "b32 b32 b32 b32", 0x10, 3, 4, 0x30000001},
    {"shf.r.clamp.b32 d, a, b, c;", "b32 b32 b32 b32", 0x10, 3, 40, 3},
    {"bfe.u32 d, a, b, c;", "b32 b32 b32 b32", 0xABCD1234, 8, 8, 0x12},
    {"bfe.s32 d, a, b, c;", "b32 b32 b32 b32", 0x0000F000, 12, 4, 0xFFFFFFFF},
    {"bfe.s32 d, a, b, c;", "b32 b32 b32 b32", 0x80000000, 28, 8, 0xFFFFFFF8},
    {"bfe.u32 d, a, b, c;", "b32 b32 b32 b32", 0xFFFFFFFF, 4, 0, 0},
    {"bfe.u64 d, a, b, c;", "b64 b64 b32 b32", 0xABCDull << 40, 40, 16, 0xABCD},
    {"bfi.b32 d, a, b, 8, 4;", "b32 b32 b32", 0xFF, 0x1000, 0, 0x1F00},
    {"bfi.b32 d, a, b, 32, 4;", "b32 b32 b32", 0xFF, 0x1000, 0, 0x1000},
    {"bfi.b64 d, a, b, 32, 32;", "b64 b64 b64", 7, 9, 0, 7ull << 32 | 9},
    {"bfind.u32 d, a;", "b32 b32", 0x00010000, 0, 0, 16},
    {"bfind.s32 d, a;", "b32 b32", 0xFFFFFF00, 0, 0, 7},
    {"bfind.shiftamt.u32 d, a;", "b32 b32", 0x00010000, 0, 0, 15},
    {"bfind.u64 d, a;", "b32 b64", 0, 0, 0, 0xFFFFFFFF},
    {"brev.b32 d, a;", "b32 b32", 0x00000003, 0, 0, 0xC0000000},
    {"popc.b64 d, a;", "b32 b64", 0xFF00000000000001, 0, 0, 9},
    {"clz.b32 d, a;", "b32 b32", 0, 0, 0, 32},
    {"clz.b64 d, a;", "b32 b64", 1, 0, 0, 63},
    {"lop3.b32 d, a, b, c, 0x80;", "b32 b32 b32 b32", 0xF0, 0xCC, 0xAA, 0x80},
    {"lop3.b32 d, a, b, c, 0x96;", "b32 b32 b32 b32", 0xF0, 0xCC, 0xAA, 0x96},
    {"lop3.b32 d, a, b, c, 0xE8;", "b32 b32 b32 b32", 0xF0F0, 0xCCCC, 0xAAAA, 0xE8E8},
    {"prmt.b32 d, a, b, c;", "b32 b32 b32 b32", 0x33221100, 0x77665544, 0x7520, 0x77552200},
    {"prmt.b32 d, a, b, c;", "b32 b32 b32 b32", 0x80, 0, 0x1118, 0x000000FF},
    {"prmt.b32.b4e d, a, b, c;", "b32 b32 b32 b32", 0x33221100, 0x77665544, 0, 0x55667700},
    {"prmt.b32.rc8 d, a, b, c;", "b32 b32 b32 b32", 0x33221100, 0, 2, 0x22222222},
    {"fns.b32 d, a, b, 2;", "b32 b32 b32", 0xF0, 4, 0, 5},
    {"bmsk.clamp.b32 d, a, b;", "b32 b32 b32", 4, 8, 0, 0xFF0},
    {"szext.wrap.s32 d, a, b;", "b32 b32 b32", 0xFF, 4, 0, 0xFFFFFFFF},
    {"dp4a.u32.u32 d, a, b, c;", "b32 b32 b32 b32", 0x01020304, 0x05060708, 100, 170},
    {"dp4a.s32.s32 d, a, b, c;", "b32 b32 b32 b32", 0xFF000001, 0x02000003, 0, 1},
    {"dp2a.lo.s32.u32 d, a, b, c;", "b32 b32 b32 b32", 0x0002FFFF, 0x09090304, 0, 2},
    // comparison and selection
    {"setp.lt.s32 d, a, b;", "pred b32 b32", 0xFFFFFFFF, 1, 0, 1},
    {"setp.lt.u32 d, a, b;", "pred b32 b32", 0xFFFFFFFF, 1, 0, 0},
    {"setp.hi.u32 d, a, b;", "pred b32 b32", 0xFFFFFFFF, 1, 0, 1},
    {"setp.ne.b64 d, a, b;", "pred b64 b64", 1ull << 40, 0, 0, 1},
    {"setp.ge.s16 d, a, b;", "pred b16 b16", 0x8000, 0, 0, 0},
    {"setp.eq.f32 d, a, b;", "pred f32 f32", f(0.0f), f(-0.0f), 0, 1},
    {"setp.ne.f32 d, a, b;", "pred f32 f32", kNan, f(1), 0, 0},
    {"setp.neu.f32 d, a, b;", "pred f32 f32", kNan, f(1), 0, 1},
    {"setp.ltu.f32 d, a, b;", "pred f32 f32", kNan, f(1), 0, 1},
    {"setp.nan.f64 d, a, b;", "pred f64 f64", d(NAN), d(1), 0, 1},
    {"setp.num.f32 d, a, b;", "pred f32 f32", f(1), f(2), 0, 1},
    {"setp.gt.ftz.f32 d, a, b;", "pred f32 f32", kTiny, f(0), 0, 0},
    {"setp.gt.f32 d, a, b;", "pred f32 f32", kTiny, f(0), 0, 1},
    {"{ .reg .pred q; setp.ne.b32 q, c, 0; setp.lt.and.s32 d, a, b, !q; }", "pred b32 b32 b32", 1, 2, 1, 0},
    {"{ .reg .pred q; setp.ne.b32 q, c, 0; setp.lt.or.s32 d, a, b, q; }", "pred b32 b32 b32", 3, 2, 1, 1},
    {"{ .reg .pred q; setp.lt.s32 q|d, a, b; }", "pred b32 b32", 3, 2, 0, 1},
    {"set.lt.u32.s32 d, a, b;", "b32 b32 b32", 1, 2, 0, 0xFFFFFFFF},
    {"set.gt.f32.f32 d, a, b;", "f32 f32 f32", f(2), f(1), 0, f(1)},
    {"slct.b32.s32 d, a, b, c;", "b32 b32 b32 b32", 5, 6, 0x80000000, 6},
    {"slct.b32.f32 d, a, b, c;", "b32 b32 b32 f32", 5, 6, f(-0.0f), 5},
    {"{ .reg .pred q; setp.ne.b32 q, c, 0; selp.b64 d, a, b, q; }", "b64 b64 b64 b32", 5, 6, 0, 6},
    // moves and packing
    {"mov.b64 d, {a, b};", "b64 b32 b32", 1, 2, 0, 2ull << 32 | 1},
    {"mov.b32 d, {a, b};", "b32 b16 b16", 1, 2, 0, 2 << 16 | 1},
    {"{ .reg .b32 x; mov.b64 {x, d}, a; }", "b32 b64", 5ull << 32 | 4, 0, 0, 5},
    {"mov.b64 {_, d}, a;", "b32 b64", 5ull << 32 | 4, 0, 0, 5},
    {"mov.b64 d, {a, b, c, c};", "b64 b16 b16 b16", 1, 2, 3, 0x0003000300020001},
    // floating
    {"add.f32 d, a, b;", "f32 f32 f32", f(1.5f), f(2.25f), 0, f(3.75f)},
    {"add.f32 d, a, b;", "f32 f32 f32", kInf, kInf | 0x80000000, 0, kNan},
    {"add.ftz.f32 d, a, b;", "f32 f32 f32", kTiny, kTiny, 0, 0},
    {"add.f32 d, a, b;", "f32 f32 f32", kTiny, kTiny, 0, 2},
    {"add.rz.f32 d, a, b;", "f32 f32 f32", f(1), f(0x1.8p-24f), 0, f(1)},
    {"add.rp.f32 d, a, b;", "f32 f32 f32", f(1), f(0x1p-40f), 0, f(0x1.000002p0f)},
    {"add.rm.f32 d, a, b;", "f32 f32 f32", f(1), f(-0x1p-40f), 0, f(0x1.fffffep-1f)},
    {"add.sat.f32 d, a, b;", "f32 f32 f32", f(1), f(1), 0, f(1)},
    {"add.sat.f32 d, a, b;", "f32 f32 f32", kNan, f(1), 0, 0},
    {"sub.f32 d, a, b;", "f32 f32 f32", f(1), f(3), 0, f(-2)},
    {"mul.f32 d, a, b;", "f32 f32 f32", f(3), f(-2), 0, f(-6)},
    {"mul.ftz.f32 d, a, b;", "f32 f32 f32", f(0x1p-126f), f(-0.5f), 0, 0x80000000},
    {"fma.rn.f32 d, a, b, c;", "f32 f32 f32 f32", f(0x1.000002p0f), f(0x1.000002p0f), f(-0x1.000004p0f),
     f(0x1p-46f)},
    {"fma.rz.f32 d, a, b, c;", "f32 f32 f32 f32", f(1), f(1), f(-0x1p-30f), f(0x1.fffffep-1f)},
    {"mad.rn.f32 d, a, b, c;", "f32 f32 f32 f32", f(2), f(3), f(4), f(10)},
    {"div.rn.f32 d, a, b;", "f32 f32 f32", f(1), f(3), 0, f(1.0f / 3.0f)},
    {"div.rz.f32 d, a, b;", "f32 f32 f32", f(2), f(3), 0, 0x3F2AAAAA},
    {"div.approx.f32 d, a, b;", "f32 f32 f32", f(6), f(2), 0, f(3)},
    {"div.full.ftz.f32 d, a, b;", "f32 f32 f32", f(6), f(2), 0, f(3)},
    {"rcp.rn.f32 d, a;", "f32 f32", f(-0.0f), 0, 0, kInf | 0x80000000},
    {"rcp.approx.ftz.f32 d, a;", "f32 f32", f(4), 0, 0, f(0.25f)},
    {"sqrt.rn.f32 d, a;", "f32 f32", f(2), 0, 0, 0x3FB504F3},
    {"sqrt.rn.f32 d, a;", "f32 f32", f(-2), 0, 0, kNan},
    {"rsqrt.approx.f32 d, a;", "f32 f32", f(16), 0, 0, f(0.25f)},
    {"ex2.approx.f32 d, a;", "f32 f32", f(-3), 0, 0, f(0.125f)},
    {"lg2.approx.f32 d, a;", "f32 f32", f(8), 0, 0, f(3)},
    {"sin.approx.f32 d, a;", "f32 f32", f(0), 0, 0, f(0)},
    {"cos.approx.f32 d, a;", "f32 f32", f(0), 0, 0, f(1)},
    {"tanh.approx.f32 d, a;", "f32 f32", f(0), 0, 0, f(0)},
    {"min.f32 d, a, b;", "f32 f32 f32", kNan, f(2), 0, f(2)},
    {"min.NaN.f32 d, a, b;", "f32 f32 f32", kNan, f(2), 0, kNan},
    {"min.f32 d, a, b;", "f32 f32 f32", f(0.0f), f(-0.0f), 0, 0x80000000},
    {"max.f32 d, a, b;", "f32 f32 f32", f(-0.0f), f(0.0f), 0, 0},
    {"max.xorsign.abs.f32 d, a, b;", "f32 f32 f32", f(-3), f(2), 0, f(-3)},
    {"abs.f32 d, a;", "f32 f32", f(-3), 0, 0, f(3)},
    {"neg.f32 d, a;", "f32 f32", f(0), 0, 0, 0x80000000},
    {"neg.ftz.f32 d, a;", "f32 f32", kTiny, 0, 0, 0x80000000},
    {"copysign.f32 d, a, b;", "f32 f32 f32", f(-1), f(5), 0, f(-5)},
    {"testp.subnormal.f32 d, a;", "pred f32", kTiny, 0, 0, 1},
    {"testp.finite.f64 d, a;", "pred f64", d(INFINITY), 0, 0, 0},
    {"add.f64 d, a, b;", "f64 f64 f64", d(0.1), d(0.2), 0, d(0.1 + 0.2)},
    {"fma.rn.f64 d, a, b, c;", "f64 f64 f64 f64", d(3), d(4), d(5), d(17)},
    {"div.rn.f64 d, a, b;", "f64 f64 f64", d(1), d(3), 0, d(1.0 / 3.0)},
    {"add.rp.f64 d, a, b;", "f64 f64 f64", d(1), d(0x1p-80), 0, d(0x1.0000000000001p0)},
    {"sqrt.rn.f64 d, a;", "f64 f64", d(2), 0, 0, d(std::sqrt(2.0))},
    {"rcp.approx.ftz.f64 d, a;", "f64 f64", d(4), 0, 0, d(0.25)},
    {"max.f64 d, a, b;", "f64 f64 f64", d(NAN), d(1), 0, d(1)},
    // two numbers a register, and halves with f32: PTX ISA 9.0, 9.7.5
    {"add.rn.f32x2 d, a, b;", "b64 b64 b64", two(1.5f, -3), two(2.25f, 1), 0, two(3.75f, -2)},
    {"add.rn.f32x2 d, a, b;", "b64 b64 b64", two(INFINITY, 1), two(-INFINITY, 1), 0, f(2) << 32 | kNan},
    {"sub.rz.ftz.f32x2 d, a, b;", "b64 b64 b64", two(1, 0x1p-127f), two(0x1p-30f, 0), 0,
     two(0x1.fffffep-1f, 0)},
    {"mul.rp.f32x2 d, a, b;", "b64 b64 b64", two(0x1.000002p0f, 3), two(0x1.000002p0f, -2), 0,
     two(0x1.000006p0f, -6)},
    {"fma.rn.f32x2 d, a, b, c;", kWords, two(0x1.000002p0f, 2), two(0x1.000002p0f, 3), two(-0x1.000004p0f, 4),
     two(0x1p-46f, 10)},
    {"fma.rm.ftz.f32x2 d, a, b, c;", kWords, two(0x1p-100f, 1), two(0x1p-27f, 1), two(0, -0x1p-30f),
     two(0, 0x1.fffffep-1f)},
    {"min.f32 d, a, b, c;", "f32 f32 f32 f32", f(3), f(-2), f(5), f(-2)},
    {"min.f32 d, a, b, c;", "f32 f32 f32 f32", kNan, kNan, f(5), f(5)},
    {"min.f32 d, a, b, c;", "f32 f32 f32 f32", f(0.0f), f(-0.0f), f(0.0f), 0x80000000},
    {"max.f32 d, a, b, c;", "f32 f32 f32 f32", f(-0.0f), f(-0.0f), f(0.0f), 0},
    {"max.f32 d, a, b, c;", "f32 f32 f32 f32", kNan, kNan | 0x80000000, kNan, kNan},
    {"max.NaN.f32 d, a, b, c;", "f32 f32 f32 f32", f(1), kNan, f(5), kNan},
    {"max.abs.f32 d, a, b, c;", "f32 f32 f32 f32", f(-7), f(1), f(5), f(7)},
    {"min.ftz.NaN.abs.f32 d, a, b, c;", "f32 f32 f32 f32", kTiny | 0x80000000, f(1), f(5), 0},
    {"add.f32.f16 d, a, b;", "f32 b16 f32", 0x3C00, f(0x1p-20f), 0, f(0x1.00001p0f)},
    {"add.rz.sat.f32.f16 d, a, b;", "f32 b16 f32", 0x3C00, f(0x1.8p-24f), 0, f(1)},
    {"add.rp.f32.bf16 d, a, b;", "f32 b16 f32", 0x3F80, f(0x1p-40f), 0, f(0x1.000002p0f)},
    {"sub.f32.bf16 d, a, b;", "f32 b16 f32", 0x4040, f(1), 0, f(2)},
    {"fma.rn.f32.f16 d, a, b, c;", "f32 b16 b16 f32", 0x0001, 0x3800, f(0x1p-40f), f(0x1.0002p-25f)},
    {"fma.rm.f32.bf16 d, a, b, c;", "f32 b16 b16 f32", 0x3F80, 0x3F80, f(-0x1p-40f), f(0x1.fffffep-1f)},
    {"fma.rn.sat.f32.f16 d, a, b, c;", "f32 b16 b16 f32", 0xC000, 0x4200, f(1), 0},
    // f16 and bf16
    {"add.f16 d, a, b;", "b16 b16 b16", 0x3C00, 0x3C00, 0, 0x4000},
    {"add.f16 d, a, b;", "b16 b16 b16", 0x7BFF, 0x7BFF, 0, 0x7C00},
    {"add.f16 d, a, b;", "b16 b16 b16", 0x3C00, 0x1000, 0, 0x3C00},  // 1 + 2^-11: a tie, to even
    {"add.f16 d, a, b;", "b16 b16 b16", 0x3C01, 0x1000, 0, 0x3C02},  // the tie above an odd one
    {"mul.f16 d, a, b;", "b16 b16 b16", 0x0001, 0x3800, 0, 0x0000},  // half the smallest subnormal
    {"fma.rn.f16 d, a, b, c;", "b16 b16 b16 b16", 0x4000, 0x4200, 0x3C00, 0x4700},
    {"fma.rn.f16 d, a, b, c;", "b16 b16 b16 b16", 0x3C00, 0x3C01, 0x0001, 0x3C01},
    {"fma.rn.relu.f16 d, a, b, c;", "b16 b16 b16 b16", 0xC000, 0x4200, 0x3C00, 0},
    {"fma.rn.sat.f16 d, a, b, c;", "b16 b16 b16 b16", 0x4000, 0x4200, 0x3C00, 0x3C00},
    {"add.f16x2 d, a, b;", "b32 b32 b32", 0x3C004000, 0x3C003C00, 0, 0x40004200},
    {"fma.rn.bf16 d, a, b, c;", "b16 b16 b16 b16", 0x4000, 0x4040, 0x3F80, 0x40E0},
    {"fma.rn.bf16x2 d, a, b, c;", "b32 b32 b32 b32", 0x40003F80, 0x40403F80, 0x3F803F80, 0x40E04000},
    {"fma.rn.oob.f16 d, a, b, c;", "b16 b16 b16 b16", 0x7FF7, 0x4200, 0x3C00, 0},
    {"fma.rn.oob.f16 d, a, b, c;", "b16 b16 b16 b16", 0x4000, 0xFFF7, 0xBC00, 0},
    {"fma.rn.oob.f16 d, a, b, c;", "b16 b16 b16 b16", 0x7FF7, 0x7E00, 0x7C00, 0},
    {"fma.rn.oob.f16 d, a, b, c;", "b16 b16 b16 b16", 0x4000, 0x4200, 0x7FF7, 0x7FFF},
    {"fma.rn.oob.f16 d, a, b, c;", "b16 b16 b16 b16", 0x7FF6, 0x4200, 0x3C00, 0x7FFF},
    {"fma.rn.oob.f16 d, a, b, c;", "b16 b16 b16 b16", 0x4000, 0x4200, 0x3C00, 0x4700},
    {"fma.rn.f16 d, a, b, c;", "b16 b16 b16 b16", 0x7FF7, 0x4200, 0x3C00, 0x7FFF},
    {"fma.rn.oob.relu.f16x2 d, a, b, c;", "b32 b32 b32 b32", 0x7FF7C000, 0x42004200, 0x3C003C00, 0},
    {"fma.rn.oob.f16x2 d, a, b, c;", "b32 b32 b32 b32", 0x4000FFF7, 0x42004200, 0x3C003C00, 0x47000000},
    {"fma.rn.oob.relu.bf16 d, a, b, c;", "b16 b16 b16 b16", 0x4000, 0x7FF7, 0x3F80, 0},
    {"fma.rn.oob.relu.bf16 d, a, b, c;", "b16 b16 b16 b16", 0x4000, 0x7FFF, 0x3F80, 0x7FFF},
    {"fma.rn.oob.bf16x2 d, a, b, c;", "b32 b32 b32 b32", 0xC0007FF7, 0x40404040, 0x3F803F80, 0xC0A00000},
    {"max.f16 d, a, b;", "b16 b16 b16", 0xBC00, 0x3C00, 0, 0x3C00},
    {"neg.f16 d, a;", "b16 b16", 0x3C00, 0, 0, 0xBC00},
    {"ex2.approx.f16 d, a;", "b16 b16", 0x4000, 0, 0, 0x4400},
    {"setp.lt.f16 d, a, b;", "pred b16 b16", 0x3C00, 0x4000, 0, 1},
    // conversions
    {"cvt.u32.u8 d, a;", "b32 b32", 0x1FF, 0, 0, 0xFF},
    {"cvt.s32.s8 d, a;", "b32 b32", 0x80, 0, 0, 0xFFFFFF80},
    {"cvt.s64.s32 d, a;", "b64 b32", 0x80000000, 0, 0, 0xFFFFFFFF80000000},
    {"cvt.u64.u32 d, a;", "b64 b32", 0x80000000, 0, 0, 0x80000000},
    {"cvt.u16.u32 d, a;", "b32 b32", 0x12345678, 0, 0, 0x5678},
    {"cvt.s8.s32 d, a;", "b32 b32", 0x1FE, 0, 0, 0xFFFFFFFE},
    {"cvt.sat.u8.s32 d, a;", "b32 b32", 0xFFFFFFFF, 0, 0, 0},
    {"cvt.sat.s8.s32 d, a;", "b32 b32", 1000, 0, 0, 127},
    {"cvt.sat.s32.u32 d, a;", "b32 b32", 0xFFFFFFFF, 0, 0, 0x7FFFFFFF},
    {"cvt.rn.f32.s32 d, a;", "f32 b32", 0xFFFFFFFF, 0, 0, f(-1)},
    {"cvt.rn.f32.u32 d, a;", "f32 b32", 0xFFFFFFFF, 0, 0, f(4294967296.0f)},
    {"cvt.rz.f32.u32 d, a;", "f32 b32", 0xFFFFFFFF, 0, 0, f(4294967040.0f)},
    {"cvt.rp.f32.s64 d, a;", "f32 b64", (1ull << 40) + 1, 0, 0, f(0x1.000002p40f)},
    {"cvt.rn.f64.u64 d, a;", "f64 b64", ~0ull, 0, 0, d(0x1p64)},
    {"cvt.rzi.s32.f32 d, a;", "b32 f32", f(-2.9f), 0, 0, 0xFFFFFFFE},
    {"cvt.rni.s32.f32 d, a;", "b32 f32", f(2.5f), 0, 0, 2},
    {"cvt.rmi.s32.f32 d, a;", "b32 f32", f(-2.1f), 0, 0, 0xFFFFFFFD},
    {"cvt.rpi.s32.f32 d, a;", "b32 f32", f(2.1f), 0, 0, 3},
    {"cvt.rzi.u32.f32 d, a;", "b32 f32", f(-1), 0, 0, 0},
    {"cvt.rzi.s32.f32 d, a;", "b32 f32", f(1e20f), 0, 0, 0x7FFFFFFF},
    {"cvt.rzi.s32.f32 d, a;", "b32 f32", kNan, 0, 0, 0},
    {"cvt.rzi.u64.f64 d, a;", "b64 f64", d(1e19), 0, 0, 10000000000000000000ull},
    {"cvt.rzi.u8.f32 d, a;", "b32 f32", f(300), 0, 0, 255},
    {"cvt.rni.f32.f32 d, a;", "f32 f32", f(2.5f), 0, 0, f(2)},
    {"cvt.rmi.f64.f64 d, a;", "f64 f64", d(-0.5), 0, 0, d(-1)},
    {"cvt.sat.f32.f32 d, a;", "f32 f32", f(7), 0, 0, f(1)},
    {"cvt.f64.f32 d, a;", "f64 f32", f(1.5f), 0, 0, d(1.5)},
    {"cvt.rn.f32.f64 d, a;", "f32 f64", d(0x1.000001p0), 0, 0, f(1)},
    {"cvt.rp.f32.f64 d, a;", "f32 f64", d(0x1.0000001p0), 0, 0, f(0x1.000002p0f)},
    {"cvt.rz.f32.f64 d, a;", "f32 f64", d(1e300), 0, 0, 0x7F7FFFFF},
    {"cvt.rn.f16.f32 d, a;", "b16 f32", f(65520), 0, 0, 0x7C00},
    {"cvt.rn.f16.f32 d, a;", "b16 f32", f(65519), 0, 0, 0x7BFF},
    {"cvt.rz.f16.f32 d, a;", "b16 f32", f(1e9f), 0, 0, 0x7BFF},
    {"cvt.rn.f16.f32 d, a;", "b16 f32", f(0x1p-24f), 0, 0, 0x0001},
    {"cvt.rn.f16.f32 d, a;", "b16 f32", f(0x1p-25f), 0, 0, 0x0000},
    {"cvt.rn.f16.f32 d, a;", "b16 f32", f(0x1.8p-25f), 0, 0, 0x0001},
    {"cvt.f32.f16 d, a;", "f32 b16", 0x0001, 0, 0, f(0x1p-24f)},
    {"cvt.f32.f16 d, a;", "f32 b16", 0xFC00, 0, 0, kInf | 0x80000000},
    {"cvt.rn.bf16.f32 d, a;", "b16 f32", f(0x1.01p0f), 0, 0, 0x3F80},
    {"cvt.rn.bf16.f32 d, a;", "b16 f32", f(0x1.03p0f), 0, 0, 0x3F82},
    {"cvt.rn.f16x2.f32 d, a, b;", "b32 f32 f32", f(1), f(2), 0, 0x3C004000},
    {"cvt.rn.bf16x2.f32 d, a, b;", "b32 f32 f32", f(1), f(2), 0, 0x3F804000},
    {"cvt.rn.relu.f16x2.f32 d, a, b;", "b32 f32 f32", f(-1), f(2), 0, 0x00004000},
    {"cvt.rn.satfinite.e4m3x2.f32 d, a, b;", "b16 f32 f32", f(1000), f(1), 0, 0x7E38},
    {"cvt.rn.f16x2.e4m3x2 d, a;", "b32 b16", 0x7E38, 0, 0, 0x5F003C00},
    {"cvt.rn.satfinite.e5m2x2.f32 d, a, b;", "b16 f32 f32", f(1), f(-2), 0, 0x3CC0},
    {"cvt.rna.tf32.f32 d, a;", "b32 f32", 0x3F801000, 0, 0, 0x3F802000},
    {"cvt.rni.s64.f32 d, a;", "b64 f32", f(-3.5f), 0, 0, static_cast<uint64_t>(-4)},
    {"cvt.pack.sat.u4.s32.b32 d, a, b, c;", "b32 b32 b32 b32", 100, 0xFFFFFFFF, 0x12345678, 0x345678F0},
    {"cvt.pack.sat.s4.s32.b32 d, a, b, c;", "b32 b32 b32 b32", 100, 0xFFFFFF00, 0x12345678, 0x34567878},
    {"cvt.pack.sat.u2.s32.b32 d, a, b, c;", "b32 b32 b32 b32", 2, 100, 0x12345678, 0x2345678B},
    {"cvt.pack.sat.s2.s32.b32 d, a, b, c;", "b32 b32 b32 b32", 100, 0xFFFFFFFF, 0x12345678, 0x23456787},
    // video instructions
    {"vadd.u32.u32.u32.sat d, a, b;", kFour, 0xFFFFFFFF, 2, 0, 0xFFFFFFFF},
    {"vsub.u32.s32.s32.sat d, a, b;", kFour, 1, 3, 0, 0},
    {"vsub.s32.u32.u32 d, a.b1, b.h1;", kFour, 0x1200, 0x200000, 0, 0xFFFFFFF2},
    {"vabsdiff.u32.s32.s32.add d, a.h0, b.h1, c;", kFour, 0xFFFF, 0x50000, 10, 16},
    {"vmin.s32.s32.u32.max d, a, b, c;", kFour, 0xFFFFFFFF, 1, 5, 5},
    {"vmax.s32.s32.s32 d.b2, a, b, c;", kFour, 3, 0x1FF, 0x11223344, 0x11FF3344},
    {"vmax.s32.s32.s32.sat d.b2, a, b, c;", kFour, 3, 0x1FF, 0x11223344, 0x117F3344},
    {"vshl.u32.u32.u32.clamp d, a, b;", kFour, 1, 40, 0, 0},
    {"vshl.u32.u32.u32.sat.clamp d, a, b;", kFour, 1, 40, 0, 0xFFFFFFFF},
    {"vshl.u32.u32.u32.wrap d.h1, a, b, c;", kFour, 1, 40, 0x11223344, 0x01003344},
    {"vshr.s32.s32.u32.clamp.add d, a, b, c;", kFour, 0xFFFFFF00, 40, 7, 6},
    {"vmad.s32.s32.s32.shr7 d, a, b, c;", kFour, 0xFFFFFF80, 3, 0, 0xFFFFFFFD},
    {"vmad.u32.u32.u32.po.sat d, a, b, c;", kFour, 0xFFFFFFFF, 2, 0, 0xFFFFFFFF},
    {"vmad.u32.u32.u32.po d, a, b, c;", kFour, 3, 4, 20, 33},
    {"vmad.s32.u32.u32.sat d, a, b, -c;", kFour, 3, 4, 20, 0xFFFFFFF8},
    {"vmad.s32.s32.s32 d, -a, b.b1, c;", kFour, 3, 0x400, 20, 8},
    {"vset.u32.s32.lt.add d, a, b, c;", kFour, 0, 0xFFFFFFFF, 9, 9},
    {"vset.s32.s32.ge d.b3, a, b, c;", kFour, 0, 0xFFFFFFFF, 9, 0x01000009},
    {"vadd2.s32.s32.s32.sat d, a, b, c;", kFour, 0x7FFF8000, 0x0001FFFF, 0, 0x7FFF8000},
    {"vavrg2.s32.s32.s32 d, a, b, c;", kFour, 0x0003FFFD, 0x0004FFFC, 0, 0x0004FFFC},
    {"vmin2.u32.u32.u32 d.h0, a.h32, b.h10, c;", kFour, 0x00050006, 0x00030004, 0xAAAA0000, 0xAAAA0004},
    {"vabsdiff4.u32.u32.u32.add d, a, b, c;", kFour, 0x01020304, 0x04030201, 100, 108},
    {"vsub4.s32.s32.s32.sat d.b30, a, b.b7654, c;", kFour, 0x80000001, 0x01000002, 0x11223344, 0x802233FF},
    {"vset4.u32.s32.lt.add d, a, b, c;", kFour, 0x01FF0305, 0x02000303, 10, 11},
    {"vmax4.u32.u32.u32 d, a.b0000, b, c;", kFour, 0x00000005, 0x01090204, 0, 0x05090505},
    // atomics of 128 bits: what was in the cell, what is
    {"{ CELL mov.b128 v, {b, c}; atom.shared.exch.b128 v, [x], v; mov.b128 {_, d}, v; }", kWords, 5, 6, 7, 6},
    {"{ CELL mov.b128 v, {b, c}; atom.shared.exch.b128 v, [x], v; ld.shared.b64 d, [x+8]; }", kWords, 5, 6, 7,
     7},
    {"{ CELL mov.b128 v, {a, b}; mov.b128 w, {c, c}; atom.shared.cas.b128 v, [x], v, w; ld.shared.b64 d, "
     "[x]; }",
     kWords, 5, 6, 7, 7},
    {"{ CELL mov.b128 v, {a, a}; mov.b128 w, {c, c}; atom.shared.cas.b128 v, [x], v, w; ld.shared.b64 d, "
     "[x]; }",
     kWords, 5, 6, 7, 5},
    {"{ CELL mov.b128 v, {a, a}; mov.b128 w, {c, c}; atom.shared.cas.b128 v, [x], v, w; mov.b128 {_, d}, v; "
     "}",
     kWords, 5, 6, 7, 6},
};

// All cases in one kernel; each stores its result's bits, zero-extended, for every thread.
std::string kernel_of_cases() {
  std::string body =
      ".visible .entry k(.param .u64 out) {\n.reg .b64 %o, %t; .reg .b32 %i;\nld.param.u64 %o, "
      "[out];\nmov.u32 %i, %tid.x;\nmul.wide.u32 %t, %i, 8;\nadd.u64 %o, %o, %t;\n";
  size_t at = 0;
  for (const Case &c : kCases) {
    std::vector<std::string> types;
    for (const char *p = c.types; *p;) {
      const char *end = std::strchr(p, ' ');
      types.emplace_back(p, end ? static_cast<size_t>(end - p) : std::strlen(p));
      p += types.back().size() + (end ? 1 : 0);
    }
    body += "{\n";
    const char *names[] = {"d", "a", "b", "c"};
    uint64_t values[] = {0, c.a, c.b, c.c};
    for (size_t i = 0; i < types.size(); ++i)
      body += std::string(".reg .") + types[i] + " " + names[i] + ";\n";
    for (size_t i = 1; i < types.size(); ++i) {
      std::string bits = types[i].substr(1);
      body += "{ .reg .b" + bits + " v; mov.b" + bits + " v, " + std::to_string(values[i]) + "; mov.b" +
              bits + " " + names[i] + ", v; }\n";
    }
    std::string text = c.text;
    if (size_t cell = text.find("CELL"); cell != text.npos)
      text.replace(cell, 4,
                   ".shared .align 16 .b8 cells[512]; .reg .b32 x; .reg .b128 v, w; mov.u32 x, cells; "
                   "mad.lo.u32 x, %i, 16, x; st.shared.v2.b64 [x], {a, b};");
    body += text + "\n";
    std::string offset = "[%o+" + std::to_string(256 * at++) + "]";
    if (types[0] == "pred")
      body += "{ .reg .u64 v; selp.u64 v, 1, 0, d; st.global.u64 " + offset + ", v; }\n";
    else
      body += "st.global.b" + types[0].substr(1) + " " + offset + ", d;\n";
    body += "}\n";
  }
  return with_header(body + "ret;\n}\n");
}

TEST(Instruction, Results) {
  auto machine = Machine::create(test_config(1));
  auto module = load_or_fail(*machine, kernel_of_cases());
  ASSERT_TRUE(module);
  for (uint32_t threads : {32u, 11u}) {  // all lanes and some: different code in the machine
    Buffer<uint64_t> out(*machine, std::size(kCases) * 32);
    Outcome outcome =
        launch(*machine, module, "k", {1, 1, 1}, {threads, 1, 1}, Parameters().add(out.address()));
    ASSERT_TRUE(outcome.ok) << outcome.error;
    for (size_t i = 0; i < std::size(kCases); ++i)
      for (size_t t = 0; t < threads; ++t) {
        EXPECT_EQ(out[32 * i + t], kCases[i].expected)
            << kCases[i].text << std::hex << " a=" << kCases[i].a << " b=" << kCases[i].b
            << " c=" << kCases[i].c << std::hex << " got " << out[32 * i + t];
        if (out[32 * i + t] != kCases[i].expected) break;
      }
  }
}

}  // namespace
}  // namespace egpu::sim
