// Loads and stores.
#if defined(__x86_64__)
#  include <immintrin.h>
#endif

#include "lib/sim/machine/access.h"

namespace egpu::sim {
namespace {
struct Quad {
  uint64_t low, high;
};  // 128 bits

enum class Where { generic, global, shared, local, frame };

template <Where kWhere>
inline bool find_lanes(Exec &x, const Op &op, uint32_t mask, uint32_t bytes, Access access, Hosts &hosts) {
  Reference r{op.a, (op.flags & kAddress32) != 0, op.imm, access};
  if constexpr (kWhere == Where::generic)
    return locate<Space::generic>(x, r, mask, bytes, bytes, hosts);
  else if constexpr (kWhere == Where::global)
    return locate<Space::global>(x, r, mask, bytes, bytes, hosts);
  else if constexpr (kWhere == Where::shared)
    return locate<Space::shared>(x, r, mask, bytes, bytes, hosts);
  else if constexpr (kWhere == Where::local)
    return locate<Space::local>(x, r, mask, bytes, bytes, hosts);
  else {  // a variable of the frame: the same offset in every lane
    uint64_t offset = x.frame->local_base + static_cast<uint64_t>(op.imm);
    if (offset > x.local_stride || bytes > x.local_stride - offset || (offset & (bytes - 1)))
      return resolve(x, Space::local, offset, bytes, bytes, static_cast<uint32_t>(std::countr_zero(mask))) !=
             nullptr;
    uint64_t base = reinterpret_cast<uint64_t>(x.local) + offset;
    for (int l = 0; l < kLanes; ++l) hosts.at[l] = base + static_cast<uint64_t>(l) * x.local_stride;
    if (x.traced) {
      x.trace_has_addresses = true;
      for (uint64_t &address : x.trace_addresses) address = kLocalWindow | offset;
    }
    return true;
  }
}

template <class M>
inline bool contiguous(const Hosts &hosts) {
  uint64_t different = 0, first = hosts.at[0];
  for (int l = 0; l < kLanes; ++l) different |= hosts.at[l] ^ (first + static_cast<uint64_t>(l) * sizeof(M));
  return different == 0;
}

template <class M, class R>
inline void load_lanes(R *d, const Hosts &hosts, uint64_t offset, uint32_t mask) {
  auto get = [&](int l) {
    M value = *reinterpret_cast<const M *>(hosts.at[l] + offset);
    if constexpr (std::is_class_v<M>)
      return value;
    else
      return static_cast<R>(value);
  };
  if (mask == kAll) {
    for (int l = 0; l < kLanes; ++l) d[l] = get(l);
  } else {
    each_lane(mask, [&](uint32_t l) { d[l] = get(static_cast<int>(l)); });
  }
}

template <Where kWhere, class M, class R>
void load(Exec &x, const Op &op, uint32_t mask) {
  Hosts hosts;
  uint32_t bytes = static_cast<uint32_t>(sizeof(M)) * op.n;
  if (op.flags & kSpins) ++x.spins;
  if (!find_lanes<kWhere>(x, op, mask, bytes, Access::read, hosts)) return;
  if (op.n == 1) {
    R *d = x.at<R>(op.d);
    if constexpr (sizeof(M) == sizeof(R))
      if (mask == kAll && contiguous<M>(hosts)) {
        std::memcpy(static_cast<void *>(d), reinterpret_cast<const void *>(hosts.at[0]), sizeof(M) * kLanes);
        return;
      }
    load_lanes<M, R>(d, hosts, 0, mask);
    return;
  }
  const uint32_t *refs = x.frame->function->lists.data() + op.e;
  for (uint32_t i = 0; i < op.n; ++i)
    if (refs[i] != kNone) load_lanes<M, R>(x.at<R>(refs[i]), hosts, i * sizeof(M), mask);
}

template <Where kWhere, class M, class R>
void store(Exec &x, const Op &op, uint32_t mask) {
  Hosts hosts;
  uint32_t bytes = static_cast<uint32_t>(sizeof(M)) * op.n;
  if (!find_lanes<kWhere>(x, op, mask, bytes, Access::write, hosts)) return;
  auto put = [&](uint32_t ref, uint64_t offset) {
    const R *a = x.at<R>(ref);
    each_lane(mask, [&](uint32_t l) {
      if constexpr (std::is_class_v<M>)
        *reinterpret_cast<M *>(hosts.at[l] + offset) = a[l];
      else
        *reinterpret_cast<M *>(hosts.at[l] + offset) = static_cast<M>(a[l]);
    });
  };
  if (op.n == 1) {
    if constexpr (sizeof(M) == sizeof(R))
      if (mask == kAll && contiguous<M>(hosts)) {
        std::memcpy(reinterpret_cast<void *>(hosts.at[0]), x.at<R>(op.b), sizeof(M) * kLanes);
        return;
      }
    return put(op.b, 0);
  }
  const uint32_t *refs = x.frame->function->lists.data() + op.e;
  for (uint32_t i = 0; i < op.n; ++i) put(refs[i], i * sizeof(M));
}

// A kernel parameter is the same for all lanes; decode() has checked the bounds.
template <class M, class R>
void load_param(Exec &x, const Op &op, uint32_t mask) {
  const uint8_t *from = reinterpret_cast<const uint8_t *>(x.grid->parameters.data()) + op.imm;
  const uint32_t *refs = op.n == 1 ? &op.d : x.frame->function->lists.data() + op.e;
  for (uint32_t i = 0; i < op.n; ++i) {
    if (refs[i] == kNone) continue;
    M value;
    std::memcpy(static_cast<void *>(&value), from + i * sizeof(M), sizeof(M));
    store_lanes<R>(x, refs[i], mask, [&](int) {
      if constexpr (std::is_class_v<M>)
        return value;
      else
        return static_cast<R>(value);
    });
  }
}

// Shared from global memory, with zeros for what the source does not give.
void cp_async(Exec &x, const Op &op, uint32_t mask) {
  Hosts to, from;
  uint32_t bytes = op.n;
  if (!locate<Space::shared>(x, {op.a, (op.x & 1) != 0, op.imm, Access::write}, mask, bytes, bytes, to))
    return;
  const uint32_t *sizes = op.c == kNone ? nullptr : x.at<uint32_t>(op.c);
  uint32_t reads = mask;
  if (sizes) {
    reads = 0;
    each_lane(mask, [&](uint32_t l) { reads |= sizes[l] ? 1u << l : 0; });
  }
  if (reads && !locate<Space::global>(x, {op.b, (op.x & 2) != 0, static_cast<int32_t>(op.y)}, reads,
                                      sizes ? 1 : bytes, sizes ? 1 : bytes, from))
    return;
  each_lane(mask, [&](uint32_t l) {
    uint32_t have = sizes ? std::min(sizes[l], bytes) : bytes;
    uint8_t *target = reinterpret_cast<uint8_t *>(to.at[l]);
    std::memset(target, 0, bytes);
    if (have) std::memcpy(target, reinterpret_cast<const void *>(from.at[l]), have);
  });
}

#if defined(__x86_64__)
// ld.shared of 32 bits by all lanes through 32-bit addresses, most of what products of matrices do, with the
// host's gather, where it has one. What is not inside the block's memory, or traced, goes the long way.
__attribute__((target("avx2"))) void load_shared_avx2(Exec &x, const Op &op, uint32_t mask) {
  const uint32_t bytes = 4u * op.n;
  if (mask != kAll || (op.flags & (kAddress32 | kSpins)) != kAddress32 || x.traced ||
      x.unchecked_shared_bytes < bytes)
    return load<Where::shared, uint32_t, uint32_t>(x, op, mask);
  const uint32_t *a = x.at<uint32_t>(op.a);
  const __m256i offset = _mm256_set1_epi32(static_cast<int>(op.imm));
  const __m256i last = _mm256_set1_epi32(static_cast<int>(x.unchecked_shared_bytes - bytes));
  const __m256i misaligned = _mm256_set1_epi32(static_cast<int>(bytes - 1));
  __m256i at[4], bad = _mm256_setzero_si256();
  for (int i = 0; i < 4; ++i) {
    at[i] = _mm256_add_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i *>(a + 8 * i)), offset);
    const __m256i beyond = _mm256_xor_si256(_mm256_max_epu32(at[i], last), last);
    bad = _mm256_or_si256(bad, _mm256_or_si256(beyond, _mm256_and_si256(at[i], misaligned)));
  }
  if (!_mm256_testz_si256(bad, bad)) return load<Where::shared, uint32_t, uint32_t>(x, op, mask);
  const uint32_t *refs = op.n == 1 ? &op.d : x.frame->function->lists.data() + op.e;
  for (uint32_t k = 0; k < op.n; ++k) {
    if (refs[k] == kNone) continue;
    const int *base = reinterpret_cast<const int *>(x.shared + 4 * k);
    __m256i *d = reinterpret_cast<__m256i *>(x.at<uint32_t>(refs[k]));
    for (int i = 0; i < 4; ++i) _mm256_storeu_si256(d + i, _mm256_i32gather_epi32(base, at[i], 1));
  }
}
#endif

#define LD1(where, W, key, M, R) \
  { "ld." where "." key, load<W, M, R> }
#define ALL_LD(where, W)                                                                      \
  LD1(where, W, "u8.2", uint8_t, uint16_t), LD1(where, W, "u8.4", uint8_t, uint32_t),         \
      LD1(where, W, "u8.8", uint8_t, uint64_t), LD1(where, W, "s8.2", int8_t, int16_t),       \
      LD1(where, W, "s8.4", int8_t, int32_t), LD1(where, W, "s8.8", int8_t, int64_t),         \
      LD1(where, W, "u16.2", uint16_t, uint16_t), LD1(where, W, "u16.4", uint16_t, uint32_t), \
      LD1(where, W, "u16.8", uint16_t, uint64_t), LD1(where, W, "s16.2", int16_t, int16_t),   \
      LD1(where, W, "s16.4", int16_t, int32_t), LD1(where, W, "s16.8", int16_t, int64_t),     \
      LD1(where, W, "u32.4", uint32_t, uint32_t), LD1(where, W, "u32.8", uint32_t, uint64_t), \
      LD1(where, W, "s32.4", int32_t, int32_t), LD1(where, W, "s32.8", int32_t, int64_t),     \
      LD1(where, W, "u64.8", uint64_t, uint64_t), LD1(where, W, "s64.8", int64_t, int64_t),   \
      LD1(where, W, "u128.16", Quad, Quad)
#define ST1(where, W, key, M, R) \
  { "st." where "." key, store<W, M, R> }
#define ALL_ST(where, W)                                                                  \
  ST1(where, W, "1.2", uint8_t, uint16_t), ST1(where, W, "1.4", uint8_t, uint32_t),       \
      ST1(where, W, "1.8", uint8_t, uint64_t), ST1(where, W, "2.2", uint16_t, uint16_t),  \
      ST1(where, W, "2.4", uint16_t, uint32_t), ST1(where, W, "2.8", uint16_t, uint64_t), \
      ST1(where, W, "4.4", uint32_t, uint32_t), ST1(where, W, "4.8", uint32_t, uint64_t), \
      ST1(where, W, "8.8", uint64_t, uint64_t), ST1(where, W, "16.16", Quad, Quad)
#define ALL(where, W) ALL_LD(where, W), ALL_ST(where, W)
#define LDP(key, M, R) \
  { "ld.param." key, load_param<M, R> }

constexpr Row kRows[] = {
    ALL("generic", Where::generic),   ALL("global", Where::global),     ALL("shared", Where::shared),
    ALL("local", Where::local),       ALL("frame", Where::frame),       LDP("u8.2", uint8_t, uint16_t),
    LDP("u8.4", uint8_t, uint32_t),   LDP("u8.8", uint8_t, uint64_t),   LDP("s8.2", int8_t, int16_t),
    LDP("s8.4", int8_t, int32_t),     LDP("s8.8", int8_t, int64_t),     LDP("u16.2", uint16_t, uint16_t),
    LDP("u16.4", uint16_t, uint32_t), LDP("u16.8", uint16_t, uint64_t), LDP("s16.2", int16_t, int16_t),
    LDP("s16.4", int16_t, int32_t),   LDP("s16.8", int16_t, int64_t),   LDP("u32.4", uint32_t, uint32_t),
    LDP("u32.8", uint32_t, uint64_t), LDP("s32.4", int32_t, int32_t),   LDP("s32.8", int32_t, int64_t),
    LDP("u64.8", uint64_t, uint64_t), LDP("s64.8", int64_t, int64_t),   LDP("u128.16", Quad, Quad),
    {"cp.async", cp_async},
};
}  // namespace

Rows memory_rows() { return {kRows, std::size(kRows)}; }

Rows host_memory_rows() {
#if defined(__x86_64__)
  static constexpr Row kGathers[] = {{"ld.shared.u32.4", load_shared_avx2},
                                     {"ld.shared.s32.4", load_shared_avx2}};
  if (__builtin_cpu_supports("avx2")) return {kGathers, std::size(kGathers)};
#endif
  return {nullptr, 0};
}

}  // namespace egpu::sim
