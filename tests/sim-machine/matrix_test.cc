// mma, ldmatrix, stmatrix, movmatrix: matrices of small integers, whose products are exact in all formats,
// laid out by the tables of PTX ISA 9.0, 9.7.14.5, and multiplied on the host.
#include "tests/sim-machine/run.h"

namespace egpu::sim {
namespace {

// Each format's bits of a small integer.
uint64_t encode(const std::string &type, int v) {
  uint32_t f32 = 0;
  float value = static_cast<float>(v);
  std::memcpy(&f32, &value, 4);
  if (type == "f32" || type == "tf32") return f32;
  if (type == "bf16") return f32 >> 16;
  if (type == "s32") return static_cast<uint32_t>(v);
  if (type[0] == 's' || type[0] == 'u')
    return static_cast<uint64_t>(static_cast<uint32_t>(v) & (type[1] == '4' ? 15u : 255u));
  if (type == "f64") {
    double wide = v;
    uint64_t bits;
    std::memcpy(&bits, &wide, 8);
    return bits;
  }
  if (v == 0) return 0;  // a normal number of the narrower formats
  int exponent_bits = type == "f16" || type == "e5m2" ? 5 : 4, mantissa_bits = type == "f16"    ? 10
                                                                               : type == "e5m2" ? 2
                                                                                                : 3;
  uint32_t exponent = (f32 >> 23 & 255) - 127 + (1u << (exponent_bits - 1)) - 1;
  return f32 >> 31 << (exponent_bits + mantissa_bits) | exponent << mantissa_bits |
         (f32 >> (23 - mantissa_bits) & ((1u << mantissa_bits) - 1));
}

struct Row {
  const char *shape, *d, *a, *b, *c, *suffix;
  int m, k, bits, low, high;  // bits: of an element of a and b; values from low to high
};
const Row kRows[] = {
    {"m16n8k8", "f32", "f16", "f16", "f32", "", 16, 8, 16, -7, 8},
    {"m16n8k16", "f32", "f16", "f16", "f32", "", 16, 16, 16, -7, 8},
    {"m16n8k16", "f16", "f16", "f16", "f16", "", 16, 16, 16, -7, 8},
    {"m16n8k16", "f32", "bf16", "bf16", "f32", "", 16, 16, 16, -7, 8},
    {"m16n8k4", "f32", "tf32", "tf32", "f32", "", 16, 4, 32, -7, 8},
    {"m16n8k8", "f32", "tf32", "tf32", "f32", "", 16, 8, 32, -7, 8},
    {"m16n8k16", "s32", "s8", "u8", "s32", "", 16, 16, 8, 0, 127},
    {"m16n8k32", "s32", "s8", "s8", "s32", ".satfinite", 16, 32, 8, -128, 127},
    {"m8n8k16", "s32", "s8", "s8", "s32", "", 8, 16, 8, -128, 127},
    {"m16n8k64", "s32", "s4", "s4", "s32", "", 16, 64, 4, -8, 7},
    {"m16n8k32", "f32", "e4m3", "e5m2", "f32", "", 16, 32, 8, -4, 4},
    {"m8n8k4", "f64", "f64", "f64", "f64", "", 8, 4, 64, -1000, 1000},
    {"m16n8k8", "f64", "f64", "f64", "f64", "", 16, 8, 64, -1000, 1000},
};

// The kernel loads each lane's registers, 8 bytes each, from in + 256 * register + 8 * lane.
std::string kernel(const Row &row, int na, int nb, int nc) {
  bool wide = row.bits == 64;
  std::string body = ".entry k(.param .u64 in, .param .u64 out) {\n.reg .b64 %i, %o, %q; .reg .b32 %t;\n" +
                     std::string(wide ? ".reg .f64" : ".reg .b32") +
                     " %r<64>;\nld.param.u64 %i, [in]; ld.param.u64 %o, [out]; mov.u32 %t, %laneid;\n"
                     "mul.wide.u32 %q, %t, 8; add.u64 %i, %i, %q; add.u64 %o, %o, %q;\n";
  std::string width = wide ? "f64" : "b32", lists[3];
  int counts[3] = {na, nb, nc}, at = 0;
  for (int part = 0; part < 3; ++part)
    for (int i = 0; i < counts[part]; ++i, ++at) {
      std::string name = "%r" + std::to_string(at);
      body += "ld.global." + width + " " + name + ", [%i+" + std::to_string(256 * at) + "];\n";
      lists[part] += (i ? ", " : "") + name;
    }
  body += "mma.sync.aligned." + std::string(row.shape) + ".row.col" + row.suffix + "." + row.d + "." + row.a +
          "." + row.b + "." + row.c + " {" + lists[2] + "}, {" + lists[0] + "}, {" + lists[1] + "}, {" +
          lists[2] + "};\n";
  for (int i = 0; i < nc; ++i)
    body += "st.global." + width + " [%o+" + std::to_string(256 * i) + "], %r" + std::to_string(na + nb + i) +
            ";\n";
  return with_header(body + "ret; }\n");
}

TEST(Matrix, Multiply) {
  for (const Row &row : kRows) {
    auto machine = Machine::create(test_config(1));
    int width = row.bits == 64 ? 64 : 32, per = width / row.bits, c_per = std::string(row.c) == "f16" ? 2 : 1;
    int na = row.m * row.k / 32 / per, nb = 8 * row.k / 32 / per, nc = row.m * 8 / 32 / c_per;
    auto module = load_or_fail(*machine, kernel(row, na, nb, nc));
    ASSERT_TRUE(module) << row.shape;
    size_t m = static_cast<size_t>(row.m), depth = static_cast<size_t>(row.k);
    std::vector<int> a(m * depth), b(depth * 8), c(m * 8);
    int span = row.high - row.low + 1;
    for (size_t i = 0; i < a.size(); ++i) a[i] = row.low + static_cast<int>(i * i + 3 * i) % span;
    for (size_t i = 0; i < b.size(); ++i) b[i] = row.low + static_cast<int>(i * 7 + i / 5) % span;
    for (size_t i = 0; i < c.size(); ++i) c[i] = static_cast<int>(i % 17) - 8;
    Buffer<uint64_t> in(*machine, static_cast<size_t>(na + nb + nc) * 32),
        out(*machine, static_cast<size_t>(nc) * 32);
    for (size_t l = 0; l < 32; ++l) {
      size_t group = l / 4, member = l % 4, elements = static_cast<size_t>(per);
      for (size_t r = 0; r < static_cast<size_t>(na); ++r)
        for (size_t j = 0; j < elements; ++j) {
          size_t i = row.m == 16 ? group + 8 * (r % 2) : group, block = row.m == 16 ? r / 2 : r;
          in[32 * r + l] |= encode(row.a, a[i * depth + 4 * elements * block + member * elements + j])
                            << (static_cast<size_t>(row.bits) * j);
        }
      for (size_t r = 0; r < static_cast<size_t>(nb); ++r)
        for (size_t j = 0; j < elements; ++j)
          in[32 * (static_cast<size_t>(na) + r) + l] |=
              encode(row.b, b[(4 * elements * r + member * elements + j) * 8 + group])
              << (static_cast<size_t>(row.bits) * j);
      for (size_t i = 0; i < m / 4; ++i)
        in[32 * (static_cast<size_t>(na + nb) + i / static_cast<size_t>(c_per)) + l] |=
            encode(row.c, c[(group + 8 * (i / 2)) * 8 + 2 * member + i % 2])
            << (c_per == 2 ? 16 * (i % 2) : 0);
    }
    Outcome outcome = launch(*machine, module, "k", {1, 1, 1}, {32, 1, 1},
                             Parameters().add(in.address()).add(out.address()));
    ASSERT_TRUE(outcome.ok) << row.shape << outcome.error;
    for (size_t l = 0; l < 32; ++l)
      for (size_t i = 0; i < m / 4; ++i) {
        size_t r = l / 4 + 8 * (i / 2), n = 2 * (l % 4) + i % 2;
        int sum = c[r * 8 + n];
        for (size_t k = 0; k < depth; ++k) sum += a[r * depth + k] * b[k * 8 + n];
        uint64_t got = out[32 * (i / static_cast<size_t>(c_per)) + l];
        if (c_per == 2) got = got >> (16 * (i % 2)) & 0xFFFF;
        ASSERT_EQ(got, encode(row.d, sum)) << row.shape << row.a << " row " << r << " column " << n;
      }
  }
}

TEST(Matrix, LoadTransposeStore) {
  auto machine = Machine::create(test_config(1));
  auto module = load_or_fail(*machine, with_header(R"(
.entry k(.param .u64 out) {
  .shared .align 16 .b16 s[128]; .shared .align 16 .b16 u[64];
  .reg .b64 %o, %q; .reg .b32 %t, %a, %r<5>, %h; .reg .b16 %v;
  ld.param.u64 %o, [out]; mov.u32 %t, %laneid;
  mov.u32 %a, s; mad.lo.u32 %a, %t, 8, %a;            // element e has the value e
  mul.lo.u32 %h, %t, 4; cvt.u16.u32 %v, %h; st.shared.b16 [%a], %v;
  add.u16 %v, %v, 1; st.shared.b16 [%a+2], %v; add.u16 %v, %v, 1; st.shared.b16 [%a+4], %v;
  add.u16 %v, %v, 1; st.shared.b16 [%a+6], %v;
  bar.warp.sync -1;
  mov.u32 %a, s; and.b32 %h, %t, 15; mad.lo.u32 %a, %h, 16, %a;
  ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r0, %r1}, [%a];
  ldmatrix.sync.aligned.m8n8.x1.trans.shared::cta.b16 {%r2}, [%a];
  movmatrix.sync.aligned.m8n8.trans.b16 %r3, %r0;
  mov.u32 %a, u; and.b32 %h, %t, 7; mad.lo.u32 %a, %h, 16, %a;
  stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [%a], {%r0};
  bar.warp.sync -1;
  mov.u32 %a, u; mad.lo.u32 %a, %t, 4, %a; ld.shared.u32 %r4, [%a];
  mul.wide.u32 %q, %t, 16; add.u64 %o, %o, %q;
  st.global.v4.u32 [%o], {%r0, %r2, %r3, %r4};
  ret;
})"));
  ASSERT_TRUE(module);
  Buffer<uint32_t> out(*machine, 128);
  Outcome outcome = launch(*machine, module, "k", {1, 1, 1}, {32, 1, 1}, Parameters().add(out.address()));
  ASSERT_TRUE(outcome.ok) << outcome.error;
  for (uint32_t l = 0; l < 32; ++l) {
    uint32_t row = l / 4, column = 2 * (l % 4), plain = 8 * row + column;
    uint32_t straight = plain | (plain + 1) << 16, across = (8 * column + row) | (8 * (column + 1) + row)
                                                                                     << 16;
    EXPECT_EQ(out[4 * l], straight) << l;
    EXPECT_EQ(out[4 * l + 1], across) << l;
    EXPECT_EQ(out[4 * l + 2], across) << l;
    EXPECT_EQ(out[4 * l + 3], across) << l;
  }
}

TEST(Matrix, NeedsTheWholeWarp) {
  auto machine = Machine::create(test_config(1));
  auto module =
      load_or_fail(*machine, with_header(".entry k() { .reg .b32 %r<9>;\nmma.sync.aligned.m16n8k8.row."
                                         "col.f32.bf16.bf16.f32 {%r0,%r1,%r2,%r3}, {%r4,%r5}, {%r6}, "
                                         "{%r0,%r1,%r2,%r3}; ret; }"));
  ASSERT_TRUE(module);
  Outcome outcome = launch(*machine, module, "k", {1, 1, 1}, {20, 1, 1}, Parameters());
  EXPECT_FALSE(outcome.ok);
  EXPECT_EQ(
      outcome.error,
      "kernel k, block (0,0,0), thread (0,0,0), ptx:5: executed by lanes 0x000fffff, not by the whole warp");
}

}  // namespace
}  // namespace egpu::sim
