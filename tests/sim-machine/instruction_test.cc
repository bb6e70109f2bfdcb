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

// "op D, A, B, C;" with registers d, a, b, c of these types; "pred" of d gives 0 or 1.
struct Case {
  const char *text, *types;  // types: of d, a, b, c
  uint64_t a, b, c, expected;
};

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
    body += std::string(c.text) + "\n";
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

// Runs `text` as the body of a kernel over `threads` threads; %o is the address of the thread's
// own 32-bit word of out, %t its index.
std::vector<uint32_t> run_body(const std::string &text, uint32_t threads, uint64_t seed = 0,
                               const std::string &outside = "") {
  auto machine = Machine::create(test_config(1, seed));
  auto module = load_or_fail(
      *machine,
      with_header(
          outside +
          ".visible .entry k(.param .u64 out) {\n.reg .b64 %o, %q; .reg .b32 %t;\nld.param.u64 %o, [out];\n"
          "mov.u32 %t, %tid.x;\nmul.wide.u32 %q, %t, 4;\nadd.u64 %o, %o, %q;\n" +
          text + "\nret;\n}\n"));
  if (!module) return {};
  Buffer<uint32_t> out(*machine, threads);
  Outcome outcome =
      launch(*machine, module, "k", {1, 1, 1}, {threads, 1, 1}, Parameters().add(out.address()));
  EXPECT_TRUE(outcome.ok) << outcome.error;
  return {out.data(), out.data() + threads};
}

TEST(Shuffle, Modes) {
  struct Row {
    const char *text;
    uint32_t (*expected)(uint32_t lane);
  };
  const Row rows[] = {
      {"shfl.sync.up.b32 %r, %t, 3, 0, -1;", [](uint32_t l) { return l >= 3 ? l - 3 : l; }},
      {"shfl.sync.down.b32 %r, %t, 5, 31, -1;", [](uint32_t l) { return l + 5 < 32 ? l + 5 : l; }},
      {"shfl.sync.bfly.b32 %r, %t, 9, 31, -1;", [](uint32_t l) { return l ^ 9; }},
      {"shfl.sync.idx.b32 %r, %t, 7, 31, -1;", [](uint32_t) { return 7u; }},
      // width 8: c = (32 - 8) << 8 | 31
      {"shfl.sync.idx.b32 %r, %t, 3, 6175, -1;", [](uint32_t l) { return (l & 24) + 3; }},
      {"shfl.sync.down.b32 %r, %t, 3, 6175, -1;", [](uint32_t l) { return (l & 7) + 3 < 8 ? l + 3 : l; }},
      {"{ .reg .pred p; shfl.sync.down.b32 %r|p, %t, 4, 31, -1; selp.u32 %r, 1, 0, p; }",
       [](uint32_t l) { return l < 28 ? 1u : 0u; }},
  };
  for (const Row &row : rows) {
    auto out = run_body(std::string(".reg .b32 %r;\n") + row.text + "\nst.global.u32 [%o], %r;", 32);
    ASSERT_EQ(out.size(), 32u);
    for (uint32_t l = 0; l < 32; ++l) EXPECT_EQ(out[l], row.expected(l)) << row.text << " lane " << l;
  }
}

TEST(Warp, MatchReduxElect) {
  auto out = run_body(
      ".reg .b32 %r, %s, %u; .reg .pred p;\n"
      "shr.u32 %r, %t, 2; match.any.sync.b32 %s, %r, -1;\n"  // groups of four
      "redux.sync.add.u32 %u, %t, %s;\n"                     // each group by itself
      "elect.sync _|p, -1;\n@p add.u32 %u, %u, 1000;\n"
      "st.global.u32 [%o], %u;",
      32);
  ASSERT_EQ(out.size(), 32u);
  for (uint32_t l = 0; l < 32; ++l) EXPECT_EQ(out[l], 4 * (l & ~3u) + 6 + (l == 0 ? 1000 : 0)) << l;
}

// Lanes that part must come to one shfl.sync together, wherever their instructions stand.
TEST(Warp, SyncAcrossDivergedPaths) {
  auto out = run_body(
      ".reg .b32 %r, %s; .reg .pred p;\n"
      "setp.lt.u32 p, %t, 10;\n@p bra A;\n"
      "shfl.sync.bfly.b32 %r, %t, 16, 31, -1;\nbra B;\n"
      "A: shfl.sync.bfly.b32 %r, %t, 16, 31, -1;\n"
      "B: st.global.u32 [%o], %r;",
      32);
  ASSERT_EQ(out.size(), 32u);
  for (uint32_t l = 0; l < 32; ++l) EXPECT_EQ(out[l], l ^ 16) << l;
}

TEST(Divergence, LanesMeetAtTheJoin) {
  // A nested if in a loop; after it, and after the loop, all lanes are together.
  auto out = run_body(
      ".reg .b32 %r, %i, %m, %n; .reg .pred p, q;\nmov.u32 %i, 0; mov.u32 %n, 0;\n"
      "L: and.b32 %r, %t, 1; setp.eq.u32 p, %r, 0;\n@p bra A;\n"
      "add.u32 %n, %n, 100; bra B;\n"
      "A: setp.gt.u32 q, %t, 20;\n@q bra B;\nadd.u32 %n, %n, 1;\n"
      "B: activemask.b32 %m; popc.b32 %m, %m; setp.ne.u32 p, %m, 32;\n@p add.u32 %n, %n, 10000;\n"
      "add.u32 %i, %i, 1; setp.lt.u32 p, %i, 3;\n@p bra L;\nst.global.u32 [%o], %n;",
      32);
  ASSERT_EQ(out.size(), 32u);
  for (uint32_t l = 0; l < 32; ++l) EXPECT_EQ(out[l], l & 1 ? 300u : l > 20 ? 0u : 3u) << l;
}

TEST(Divergence, LoopsOfDifferentLengthMeetBehind) {
  auto out = run_body(
      ".reg .b32 %i, %m; .reg .pred p;\nmov.u32 %i, 0;\n"
      "L: add.u32 %i, %i, 1; setp.lt.u32 p, %i, %t;\n@p bra L;\n"
      "activemask.b32 %m;\nst.global.u32 [%o], %m;",
      32);
  for (uint32_t mask : out) EXPECT_EQ(mask, ~0u);
}

TEST(Divergence, EarlyReturnInsideAnIfDoesNotMoveTheJoin) {
  auto out = run_body(
      ".reg .b32 %r, %m; .reg .pred p, q;\n"
      "setp.lt.u32 p, %t, 16;\n@!p bra J;\n"
      "setp.lt.u32 q, %t, 4;\n@q bra R;\nadd.u32 %t, %t, 0;\n"
      "J: activemask.b32 %m;\nst.global.u32 [%o], %m;\nR: ret;",
      32);
  for (uint32_t l = 0; l < 32; ++l) EXPECT_EQ(out[l], l < 4 ? 0u : 0xFFFFFFF0u) << l;
}

TEST(Divergence, GuardedExit) {
  auto out = run_body(
      ".reg .b32 %m; .reg .pred p;\nsetp.gt.u32 p, %t, 4;\n@p exit;\nactivemask.b32 %m;\nst.global.u32 [%o], "
      "%m;",
      32);
  for (uint32_t l = 0; l < 32; ++l) EXPECT_EQ(out[l], l > 4 ? 0u : 0x1Fu);
}

TEST(Scopes, ShadowedRegistersAndLabelsRepeat) {
  std::string block =
      "{ .reg .b32 %r<3>; .reg .pred p; mov.u32 %r1, 1000; setp.lt.u32 p, %t, 5;\n@p bra DONE;\nadd.u32 %r1, "
      "%r1, 1;\n"
      "DONE: add.u32 sum, sum, %r1;\n { .reg .b32 sum; mov.u32 sum, 77; add.u32 %r2, sum, %r1; }\n add.u32 "
      "sum, sum, %r2; }\n";
  auto out = run_body(".reg .b32 %r<5>, sum; mov.u32 sum, 0; mov.u32 %r1, 5;\n" + block + block +
                          "add.u32 sum, sum, %r1;\nst.global.u32 [%o], sum;",
                      32);
  ASSERT_EQ(out.size(), 32u);
  for (uint32_t l = 0; l < 32; ++l) {
    uint32_t r1 = l < 5 ? 1000 : 1001;
    EXPECT_EQ(out[l], 2 * (r1 + 77 + r1) + 5) << l;
  }
}

TEST(Scopes, RegisterMayHaveTheNameOfAVariable) {
  auto out = run_body(
      ".reg .b64 variable; .reg .b32 %r; mov.u64 variable, %o; mov.u32 %r, 9; st.global.u32 [variable], %r;",
      3, 0, ".global .u32 variable = 4;\n");
  EXPECT_EQ(out, (std::vector<uint32_t>{9, 9, 9}));
}

TEST(Barrier, ReductionsAndNumberedOnes) {
  auto out = run_body(
      ".reg .b32 %r, %s; .reg .pred p, q;\nsetp.lt.u32 p, %t, 50;\nbar.red.popc.u32 %r, 0, p;\n"
      "bar.red.and.pred q, 0, p;\n@q add.u32 %r, %r, 1000;\nbar.red.or.pred q, 0, !p;\n@q add.u32 %r, %r, "
      "2000;\n"
      "setp.lt.u32 p, %t, 64;\n@p bar.sync 3, 64;\nst.global.u32 [%o], %r;",
      96);
  for (uint32_t v : out) EXPECT_EQ(v, 2050u);
}

TEST(Barrier, ProducerConsumer) {
  // Warp 0 arrives, warp 1 waits.
  auto out = run_body(
      ".shared .u32 box;\n.reg .b32 %r; .reg .pred p;\nsetp.lt.u32 p, %t, 32;\n@!p bra W;\n"
      "mov.u32 %r, 41; st.shared.u32 [box], %r; bar.arrive 1, 64;\nbra E;\n"
      "W: bar.sync 1, 64; ld.shared.u32 %r, [box]; add.u32 %r, %r, 1;\nE: st.global.u32 [%o], %r;",
      64, 5);
  for (uint32_t l = 0; l < 64; ++l) EXPECT_EQ(out[l], l < 32 ? 41u : 42u);
}

TEST(Spaces, GenericAddressesRoundTrip) {
  auto out = run_body(
      ".shared .align 4 .u32 s[64]; .local .align 4 .u32 l[4];\n.reg .b64 %a, %b, %c, %d; .reg .b32 %r, %x, "
      "%y; .reg .pred p;\n"
      "mov.u64 %a, s; cvta.shared.u64 %b, %a; mul.wide.u32 %c, %t, 4; add.u64 %b, %b, %c;\nst.u32 [%b], %t;\n"
      "cvta.to.shared.u64 %a, %b; ld.shared.u32 %x, [%a];\n"
      "cvta.local.u64 %d, 0; mov.u64 %d, l; cvta.local.u64 %d, %d; add.u32 %r, %t, 7; st.u32 [%d+8], %r; "
      "ld.local.u32 %y, [l+8];\n"
      "add.u32 %r, %x, %y;\n"
      "isspacep.shared p, %b;\n@p add.u32 %r, %r, 1000;\nisspacep.local p, %d;\n@p add.u32 %r, %r, "
      "2000;\nisspacep.global p, %o;\n@p add.u32 %r, %r, 4000;\n"
      "isspacep.global p, %b;\n@p add.u32 %r, %r, 100000;\nst.u32 [%o], %r;",
      64);
  for (uint32_t l = 0; l < 64; ++l) EXPECT_EQ(out[l], 2 * l + 7 + 7000) << l;
}

TEST(Branch, Indexed) {
  auto out = run_body(
      ".reg .b32 %r;\nrem.u32 %r, %t, 3;\nT: .branchtargets A, B, C;\nbrx.idx %r, T;\n"
      "A: mov.u32 %r, 10; bra E;\nB: mov.u32 %r, 20; bra E;\nC: mov.u32 %r, 30;\nE: activemask.b32 %t; "
      "popc.b32 %t, %t; add.u32 %r, %r, %t;\nst.global.u32 [%o], %r;",
      32);
  for (uint32_t l = 0; l < 32; ++l) EXPECT_EQ(out[l], 10 * (l % 3) + 10 + 32) << l;
}

TEST(Special, Registers) {
  auto machine = Machine::create(test_config(2));
  auto module = load_or_fail(*machine, with_header(R"(
.visible .entry k(.param .u64 out) {
  .reg .b64 %o, %q; .reg .b32 %r<20>; .reg .pred p;
  ld.param.u64 %o, [out];
  mov.u32 %r0, %ctaid.y; mad.lo.u32 %r0, %r0, %nctaid.x, %ctaid.x;
  mad.lo.u32 %r1, %tid.y, %ntid.x, %tid.x;
  mov.u32 %r3, %ntid.x; mul.lo.u32 %r3, %r3, %ntid.y; mad.lo.u32 %r2, %r0, %r3, %r1;
  mul.wide.u32 %q, %r2, 16; add.u64 %o, %o, %q;
  st.global.u32 [%o], %smid; 
  mov.u32 %r4, %laneid; mov.u32 %r5, %warpid; mov.u32 %r6, %lanemask_lt;
  st.global.v2.u32 [%o+8], {%r4, %r5};
  st.global.u32 [%o+4], %r6;
  ret;
})"));
  ASSERT_TRUE(module);
  Buffer<uint32_t> out(*machine, 4 * 6 * 50);
  Outcome outcome = launch(*machine, module, "k", {3, 2, 1}, {10, 5, 1}, Parameters().add(out.address()));
  ASSERT_TRUE(outcome.ok) << outcome.error;
  for (uint32_t b = 0; b < 6; ++b)
    for (uint32_t t = 0; t < 50; ++t) {
      uint32_t *o = out.data() + 4 * (b * 50 + t);
      EXPECT_LT(o[0], machine->config().sm_count);
      EXPECT_EQ(o[1], (1u << (t % 32)) - 1);
      EXPECT_EQ(o[2], t % 32);
      EXPECT_EQ(o[3], t / 32);
    }
}

TEST(Atomic, AllOperationsExactOverBlocks) {
  auto machine = Machine::create(test_config(3));
  auto module = load_or_fail(*machine, with_header(R"(
.visible .entry k(.param .u64 out) {
  .reg .b64 %o; .reg .b32 %t, %r, %g; .reg .f32 %f; .reg .f64 %d; .reg .b64 %q; .reg .b32 %h;
  ld.param.u64 %o, [out];
  mov.u32 %t, %tid.x; mov.u32 %g, %ctaid.x; mad.lo.u32 %g, %g, %ntid.x, %t;
  red.global.add.u32 [%o], 3;
  atom.global.max.s32 %r, [%o+4], %g;
  red.global.min.u32 [%o+8], %g;
  atom.global.inc.u32 %r, [%o+12], 6;
  red.global.or.b32 [%o+16], %g;
  red.global.and.b32 [%o+20], 0xFFFFFFF0;
  red.global.xor.b32 [%o+24], 5;
  atom.global.dec.u32 %r, [%o+28], 10;
  mov.f32 %f, 0f3F000000; red.global.add.f32 [%o+32], %f;
  mov.f64 %d, 0d3FD0000000000000; red.global.add.f64 [%o+40], %d;
  mov.u64 %q, 1; atom.add.u64 %q, [%o+48], %q;
  mov.b32 %h, 0x3C003C00; red.global.add.noftz.f16x2 [%o+56], %h;
  ret;
})"));
  ASSERT_TRUE(module);
  Buffer<uint32_t> out(*machine, 16);
  out[2] = ~0u;
  out[5] = 0xFF;
  constexpr uint32_t blocks = 29, threads = 37, n = blocks * threads;
  Outcome outcome =
      launch(*machine, module, "k", {blocks, 1, 1}, {threads, 1, 1}, Parameters().add(out.address()));
  ASSERT_TRUE(outcome.ok) << outcome.error;
  EXPECT_EQ(out[0], 3 * n);
  EXPECT_EQ(out[1], n - 1);
  EXPECT_EQ(out[2], 0u);
  EXPECT_EQ(out[3], n % 7);
  EXPECT_EQ(out[4], 2047u);
  EXPECT_EQ(out[5], 0xF0u);
  EXPECT_EQ(out[6], n % 2 ? 5u : 0u);
  EXPECT_EQ(out[7], (11 - n % 11) % 11);
  EXPECT_EQ(std::bit_cast<float>(out[8]), 0.5f * n);
  EXPECT_EQ(*reinterpret_cast<double *>(&out[10]), 0.25 * n);
  EXPECT_EQ(*reinterpret_cast<uint64_t *>(&out[12]), n);
  EXPECT_EQ(out[14], 0x64316431u);  // 1073 in f16: exact up to 2048
}

struct BadModule {
  const char *text, *error;
};
TEST(Load, Errors) {
  const BadModule rows[] = {
      {".entry k() { .reg .b32 %r; add.u32 %r, %r, %x; ret; }", "ptx line 4: unknown symbol '%x'"},
      {".entry k() {\n bra L;\n ret; }", "ptx line 5: unknown label 'L'"},
      {".entry k() { .reg .b64 %r; add.u32 %r, 1, 2; add.u32 %r, %r, %r }",
       "ptx line 4: expected ';', found '}'"},
      {".entry k() { .reg .b16 %r; .reg .b32 %s; add.u32 %s, %r, 1; ret; }",
       "ptx line 4: 'add.u32': operand '%r' is too narrow"},
      {".entry k() { call missing; ret; }", "ptx line 4: unresolved extern function 'missing'"},
      {".extern .global .u32 x;", "ptx line 4: unresolved extern variable 'x'"},
      {".global .u64 x = y;", "ptx line 4: unknown symbol 'y'"},
      {".entry k(.param .u32 a) { .reg .b64 %r; ld.param.u64 %r, [a]; ret; }",
       "ptx line 4: 'ld.param.u64': outside the parameters"},
      {".entry k() { .reg .b32 %r; /* ", "ptx line 4: unterminated comment"},
      {"garbage", "ptx line 4: expected a directive, found 'garbage'"},
  };
  auto machine = Machine::create(test_config(1));
  for (const BadModule &row : rows) {
    Result<std::shared_ptr<Module>> module = machine->load(with_header(row.text));
    ASSERT_FALSE(module) << row.text;
    EXPECT_EQ(module.error().message, row.error) << row.text;
  }
}

struct BadKernel {
  const char *body, *error;
  Fault::Kind kind;
};
TEST(Faults, Messages) {
  const BadKernel rows[] = {
      {"ld.global.u32 %r, [%q+16];",
       "kernel k, block (0,0,0), thread (0,0,0), ptx:6: ld.global.u32 of 4 bytes at global address 0x10: not "
       "allocated",
       Fault::illegal_address},
      {"ld.global.u32 %r, [%q+2];",
       "kernel k, block (0,0,0), thread (0,0,0), ptx:6: ld.global.u32 of 4 bytes at global address 0x2: not "
       "aligned to 4",
       Fault::misaligned_address},
      {"st.shared.v4.f32 [s+4], {%f,%f,%f,%f};",
       "kernel k, block (0,0,0), thread (0,0,0), ptx:6: st.shared.v4.f32 of 16 bytes at shared address 0x4: "
       "not aligned to 16",
       Fault::misaligned_address},
      {"mad.lo.u32 %r, %t, 4, 0; st.shared.u32 [%r+16], %t;",
       "kernel k, block (0,0,0), thread (4,0,0), ptx:6: st.shared.u32 of 4 bytes at shared address 0x20: the "
       "block has 32 bytes",
       Fault::illegal_address},
      {"trap;", "kernel k, block (0,0,0), thread (0,0,0), ptx:6: trap", Fault::trap},
      {"setp.eq.u32 %p, %t, 33; @%p trap;", "kernel k, block (0,0,0), thread (33,0,0), ptx:6: trap",
       Fault::trap},
      {"wgmma.fence.sync.aligned;",
       "kernel k, block (0,0,0), thread (0,0,0), ptx:6: not simulated: wgmma.fence.sync.aligned",
       Fault::not_simulated},
      {"setp.lt.u32 %p, %t, 32; @%p bar.sync 1, 64;",
       "kernel k, block (0,0,0): deadlock: warp 0 lanes 0xffffffff at ptx:6 bar.sync;", Fault::deadlock},
      {".loc 1 12 3\n ld.u32 %r, [%q];",
       "kernel k, block (0,0,0), thread (0,0,0), ptx:7 (x.cu:12): ld.u32 of 4 bytes at global address 0x0: "
       "not allocated",
       Fault::illegal_address},
      {"call f, ();", "kernel k, block (0,0,0), thread (0,0,0), function f, ptx:4: trap", Fault::trap},
  };
  for (const BadKernel &row : rows) {
    auto machine = Machine::create(test_config(1));
    std::string text =
        ".file 1 \"/src/x.cu\" .func f() { trap; ret; }\n.entry k() { .reg .b32 %r, %t; .reg .f32 %f; .reg "
        ".pred %p; .reg .b64 %q; .shared .align 16 .b8 s[32];\n";
    auto module = load_or_fail(*machine, with_header(text + row.body + "\nret; }"));
    ASSERT_TRUE(module) << row.body;
    std::string set = "mov.u32 %t, %tid.x; mov.u64 %q, 0;";
    module = load_or_fail(*machine,
                          with_header(text.substr(0, text.size() - 1) + set + "\n" + row.body + "\nret; }"));
    Outcome out = launch(*machine, module, "k", {1, 1, 1}, {64, 1, 1}, Parameters());
    EXPECT_FALSE(out.ok) << row.body;
    EXPECT_EQ(out.fault.kind, row.kind) << row.body;
    EXPECT_EQ(out.error, row.error) << row.body;
  }
}

TEST(Faults, UnknownInstructionIsAcceptedUntilExecuted) {
  auto out = run_body(
      ".reg .pred p; .reg .b32 %r; setp.gt.u32 p, %t, 100;\n@p tex.2d.v4.f32.f32 {%r,%r,%r,%r}, [%o, "
      "{%r,%r}];\n"
      "@p cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%o], [%o, {%r, "
      "%r}], [%o];\n"
      "mov.u32 %r, 6; st.global.u32 [%o], %r;",
      3);
  EXPECT_EQ(out, (std::vector<uint32_t>{6, 6, 6}));
}

TEST(Calls, RegisterParametersAndGuards) {
  auto out = run_body(
      ".reg .b32 %r; .reg .pred p; mov.u32 %r, 1; setp.lt.u32 p, %t, 7;\n@p call (%r), twice, "
      "(%t);\nst.global.u32 [%o], %r;",
      32, 0, ".func (.reg .b32 x) twice(.reg .b32 y) { add.u32 x, y, y; ret; }\n");
  for (uint32_t l = 0; l < 32; ++l) EXPECT_EQ(out[l], l < 7 ? 2 * l : 1u);
}

TEST(Calls, DivergentReturnMeetsBehindTheCall) {
  auto out = run_body(
      "{ .param .b32 a; .param .b32 r; .reg .b32 %r, %m; st.param.b32 [a], %t; call.uni (r), f, (a); "
      "ld.param.b32 %r, [r];\n"
      "activemask.b32 %m; popc.b32 %m, %m; add.u32 %r, %r, %m; st.global.u32 [%o], %r; }",
      32, 0,
      ".func (.param .b32 r) f(.param .b32 a) { .reg .b32 %x; .reg .pred p; ld.param.b32 %x, [a]; "
      "setp.lt.u32 p, %x, 5;\n@p bra S;\n"
      "mul.lo.u32 %x, %x, 3; st.param.b32 [r], %x; ret;\nS: st.param.b32 [r], 100; ret; }\n");
  for (uint32_t l = 0; l < 32; ++l) EXPECT_EQ(out[l], (l < 5 ? 100 : 3 * l) + 32) << l;
}

TEST(Trace, StepsOfAMemoryAccess) {
  struct Recorder : Trace {
    void step(const TraceStep &s) override {
      texts.emplace_back(s.text, s.text_size);
      masks.push_back(s.mask);
      if (s.addresses && texts.back() == "st.global.u32") second = s.addresses[1];
    }
    std::vector<std::string> texts;
    std::vector<uint32_t> masks;
    uint64_t second = 0;
  } recorder;
  auto machine = Machine::create(test_config(1));
  auto module =
      load_or_fail(*machine, with_header(".entry k(.param .u64 o) { .reg .b64 %o, %q; .reg .b32 %t; .reg "
                                         ".pred p;\nld.param.u64 %o, [o]; mov.u32 %t, %tid.x;"
                                         "mul.wide.u32 %q, %t, 4; add.u64 %o, %o, %q; setp.lt.u32 p, %t, "
                                         "3;\n@p st.global.u32 [%o], %t;\nret; }"));
  ASSERT_TRUE(module);
  Buffer<uint32_t> out(*machine, 4);
  Launch l;
  l.module = module;
  l.kernel = "k";
  l.block = {4, 1, 1};
  l.parameters = Parameters().add(out.address()).bytes();
  l.trace = &recorder;
  Fault fault{};
  ASSERT_TRUE(machine->run(l, &fault));
  EXPECT_EQ(recorder.texts, (std::vector<std::string>{"ld.param.u64", "mov.u32", "mul.wide.u32", "add.u64",
                                                      "setp.lt.u32", "st.global.u32", "ret"}));
  EXPECT_EQ(recorder.masks, (std::vector<uint32_t>{15, 15, 15, 15, 15, 7, 15}));
  EXPECT_EQ(recorder.second, out.address() + 4);
}

}  // namespace
}  // namespace egpu::sim
