// Operands of mma, wmma, ldmatrix, stmatrix and movmatrix: shapes, element types, registers.
// Source: PTX ISA 9.0, 9.7.14.4, 9.7.14.5.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

namespace egpu::sim {

enum class Element : uint8_t { none, f16, bf16, tf32, f32, f64, e4m3, e5m2, s4, u4, s8, u8, s32, b1 };

struct ElementRow {
  std::string_view name;
  Element element;
  uint8_t bits;  // in a register
};
/// Of "f16"; element none if it is not one.
const ElementRow &find_element(std::string_view name);
const ElementRow &element_row(Element element);

struct Shape {
  std::string_view name;
  uint32_t m, n, k;
};
/// How an element of D is added up, where it is not of integers (tensor_sum.h).
enum class Sum : uint8_t {
  in_order,       // in double, in the order of k
  fused_chain,    // f64: fused multiply-adds in the order of k
  aligned,        // f16, bf16, tf32: all at once, aligned and cut off
  aligned_pairs,  // f8: first the even pairs of elements along k, then the odd ones, then c
  f32_chain,      // m8n8k4 of f16: in f32 in the order of k, then c
};

/// Which matrix wmma.load and wmma.store move.
enum class Part : uint8_t { a, b, accumulator };

struct MatrixSite {
  uint32_t m = 0, n = 0, k = 0;
  Element a = Element::none, b = Element::none, c = Element::none, d = Element::none;
  bool saturates = false;  // integers: to s32's range
  bool is_xor = false;     // b1: the factors' bits are combined by xor, not and
  bool transposes = false;
  bool a_is_column = false, b_is_column = true;  // m8n8k4 of f16 has both layouts
  Sum sum = Sum::in_order;
  Part part = Part::accumulator;  // wmma.load, wmma.store: of elements d
  bool column_major = false;      // in memory
  std::vector<uint32_t> d_refs, a_refs, b_refs, c_refs;

  /// Of the part.
  uint32_t rows() const { return part == Part::b ? k : m; }
  uint32_t columns() const { return part == Part::a ? k : n; }
};

}  // namespace egpu::sim
