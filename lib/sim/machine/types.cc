#include "lib/sim/machine/types.h"

namespace egpu::sim {
namespace {
constexpr TypeRow kTypes[] = {
    {Type::none, "", 0, ' '},         {Type::pred, "pred", 0, 'p'},     {Type::b8, "b8", 1, 'b'},
    {Type::u8, "u8", 1, 'u'},         {Type::s8, "s8", 1, 's'},         {Type::b16, "b16", 2, 'b'},
    {Type::u16, "u16", 2, 'u'},       {Type::s16, "s16", 2, 's'},       {Type::f16, "f16", 2, 'f'},
    {Type::bf16, "bf16", 2, 'f'},     {Type::b32, "b32", 4, 'b'},       {Type::u32, "u32", 4, 'u'},
    {Type::s32, "s32", 4, 's'},       {Type::f32, "f32", 4, 'f'},       {Type::f16x2, "f16x2", 4, 'f'},
    {Type::bf16x2, "bf16x2", 4, 'f'}, {Type::tf32, "tf32", 4, 'f'},     {Type::b64, "b64", 8, 'b'},
    {Type::u64, "u64", 8, 'u'},       {Type::s64, "s64", 8, 's'},       {Type::f64, "f64", 8, 'f'},
    {Type::b128, "b128", 16, 'b'},    {Type::e4m3x2, "e4m3x2", 2, 'f'}, {Type::e5m2x2, "e5m2x2", 2, 'f'},
    {Type::f32x2, "f32x2", 8, 'f'},
};
}  // namespace

Type find_type(std::string_view name) {
  for (const TypeRow &row : kTypes)
    if (row.name == name) return row.type;
  return Type::none;
}

const TypeRow &type_row(Type type) { return kTypes[static_cast<int>(type)]; }

uint32_t register_bytes(Type type) {
  uint32_t size = size_of(type);
  return size == 1 ? 2 : size;
}

}  // namespace egpu::sim
