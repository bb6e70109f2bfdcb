// mma, wmma, ldmatrix, stmatrix, movmatrix: matrices of small integers, whose products are exact in all
// formats, laid out by the tables of PTX ISA 9.0, 9.7.14.5, or loaded by nvcuda::wmma, and multiplied on the
// host.
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
    {"m16n8k4", "f64", "f64", "f64", "f64", "", 16, 4, 64, -1000, 1000},
    {"m16n8k8", "f64", "f64", "f64", "f64", "", 16, 8, 64, -1000, 1000},
    {"m16n8k16", "f64", "f64", "f64", "f64", "", 16, 16, 64, -1000, 1000},
    {"m16n8k8", "f16", "f16", "f16", "f16", "", 16, 8, 16, -7, 8},
    {"m16n8k8", "f32", "bf16", "bf16", "f32", "", 16, 8, 16, -7, 8},
    {"m16n8k32", "s32", "u8", "s8", "s32", "", 16, 32, 8, 0, 100},
    {"m8n8k32", "s32", "s4", "s4", "s32", "", 8, 32, 4, -8, 7},
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

// Four products, by lanes 4q to 4q + 3 and 16 + 4q to 19 + 4q. Lane t of a quad gives row t of A; B by its
// layout.
TEST(Matrix, MultiplyQuads) {
  struct Form {
    const char *layouts, *c;
    bool a_column, b_column;
  };
  for (const Form &form : {Form{"row.col", "f32", false, true}, Form{"col.row", "f16", true, false},
                           Form{"row.row", "f32", false, false}}) {
    const bool wide = std::string(form.c) == "f32";
    std::string c_list,
        body =
            ".entry k(.param .u64 in, .param .u64 out) {\n.reg .b64 %i, %o, %q; .reg .b32 %t, %r<12>;\n"
            "ld.param.u64 %i, [in]; ld.param.u64 %o, [out]; mov.u32 %t, %laneid;\n"
            "mul.wide.u32 %q, %t, 4; add.u64 %i, %i, %q; add.u64 %o, %o, %q;\n";
    const size_t nc = wide ? 8 : 4;
    for (size_t r = 0; r < 4 + nc; ++r) {
      body += "ld.global.b32 %r" + std::to_string(r) + ", [%i+" + std::to_string(128 * r) + "];\n";
      if (r >= 4) c_list += (r > 4 ? ", %r" : "%r") + std::to_string(r);
    }
    body += "mma.sync.aligned.m8n8k4." + std::string(form.layouts) + "." + form.c + ".f16.f16." + form.c +
            " {" + c_list + "}, {%r0, %r1}, {%r2, %r3}, {" + c_list + "};\n";
    for (size_t r = 0; r < nc; ++r)
      body += "st.global.b32 [%o+" + std::to_string(128 * r) + "], %r" + std::to_string(4 + r) + ";\n";
    auto machine = Machine::create(test_config(1));
    auto module = load_or_fail(*machine, with_header(body + "ret; }\n"));
    ASSERT_TRUE(module);
    Buffer<uint32_t> in(*machine, (4 + nc) * 32), out(*machine, nc * 32);
    auto value = [](size_t quad, size_t row, size_t column) {
      return static_cast<int>((quad * 5 + row * 3 + column * 7) % 13) - 6;
    };
    auto place = [&](Buffer<uint32_t> &words, size_t first, size_t lane, size_t i, const char *type, int v) {
      if (std::string(type) == "f32")
        words[32 * (first + i) + lane] = static_cast<uint32_t>(encode(type, v));
      else
        words[32 * (first + i / 2) + lane] |= static_cast<uint32_t>(encode(type, v)) << 16 * (i % 2);
    };
    auto row_of = [&](size_t t, size_t i) { return wide ? (t & 1) + (i & 2) + (t & 4) : t; };
    auto column_of = [&](size_t t, size_t i) { return wide ? (i & 4) + (t & 2) + (i & 1) : i; };
    for (size_t quad = 0; quad < 4; ++quad)
      for (size_t t = 0; t < 8; ++t) {
        const size_t lane = 4 * quad + t % 4 + t / 4 * 16;
        for (size_t i = 0; i < 4; ++i) {
          place(in, 0, lane, i, "f16", form.a_column ? value(quad, i + t / 4 * 4, t % 4) : value(quad, t, i));
          place(in, 2, lane, i, "f16",
                form.b_column ? value(quad + 1, i, t) : value(quad + 1, t % 4, i + t / 4 * 4));
        }
        for (size_t i = 0; i < 8; ++i)
          place(in, 4, lane, i, form.c, value(quad, column_of(t, i), row_of(t, i)));
      }
    Outcome outcome = launch(*machine, module, "k", {1, 1, 1}, {32, 1, 1},
                             Parameters().add(in.address()).add(out.address()));
    ASSERT_TRUE(outcome.ok) << outcome.error;
    for (size_t quad = 0; quad < 4; ++quad)
      for (size_t t = 0; t < 8; ++t)
        for (size_t i = 0; i < 8; ++i) {
          const size_t lane = 4 * quad + t % 4 + t / 4 * 16, row = row_of(t, i), column = column_of(t, i);
          int sum = value(quad, column, row);
          for (size_t k = 0; k < 4; ++k) sum += value(quad, row, k) * value(quad + 1, k, column);
          const uint32_t got = wide ? out[32 * i + lane] : out[32 * (i / 2) + lane] >> 16 * (i % 2) & 0xFFFF;
          ASSERT_EQ(got, encode(form.c, sum))
              << form.layouts << " quad " << quad << " row " << row << " column " << column;
        }
  }
}

// Each kernel multiplies two matrices, whose rows or columns lie `pad` elements apart, by way of shared
// memory.
constexpr const char *kWmma = R"(
#include <mma.h>
#include <cuda_bf16.h>
using namespace nvcuda;
template <class F> __device__ void twice_and_back(F &f) { for (int i = 0; i < f.num_elements; ++i) f.x[i] = f.x[i] + f.x[i] - f.x[i]; }
template <int M, int N, int K, class Type, class Stored, class C, class LA, class LB>
__device__ void product(const Stored *a, const Stored *b, const C *c, C *d, int lda, int ldb, int ldc, wmma::layout_t layout) {
  __shared__ __align__(32) Stored copy[2048];
  int a_size = (std::is_same<LA, wmma::row_major>::value ? M : K) * lda;
  for (int i = threadIdx.x; i < a_size; i += 32) copy[i] = a[i];
  __syncwarp();
  wmma::fragment<wmma::matrix_a, M, N, K, Type, LA> fa;
  wmma::fragment<wmma::matrix_b, M, N, K, Type, LB> fb;
  wmma::fragment<wmma::accumulator, M, N, K, C> fc;
  wmma::load_matrix_sync(fa, copy, lda);
  wmma::load_matrix_sync(fb, b, ldb);
  wmma::load_matrix_sync(fc, c, ldc, layout);
  wmma::mma_sync(fc, fa, fb, fc);
  twice_and_back(fc);
  wmma::store_matrix_sync(d, fc, ldc, layout);
}
#define K(name, M, N, K, Type, Stored, C, LA, LB, layout) \
  extern "C" __global__ void name(const Stored *a, const Stored *b, const C *c, C *d, int lda, int ldb, int ldc) { \
    product<M, N, K, Type, Stored, C, wmma::LA, wmma::LB>(a, b, c, d, lda, ldb, ldc, wmma::layout); }
K(half_float, 16, 16, 16, __half, __half, float, row_major, col_major, mem_row_major)
K(half_half, 16, 16, 16, __half, __half, __half, col_major, row_major, mem_col_major)
K(half_flat, 8, 32, 16, __half, __half, float, row_major, row_major, mem_row_major)
K(half_tall, 32, 8, 16, __half, __half, __half, col_major, col_major, mem_row_major)
K(bf16_float, 16, 16, 16, __nv_bfloat16, __nv_bfloat16, float, row_major, row_major, mem_col_major)
K(bf16_tall, 32, 8, 16, __nv_bfloat16, __nv_bfloat16, float, col_major, row_major, mem_row_major)
K(tf32_float, 16, 16, 8, wmma::precision::tf32, float, float, row_major, col_major, mem_row_major)
K(s8_int, 16, 16, 16, signed char, signed char, int, row_major, col_major, mem_row_major)
K(s8_flat, 8, 32, 16, signed char, signed char, int, col_major, row_major, mem_col_major)
K(u8_tall, 32, 8, 16, unsigned char, unsigned char, int, row_major, row_major, mem_row_major)
K(f64_f64, 8, 8, 4, double, double, double, row_major, col_major, mem_row_major)
template <int K, class Type, class Multiply>
__device__ void small_product(const void *a, const void *b, int *d, int ld, Multiply &&multiply) {
  wmma::fragment<wmma::matrix_a, 8, 8, K, Type, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, 8, 8, K, Type, wmma::col_major> fb;
  wmma::fragment<wmma::accumulator, 8, 8, K, int> fc;
  wmma::load_matrix_sync(fa, a, ld);
  wmma::load_matrix_sync(fb, b, ld);
  wmma::fill_fragment(fc, 5);
  multiply(fc, fa, fb);
  wmma::store_matrix_sync(d, fc, 8, wmma::mem_row_major);
}
#define SMALL(name, K, Type, ...) \
  extern "C" __global__ void name(const void *a, const void *b, int *d, int ld) { \
    small_product<K, wmma::experimental::precision::Type>(a, b, d, ld, [](auto &c, auto &fa, auto &fb) { __VA_ARGS__; }); }
SMALL(s4, 32, s4, wmma::mma_sync(c, fa, fb, c))
SMALL(u4, 32, u4, wmma::mma_sync(c, fa, fb, c))
SMALL(b1_and, 128, b1, wmma::bmma_sync(c, fa, fb, c, wmma::experimental::bmmaBitOpAND))
SMALL(b1_xor, 128, b1, wmma::bmma_sync(c, fa, fb, c, wmma::experimental::bmmaBitOpXOR))
)";

struct WmmaRow {
  const char *kernel, *type, *c;
  size_t m, n, k;
  bool a_column, b_column, c_column;
  size_t type_bytes, c_bytes;
};
const WmmaRow kWmmaRows[] = {
    {"half_float", "f16", "f32", 16, 16, 16, false, true, false, 2, 4},
    {"half_half", "f16", "f16", 16, 16, 16, true, false, true, 2, 2},
    {"half_flat", "f16", "f32", 8, 32, 16, false, false, false, 2, 4},
    {"half_tall", "f16", "f16", 32, 8, 16, true, true, false, 2, 2},
    {"bf16_float", "bf16", "f32", 16, 16, 16, false, false, true, 2, 4},
    {"bf16_tall", "bf16", "f32", 32, 8, 16, true, false, false, 2, 4},
    {"tf32_float", "tf32", "f32", 16, 16, 8, false, true, false, 4, 4},
    {"s8_int", "s8", "s32", 16, 16, 16, false, true, false, 1, 4},
    {"s8_flat", "s8", "s32", 8, 32, 16, true, false, true, 1, 4},
    {"u8_tall", "u8", "s32", 32, 8, 16, false, false, false, 1, 4},
    {"f64_f64", "f64", "f64", 8, 8, 4, false, true, false, 8, 8},
};

TEST(Matrix, Wmma) {
  if (nvcc_path().empty()) GTEST_SKIP() << "no nvcc";
  const std::string ptx = compile_once(kWmma, "sm_90");
  auto machine = Machine::create(test_config(1));
  auto module = load_or_fail(*machine, ptx);
  ASSERT_TRUE(module);
  for (const WmmaRow &row : kWmmaRows) {
    const bool is_unsigned = row.type[0] == 'u';
    auto value = [&](size_t i, size_t j) {
      return static_cast<int>((i * 7 + j * 3 + i * j) % 11) - (is_unsigned ? 0 : 5);
    };
    struct Matrix {
      size_t rows, columns, bytes;
      bool is_column;
      size_t stride() const { return (is_column ? rows : columns) + 16; }
      size_t at(size_t i, size_t j) const {
        return (is_column ? j * stride() + i : i * stride() + j) * bytes;
      }
      size_t size() const { return (is_column ? columns : rows) * stride() * bytes; }
    };
    const Matrix a{row.m, row.k, row.type_bytes, row.a_column}, b{row.k, row.n, row.type_bytes, row.b_column};
    const Matrix c{row.m, row.n, row.c_bytes, row.c_column};
    Buffer<uint8_t> pa(*machine, a.size()), pb(*machine, b.size()), pc(*machine, c.size()),
        pd(*machine, c.size());
    auto fill = [&](Buffer<uint8_t> &bytes, const Matrix &matrix, const char *type) {
      for (size_t i = 0; i < matrix.rows; ++i)
        for (size_t j = 0; j < matrix.columns; ++j) {
          const uint64_t bits = encode(type, value(i, j));
          std::memcpy(bytes.data() + matrix.at(i, j), &bits, matrix.bytes);
        }
    };
    fill(pa, a, row.type), fill(pb, b, row.type), fill(pc, c, row.c);
    Parameters parameters;
    for (uint64_t address : {pa.address(), pb.address(), pc.address(), pd.address()}) parameters.add(address);
    for (size_t stride : {a.stride(), b.stride(), c.stride()}) parameters.add(static_cast<int>(stride));
    Outcome outcome = launch(*machine, module, row.kernel, {1, 1, 1}, {32, 1, 1}, parameters);
    ASSERT_TRUE(outcome.ok) << row.kernel << ": " << outcome.error;
    for (size_t i = 0; i < row.m; ++i)
      for (size_t j = 0; j < row.n; ++j) {
        int sum = value(i, j);
        for (size_t k = 0; k < row.k; ++k) sum += value(i, k) * value(k, j);
        uint64_t got = 0;
        std::memcpy(&got, pd.data() + c.at(i, j), row.c_bytes);
        ASSERT_EQ(got, encode(row.c, sum)) << row.kernel << " row " << i << " column " << j;
      }
  }
}

// Elements of 4 bits and 1: rows of A and columns of B lie 2k elements apart.
TEST(Matrix, WmmaBelowAByte) {
  if (nvcc_path().empty()) GTEST_SKIP() << "no nvcc";
  struct Form {
    const char *kernel;
    size_t bits, k;
    bool is_signed, is_xor;
  };
  auto machine = Machine::create(test_config(1));
  auto module = load_or_fail(*machine, compile_once(kWmma, "sm_90"));
  ASSERT_TRUE(module);
  for (const Form &form : {Form{"s4", 4, 32, true, false}, Form{"u4", 4, 32, false, false},
                           Form{"b1_and", 1, 128, false, false}, Form{"b1_xor", 1, 128, false, true}}) {
    const size_t stride = 2 * form.k;
    Buffer<uint8_t> a(*machine, stride * form.bits), b(*machine, stride * form.bits);  // 8 rows each
    Buffer<int> d(*machine, 64);
    auto value = [&](size_t side, size_t k, size_t seed) {
      const int v = static_cast<int>((side * 5 + k * (k + seed) + side * k) >> 1) & ((1 << form.bits) - 1);
      return form.is_signed && v > 7 ? v - 16 : v;
    };
    auto fill = [&](Buffer<uint8_t> &bytes, size_t seed) {
      for (size_t side = 0; side < 8; ++side)
        for (size_t k = 0; k < form.k; ++k) {
          const size_t bit = (side * stride + k) * form.bits;
          const unsigned field = static_cast<unsigned>(value(side, k, seed)) & ((1u << form.bits) - 1);
          bytes[bit / 8] = static_cast<uint8_t>(bytes[bit / 8] | field << bit % 8);
        }
    };
    fill(a, 1), fill(b, 4);
    const Outcome outcome =
        launch(*machine, module, form.kernel, {1, 1, 1}, {32, 1, 1},
               Parameters().add(a.address()).add(b.address()).add(d.address()).add(static_cast<int>(stride)));
    ASSERT_TRUE(outcome.ok) << form.kernel << ": " << outcome.error;
    for (size_t i = 0; i < 8; ++i)
      for (size_t j = 0; j < 8; ++j) {
        int sum = 5;
        for (size_t k = 0; k < form.k; ++k) {
          const int p = value(i, k, 1), q = value(j, k, 4);
          sum += form.is_xor ? p ^ q : p * q;
        }
        ASSERT_EQ(d[8 * i + j], sum) << form.kernel << " row " << i << " column " << j;
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
