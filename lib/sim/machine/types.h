// PTX types and the registers' storage widths.
//
// A register of 8 or 16 bits takes 2 bytes a lane, one of 32 takes 4, one of 64 takes 8, one of
// 128 takes 16; a predicate is one 32-bit mask for the whole warp. Source: PTX ISA 9.0, 5.2.
#pragma once
#include <cstdint>
#include <string_view>

namespace egpu::sim {

enum class Type : uint8_t {
  none,
  pred,
  b8,
  u8,
  s8,
  b16,
  u16,
  s16,
  f16,
  bf16,
  b32,
  u32,
  s32,
  f32,
  f16x2,
  bf16x2,
  tf32,
  b64,
  u64,
  s64,
  f64,
  b128,
  e4m3x2,
  e5m2x2,
  f32x2,
};

struct TypeRow {
  Type type;
  std::string_view name;
  uint8_t size_bytes;
  char kind;
};  // kind: b u s f p

/// The type that `name` (without dot) spells; Type::none if it is not one.
Type find_type(std::string_view name);
const TypeRow &type_row(Type type);
inline uint32_t size_of(Type type) { return type_row(type).size_bytes; }
inline bool is_float(Type type) { return type_row(type).kind == 'f'; }
inline bool is_signed(Type type) { return type_row(type).kind == 's'; }
/// Bytes that one lane of a register of this type takes; 0 for a predicate.
uint32_t register_bytes(Type type);

enum class Space : uint8_t { generic, global, constant, shared, local, param };

}  // namespace egpu::sim
