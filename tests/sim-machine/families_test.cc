// The table of instruction families in docs/simulator.md says what decode() says: an example of each, which
// ptxas assembles, is decoded and its name looked up in the table's columns.
#include <map>
#include <set>
#include <sstream>

#include "lib/sim/machine/lanes.h"
#include "lib/sim/machine/program.h"
#include "tests/sim-machine/run.h"

namespace egpu::sim {
namespace {

struct Family {
  const char *chapter, *name, *example;
};
const Family kFamilies[] = {
    {"9.7.1", "add", "add.sat.s32 %r0, %r1, %r2;"},
    {"9.7.1", "sub", "sub.s64 %q0, %q1, %q2;"},
    {"9.7.1", "mul", "mul.wide.s16 %r0, %h1, %h2;"},
    {"9.7.1", "mad", "mad.hi.sat.s32 %r0, %r1, %r2, %r3;"},
    {"9.7.1", "mul24", "mul24.hi.u32 %r0, %r1, %r2;"},
    {"9.7.1", "mad24", "mad24.hi.sat.s32 %r0, %r1, %r2, %r3;"},
    {"9.7.1", "sad", "sad.u64 %q0, %q1, %q2, %q3;"},
    {"9.7.1", "div", "div.u16 %h0, %h1, %h2;"},
    {"9.7.1", "rem", "rem.s64 %q0, %q1, %q2;"},
    {"9.7.1", "abs", "abs.s16 %h0, %h1;"},
    {"9.7.1", "neg", "neg.s32 %r0, %r1;"},
    {"9.7.1", "min", "min.relu.s16x2 %r0, %r1, %r2;"},
    {"9.7.1", "max", "max.u16x2 %r0, %r1, %r2;"},
    {"9.7.1", "popc", "popc.b64 %r0, %q1;"},
    {"9.7.1", "clz", "clz.b32 %r0, %r1;"},
    {"9.7.1", "bfind", "bfind.shiftamt.s64 %r0, %q1;"},
    {"9.7.1", "fns", "fns.b32 %r0, %r1, %r2, %r3;"},
    {"9.7.1", "brev", "brev.b64 %q0, %q1;"},
    {"9.7.1", "bfe", "bfe.s64 %q0, %q1, %r2, %r3;"},
    {"9.7.1", "bfi", "bfi.b32 %r0, %r1, %r2, %r3, %r4;"},
    {"9.7.1", "szext", "szext.clamp.s32 %r0, %r1, %r2;"},
    {"9.7.1", "bmsk", "bmsk.wrap.b32 %r0, %r1, %r2;"},
    {"9.7.1", "dp4a", "dp4a.s32.u32 %r0, %r1, %r2, %r3;"},
    {"9.7.1", "dp2a", "dp2a.hi.u32.s32 %r0, %r1, %r2, %r3;"},
    {"9.7.2", "add.cc", "add.cc.u64 %q0, %q1, %q2;"},
    {"9.7.2", "addc", "addc.cc.u32 %r0, %r1, %r2;"},
    {"9.7.2", "sub.cc", "sub.cc.s32 %r0, %r1, %r2;"},
    {"9.7.2", "subc", "subc.s64 %q0, %q1, %q2;"},
    {"9.7.2", "mad.cc", "mad.lo.cc.u32 %r0, %r1, %r2, %r3;"},
    {"9.7.2", "madc", "madc.hi.cc.u32 %r0, %r1, %r2, %r3;"},
    {"9.7.3", "testp", "testp.subnormal.f64 %p0, %d1;"},
    {"9.7.3", "copysign", "copysign.f64 %d0, %d1, %d2;"},
    {"9.7.3", "add", "add.rp.ftz.sat.f32 %f0, %f1, %f2;"},
    {"9.7.3", "sub", "sub.rm.f64 %d0, %d1, %d2;"},
    {"9.7.3", "mul", "mul.rz.ftz.f32 %f0, %f1, %f2;"},
    {"9.7.3", "fma", "fma.rp.f64 %d0, %d1, %d2, %d3;"},
    {"9.7.3", "mad", "mad.rn.f32 %f0, %f1, %f2, %f3;"},
    {"9.7.3", "div", "div.full.ftz.f32 %f0, %f1, %f2;"},
    {"9.7.3", "abs", "abs.ftz.f32 %f0, %f1;"},
    {"9.7.3", "neg", "neg.f64 %d0, %d1;"},
    {"9.7.3", "min", "min.ftz.NaN.xorsign.abs.f32 %f0, %f1, %f2;"},
    {"9.7.3", "max", "max.f64 %d0, %d1, %d2;"},
    {"9.7.3", "rcp", "rcp.approx.ftz.f64 %d0, %d1;"},
    {"9.7.3", "sqrt", "sqrt.rz.f64 %d0, %d1;"},
    {"9.7.3", "rsqrt", "rsqrt.approx.ftz.f64 %d0, %d1;"},
    {"9.7.3", "sin", "sin.approx.f32 %f0, %f1;"},
    {"9.7.3", "cos", "cos.approx.ftz.f32 %f0, %f1;"},
    {"9.7.3", "lg2", "lg2.approx.f32 %f0, %f1;"},
    {"9.7.3", "ex2", "ex2.approx.f32 %f0, %f1;"},
    {"9.7.3", "tanh", "tanh.approx.f32 %f0, %f1;"},
    {"9.7.3", "add.f32x2", "add.rn.f32x2 %q0, %q1, %q2;"},
    {"9.7.3", "sub.f32x2", "sub.rz.ftz.f32x2 %q0, %q1, %q2;"},
    {"9.7.3", "mul.f32x2", "mul.rn.f32x2 %q0, %q1, %q2;"},
    {"9.7.3", "fma.f32x2", "fma.rn.f32x2 %q0, %q1, %q2, %q3;"},
    {"9.7.3", "min of three", "min.f32 %f0, %f1, %f2, %f3;"},
    {"9.7.3", "max of three", "max.NaN.abs.f32 %f0, %f1, %f2, %f3;"},
    {"9.7.4", "add", "add.rn.ftz.sat.f16x2 %r0, %r1, %r2;"},
    {"9.7.4", "sub", "sub.rn.bf16x2 %r0, %r1, %r2;"},
    {"9.7.4", "mul", "mul.rn.bf16 %h0, %h1, %h2;"},
    {"9.7.4", "fma", "fma.rn.ftz.relu.f16 %h0, %h1, %h2, %h3;"},
    {"9.7.4", "fma.oob", "fma.rn.oob.relu.bf16x2 %r0, %r1, %r2, %r3;"},
    {"9.7.4", "neg", "neg.bf16x2 %r0, %r1;"},
    {"9.7.4", "abs", "abs.ftz.f16 %h0, %h1;"},
    {"9.7.4", "min", "min.NaN.xorsign.abs.bf16 %h0, %h1, %h2;"},
    {"9.7.4", "max", "max.ftz.f16x2 %r0, %r1, %r2;"},
    {"9.7.4", "tanh", "tanh.approx.bf16x2 %r0, %r1;"},
    {"9.7.4", "ex2", "ex2.approx.ftz.bf16 %h0, %h1;"},
    {"9.7.5", "add", "add.rz.sat.f32.f16 %f0, %h1, %f2;"},
    {"9.7.5", "sub", "sub.f32.bf16 %f0, %h1, %f2;"},
    {"9.7.5", "fma", "fma.rn.f32.bf16 %f0, %h1, %h2, %f3;"},
    {"9.7.6", "set", "set.gtu.and.u32.f32 %r0, %f1, %f2, !%p0;"},
    {"9.7.6", "setp", "setp.hi.xor.u64 %p0|%p1, %q1, %q2, %p0;"},
    {"9.7.6", "selp", "selp.f64 %d0, %d1, %d2, %p0;"},
    {"9.7.6", "slct", "slct.ftz.b64.f32 %q0, %q1, %q2, %f3;"},
    {"9.7.7", "set", "set.leu.f16x2.f16x2 %r0, %r1, %r2;"},
    {"9.7.7", "setp", "setp.nan.bf16x2 %p0|%p1, %r1, %r2;"},
    {"9.7.8", "and", "and.pred %p0, %p0, %p1;"},
    {"9.7.8", "or", "or.b16 %h0, %h1, %h2;"},
    {"9.7.8", "xor", "xor.b64 %q0, %q1, %q2;"},
    {"9.7.8", "not", "not.b32 %r0, %r1;"},
    {"9.7.8", "cnot", "cnot.b64 %q0, %q1;"},
    {"9.7.8", "lop3", "lop3.or.b32 %r0|%p0, %r1, %r2, %r3, 0x3f, %p1;"},
    {"9.7.8", "shf", "shf.r.clamp.b32 %r0, %r1, %r2, %r3;"},
    {"9.7.8", "shl", "shl.b16 %h0, %h1, %r2;"},
    {"9.7.8", "shr", "shr.s64 %q0, %q1, %r2;"},
    {"9.7.9", "mov", "mov.b128 %x0, {%q0, %q1};"},
    {"9.7.9", "shfl", "shfl.sync.bfly.b32 %r0|%p0, %r1, %r2, %r3, -1;"},
    {"9.7.9", "prmt", "prmt.b32.rc16 %r0, %r1, %r2, %r3;"},
    {"9.7.9", "ld", "ld.acquire.sys.global.L1::evict_last.v2.f64 {%d0, %d1}, [%q0];"},
    {"9.7.9", "ldu", "ldu.global.v4.u32 {%r0, %r1, %r2, %r3}, [%q0];"},
    {"9.7.9", "st", "st.release.cluster.shared::cluster.b8 [%r0], %r1;"},
    {"9.7.9", "st.async",
     "st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.b64 [%r0], {%q1, %q2}, [%r1];"},
    {"9.7.9", "st.bulk", "st.bulk.weak.shared::cta [%q0], 64, 0;"},
    {"9.7.9", "red.async",
     "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.inc.u32 [%r0], %r1, [%r2];"},
    {"9.7.9", "multimem.ld_reduce", "multimem.ld_reduce.relaxed.sys.global.add.u32 %r0, [%q0];"},
    {"9.7.9", "multimem.st", "multimem.st.relaxed.sys.global.u32 [%q0], %r0;"},
    {"9.7.9", "multimem.red", "multimem.red.relaxed.sys.global.add.u32 [%q0], %r0;"},
    {"9.7.9", "prefetch", "prefetch.global.L2::evict_last [%q0];"},
    {"9.7.9", "prefetchu", "prefetchu.L1 [%q0];"},
    {"9.7.9", "applypriority", "applypriority.global.L2::evict_normal [%q0], 128;"},
    {"9.7.9", "discard", "discard.global.L2 [%q0], 128;"},
    {"9.7.9", "createpolicy", "createpolicy.range.global.L2::evict_last.b64 %q0, [%q1], %r0, %r1;"},
    {"9.7.9", "isspacep", "isspacep.shared::cluster %p0, %q0;"},
    {"9.7.9", "cvta", "cvta.to.shared.u64 %q0, %q1;"},
    {"9.7.9", "cvt", "cvt.rn.satfinite.relu.e4m3x2.f32 %h0, %f1, %f2;"},
    {"9.7.9", "cvt.rs", "cvt.rs.f16x2.f32 %r0, %f1, %f2, %r3;"},
    {"9.7.9", "cvt of e2m1, e2m3, e3m2, ue8m0", "cvt.rz.satfinite.ue8m0x2.f32 %h0, %f1, %f2;"},
    {"9.7.9", "cvt.pack", "cvt.pack.sat.u8.s32.b32 %r0, %r1, %r2, %r3;"},
    {"9.7.9", "cvt.pack of 2 and 4 bits", "cvt.pack.sat.s4.s32.b32 %r0, %r1, %r2, %r3;"},
    {"9.7.9", "mapa", "mapa.shared::cluster.u32 %r0, %r1, %r2;"},
    {"9.7.9", "getctarank", "getctarank.u64 %r0, %q1;"},
    {"9.7.9", "cp.async", "cp.async.cg.shared.global.L2::128B [%r0], [%q0], 16, %r1;"},
    {"9.7.9", "cp.async.commit_group", "cp.async.commit_group;"},
    {"9.7.9", "cp.async.wait_group", "cp.async.wait_group 3;"},
    {"9.7.9", "cp.async.wait_all", "cp.async.wait_all;"},
    {"9.7.9", "cp.async.bulk",
     "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r0], [%q0], 16, "
     "[%r1], "
     "%h0;"},
    {"9.7.9", "cp.reduce.async.bulk",
     "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.noftz.bf16 [%q0], [%r1], 16;"},
    {"9.7.9", "cp.async.bulk.prefetch", "cp.async.bulk.prefetch.L2.global [%q0], 16;"},
    {"9.7.9", "cp.async.bulk.commit_group", "cp.async.bulk.commit_group;"},
    {"9.7.9", "cp.async.bulk.wait_group", "cp.async.bulk.wait_group.read 0;"},
    {"9.7.9", "cp.async.bulk.tensor",
     "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r0], [%q0, {%r1, "
     "%r2}], [%r3];"},
    {"9.7.9", "cp.reduce.async.bulk.tensor",
     "cp.reduce.async.bulk.tensor.1d.global.shared::cta.add.tile.bulk_group [%q0, {%r1}], [%r0];"},
    {"9.7.9", "cp.async.bulk.prefetch.tensor",
     "cp.async.bulk.prefetch.tensor.1d.L2.global.tile [%q0, {%r1}];"},
    {"9.7.9", "tensormap.replace", "tensormap.replace.tile.rank.global.b1024.b32 [%q0], 2;"},
    {"9.7.10", "tex", "tex.2d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [%q0, {%f0, %f1}];"},
    {"9.7.10", "tld4", "tld4.r.2d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [%q0, {%f0, %f1}];"},
    {"9.7.10", "txq", "txq.width.b32 %r0, [%q0];"},
    {"9.7.10", "istypep", "istypep.texref %p0, %q0;"},
    {"9.7.11", "suld", "suld.b.1d.b32.trap {%r0}, [%q0, {%r1}];"},
    {"9.7.11", "sust", "sust.b.1d.b32.trap [%q0, {%r1}], {%r0};"},
    {"9.7.11", "sured", "sured.b.add.1d.u32.trap [%q0, {%r1}], %r0;"},
    {"9.7.11", "suq", "suq.width.b32 %r0, [%q0];"},
    {"9.7.12", "bra", "@%p0 bra.uni HERE;"},
    {"9.7.12", "brx.idx", "ts: .branchtargets HERE, HERE; brx.idx %r0, ts;"},
    {"9.7.12", "call", "{ .param .b32 v; call (v), f, (v); }"},
    {"9.7.12", "ret", "ret;"},
    {"9.7.12", "exit", "exit;"},
    {"9.7.13", "bar", "bar.red.popc.u32 %r0, 1, 64, %p0;"},
    {"9.7.13", "barrier", "barrier.cta.arrive.aligned %r0, %r1;"},
    {"9.7.13", "bar.warp.sync", "bar.warp.sync -1;"},
    {"9.7.13", "barrier.cluster", "barrier.cluster.wait.acquire.aligned;"},
    {"9.7.13", "membar", "membar.gl;"},
    {"9.7.13", "fence", "fence.proxy.tensormap::generic.acquire.gpu [%q0], 128;"},
    {"9.7.13", "atom", "atom.acq_rel.cluster.shared::cluster.cas.b16 %h0, [%r0], %h1, %h2;"},
    {"9.7.13", "atom of 128 bits", "atom.global.cas.b128 %x0, [%q0], %x1, %x2;"},
    {"9.7.13", "atom of vectors",
     "atom.global.v8.f16.min.noftz {%h0,%h1,%h2,%h3,%h0,%h1,%h2,%h3}, [%q0], "
     "{%h0,%h1,%h2,%h3,%h0,%h1,%h2,%h3};"},
    {"9.7.13", "red", "red.relaxed.sys.global.dec.u32 [%q0], %r0;"},
    {"9.7.13", "red of vectors", "red.global.add.noftz.v4.bf16x2 [%q0], {%r0, %r1, %r2, %r3};"},
    {"9.7.13", "vote", "vote.sync.ballot.b32 %r0, !%p0, -1;"},
    {"9.7.13", "match", "match.all.sync.b64 %r0|%p0, %q0, -1;"},
    {"9.7.13", "activemask", "activemask.b32 %r0;"},
    {"9.7.13", "redux", "redux.sync.min.abs.NaN.f32 %f0, %f1, -1;"},
    {"9.7.13", "griddepcontrol", "griddepcontrol.wait;"},
    {"9.7.13", "elect", "elect.sync %r0|%p0, -1;"},
    {"9.7.13", "mbarrier.init", "mbarrier.init.shared::cta.b64 [%r0], 3;"},
    {"9.7.13", "mbarrier.inval", "mbarrier.inval.b64 [%q0];"},
    {"9.7.13", "mbarrier.expect_tx", "mbarrier.expect_tx.relaxed.cluster.shared::cluster.b64 [%r0], 16;"},
    {"9.7.13", "mbarrier.complete_tx", "mbarrier.complete_tx.shared::cluster.b64 [%r0], 16;"},
    {"9.7.13", "mbarrier.arrive",
     "mbarrier.arrive.expect_tx.release.cluster.shared::cluster.b64 _, [%r0], 16;"},
    {"9.7.13", "mbarrier.arrive.noComplete", "mbarrier.arrive.noComplete.b64 %q0, [%q1], 2;"},
    {"9.7.13", "mbarrier.arrive_drop", "mbarrier.arrive_drop.shared::cta.b64 %q0, [%r0], 2;"},
    {"9.7.13", "mbarrier.arrive_drop.noComplete",
     "mbarrier.arrive_drop.noComplete.shared.b64 %q0, [%r1], 2;"},
    {"9.7.13", "mbarrier.test_wait",
     "mbarrier.test_wait.parity.relaxed.cluster.shared::cta.b64 %p0, [%r0], 1;"},
    {"9.7.13", "mbarrier.try_wait", "mbarrier.try_wait.acquire.cta.shared::cta.b64 %p0, [%r0], %q0, 1000;"},
    {"9.7.13", "mbarrier.pending_count", "mbarrier.pending_count.b64 %r0, %q0;"},
    {"9.7.13", "cp.async.mbarrier.arrive", "cp.async.mbarrier.arrive.noinc.shared.b64 [%r0];"},
    {"9.7.13", "tensormap.cp_fenceproxy",
     "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%q0], [%r0], "
     "128;"},
    {"9.7.13", "clusterlaunchcontrol",
     "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [%r0], [%r1];"},
    {"9.7.14", "wmma.load", "wmma.load.a.sync.aligned.row.m8n8k32.shared.s4 {%r0}, [%r1], %r2;"},
    {"9.7.14", "wmma.store", "wmma.store.d.sync.aligned.col.m8n8k4.global.f64 [%q0], {%d0, %d1}, %r2;"},
    {"9.7.14", "wmma.mma",
     "wmma.mma.sync.aligned.row.col.m8n8k32.s32.s4.s4.s32.satfinite {%r0, %r1}, {%r2}, {%r3}, {%r0, %r1};"},
    {"9.7.14", "wmma of b1",
     "wmma.mma.xor.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32 {%r0, %r1}, {%r2}, {%r3}, {%r0, %r1};"},
    {"9.7.14", "mma",
     "mma.sync.aligned.m16n8k16.row.col.f32.e4m3.e5m2.f32 {%f0, %f1, %f2, %f3}, {%r0, %r1}, {%r2}, {%f0, "
     "%f1, %f2, %f3};"},
    {"9.7.14", "mma of b1",
     "mma.sync.aligned.m8n8k128.row.col.s32.b1.b1.s32.and.popc {%r0, %r1}, {%r2}, {%r3}, {%r0, %r1};"},
    {"9.7.14", "mma.block_scale",
     "mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.f32.e4m3.e4m3.f32.ue8m0 {%f0, %f1, %f2, "
     "%f3}, "
     "{%r0, %r1, %r2, %r3}, {%r0, %r1}, {%f0, %f1, %f2, %f3}, {%r0}, {%h0, %h1}, {%r1}, {%h0, %h1};"},
    {"9.7.14", "mma.sp",
     "mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0, %f1, %f2, %f3}, {%r0, "
     "%r1}, {%r2, "
     "%r3}, {%f0, %f1, %f2, %f3}, %r4, 0;"},
    {"9.7.14", "ldmatrix", "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%r0, %r1, %r2, %r3}, [%r4];"},
    {"9.7.14", "ldmatrix of 8 bits", "ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {%r0, %r1}, [%r2];"},
    {"9.7.14", "stmatrix", "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r0], {%r1};"},
    {"9.7.14", "stmatrix of 8 bits", "stmatrix.sync.aligned.m16n8.x1.trans.shared.b8 [%r2], {%r0};"},
    {"9.7.14", "movmatrix", "movmatrix.sync.aligned.m8n8.trans.b16 %r0, %r1;"},
    {"9.7.15", "wgmma.mma_async",
     "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %q0, %q1, %p0, 1, 1, 0, 0;"},
    {"9.7.15", "wgmma.fence", "wgmma.fence.sync.aligned;"},
    {"9.7.15", "wgmma.commit_group", "wgmma.commit_group.sync.aligned;"},
    {"9.7.15", "wgmma.wait_group", "wgmma.wait_group.sync.aligned 0;"},
    {"9.7.16", "tcgen05.alloc", "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r0], 32;"},
    {"9.7.16", "tcgen05.dealloc", "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r0, 32;"},
    {"9.7.16", "tcgen05.ld", "tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r0}, [%r1];"},
    {"9.7.16", "tcgen05.st", "tcgen05.st.sync.aligned.32x32b.x1.b32 [%r1], {%r0};"},
    {"9.7.16", "tcgen05.wait", "tcgen05.wait::ld.sync.aligned;"},
    {"9.7.16", "tcgen05.cp", "tcgen05.cp.cta_group::1.128x256b [%r0], %q0;"},
    {"9.7.16", "tcgen05.shift", "tcgen05.shift.cta_group::1.down [%r0];"},
    {"9.7.16", "tcgen05.mma", "tcgen05.mma.cta_group::1.kind::f16 [%r0], %q0, %q1, %r1, %p0;"},
    {"9.7.16", "tcgen05.fence", "tcgen05.fence::before_thread_sync;"},
    {"9.7.16", "tcgen05.commit", "tcgen05.commit.cta_group::1.mbarrier::arrive::one.b64 [%q0];"},
    {"9.7.17", "stacksave", "stacksave.u64 %q0;"},
    {"9.7.17", "stackrestore", "stackrestore.u64 %q0;"},
    {"9.7.17", "alloca", "alloca.u64 %q0, %q1, 16;"},
    {"9.7.18", "vadd", "vadd.s32.u32.s32.sat.min %r0, %r1.b0, %r2.h1, %r3;"},
    {"9.7.18", "vsub", "vsub.u32.s32.s32.sat %r0.b2, %r1, %r2, %r3;"},
    {"9.7.18", "vabsdiff", "vabsdiff.u32.u32.u32.add %r0, %r1, %r2, %r3;"},
    {"9.7.18", "vmin", "vmin.s32.s32.s32 %r0, %r1, %r2;"},
    {"9.7.18", "vmax", "vmax.s32.s32.s32.max %r0, %r1, %r2, %r3;"},
    {"9.7.18", "vshl", "vshl.u32.u32.u32.clamp.add %r0, %r1, %r2, %r3;"},
    {"9.7.18", "vshr", "vshr.s32.s32.u32.wrap %r0.h1, %r1, %r2, %r3;"},
    {"9.7.18", "vmad", "vmad.s32.s32.u32.sat.shr7 %r0, %r1.h0, %r2.b1, -%r3;"},
    {"9.7.18", "vset", "vset.u32.s32.lt.add %r0, %r1, %r2.h0, %r3;"},
    {"9.7.18", "vadd2", "vadd2.s32.s32.s32.sat %r0.h0, %r1.h31, %r2.h12, %r3;"},
    {"9.7.18", "vsub2", "vsub2.u32.u32.u32 %r0, %r1, %r2, %r3;"},
    {"9.7.18", "vavrg2", "vavrg2.s32.s32.s32.add %r0, %r1, %r2, %r3;"},
    {"9.7.18", "vabsdiff2", "vabsdiff2.u32.s32.s32.sat %r0, %r1, %r2, %r3;"},
    {"9.7.18", "vmin2", "vmin2.s32.s32.s32 %r0, %r1, %r2, %r3;"},
    {"9.7.18", "vmax2", "vmax2.u32.u32.u32 %r0, %r1, %r2, %r3;"},
    {"9.7.18", "vset2", "vset2.s32.u32.ge %r0.h1, %r1, %r2, %r3;"},
    {"9.7.18", "vadd4", "vadd4.u32.u32.u32.sat %r0, %r1, %r2, %r3;"},
    {"9.7.18", "vsub4", "vsub4.s32.s32.u32 %r0.b30, %r1, %r2, %r3;"},
    {"9.7.18", "vavrg4", "vavrg4.u32.u32.u32 %r0, %r1.b0000, %r2, %r3;"},
    {"9.7.18", "vabsdiff4", "vabsdiff4.u32.u32.u32.add %r0, %r1, %r2, %r3;"},
    {"9.7.18", "vmin4", "vmin4.u32.u32.u32 %r0, %r1, %r2, %r3;"},
    {"9.7.18", "vmax4", "vmax4.s32.s32.s32 %r0, %r1, %r2, %r3;"},
    {"9.7.18", "vset4", "vset4.u32.s32.lt.add %r0.b3210, %r1, %r2.b7654, %r3;"},
    {"9.7.19", "brkpt", "brkpt;"},
    {"9.7.19", "nanosleep", "nanosleep.u32 %r0;"},
    {"9.7.19", "pmevent", "pmevent.mask 0x10;"},
    {"9.7.19", "trap", "trap;"},
    {"9.7.19", "setmaxnreg", "setmaxnreg.inc.sync.aligned.u32 240;"},
};

std::string kernel_of(const Family &family) {
  return ".version 9.0\n.target sm_100a\n.address_size 64\n"
         ".func (.param .b32 r) f(.param .b32 a) { ret; }\n"
         ".visible .entry k() {\n.reg .b16 %h<4>; .reg .b32 %r<8>; .reg .f32 %f<4>; .reg .b64 %q<4>;\n"
         ".reg .f64 %d<4>; .reg .b128 %x<4>; .reg .pred %p<2>;\n" +
         std::string(family.example) + "\nHERE: ret; }\n";
}

// Whether decode() knows the example.
bool is_simulated(const Family &family) {
  DeviceConfig config = test_config(1);
  Result<std::shared_ptr<Program>> program =
      build_program(kernel_of(family), config, std::make_shared<Memory>());
  EXPECT_TRUE(program) << family.example << " " << program.error().message;
  if (!program) return false;
  for (const Op &op : (*program)->find_function("k")->ops)
    if (op.run == find_handler("not_simulated")) return false;
  return true;
}

using Names = std::map<std::string, std::set<std::string>>;  // by chapter

// The words in backquotes of the table's column, 2 or 3.
Names documented(int column) {
  Names names;
  std::ifstream in(EGPU_SOURCE_DIR "/docs/simulator.md");
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with("| 9.7.")) continue;
    std::istringstream cells(line);
    std::string cell, chapter;
    std::getline(cells, cell, '|');
    std::getline(cells, cell, '|');
    chapter = cell.substr(1, cell.find(' ', 1) - 1);
    for (int i = 1; i < column; ++i) std::getline(cells, cell, '|');
    for (size_t at = 0; (at = cell.find('`', at)) != cell.npos;) {
      const size_t end = cell.find('`', at + 1);
      names[chapter].insert(cell.substr(at + 1, end - at - 1));
      at = end + 1;
    }
  }
  return names;
}

TEST(Families, TheTableIsTrue) {
  Names simulated, refused;
  for (const Family &family : kFamilies)
    (is_simulated(family) ? simulated : refused)[family.chapter].insert(family.name);
  EXPECT_EQ(documented(2), simulated);
  EXPECT_EQ(documented(3), refused);
}

// An example with something left out, doubled or exchanged.
std::vector<std::string> mutations(const std::string &example) {
  std::vector<std::string> texts;
  const auto edit = [&](size_t at, size_t length, const std::string &with) {
    texts.push_back(example.substr(0, at) + with + example.substr(at + length));
  };
  for (size_t i = 0; i < example.size(); ++i) {
    const size_t end = std::min(example.find_first_of(".,;[]{}| ", i + 1), example.size());
    if (example[i] == '.') edit(i, end - i, "");        // a modifier, a part
    if (example[i] == ',') edit(i, end - i, "");        // an operand
    if (example[i] == ',') edit(i, 0, ", 0x7fffffff");  // one more
    if (example[i] == '%') edit(i, end - i, "-3");      // a register
    if (example[i] == '%') edit(i, end - i, "%q3");     // and for one of another width
    if (example[i] == '[')
      edit(i, 1, "[%r7+9999, %q2+"),  // an address
          edit(i, 1, "");
    if (std::isdigit(static_cast<unsigned char>(example[i]))) edit(i, 1, "9");
  }
  return texts;
}

// Whatever is wrong with an instruction, loading it fails or it runs to its end or a fault.
TEST(Families, WrongFormsEnd) {
  size_t loaded = 0, refused = 0;
  for (const Family &family : kFamilies)
    for (const std::string &text : mutations(family.example)) {
      auto machine = Machine::create(test_config(1));
      Result<std::shared_ptr<Module>> module =
          machine->load(kernel_of({family.chapter, family.name, text.c_str()}));
      ++(module ? loaded : refused);
      if (module) launch(*machine, *module, "k", {1, 1, 1}, {32, 1, 1}, Parameters());
    }
  EXPECT_GT(loaded, 100u);
  EXPECT_GT(refused, 100u);
}

// What is refused says so, with kernel and line, when it is executed and not before.
TEST(Families, RefusedByName) {
  for (const Family &family : kFamilies) {
    if (is_simulated(family)) continue;
    auto machine = Machine::create(test_config(1));
    auto module = load_or_fail(*machine, kernel_of(family));
    ASSERT_TRUE(module) << family.example;
    const Outcome out = launch(*machine, module, "k", {1, 1, 1}, {1, 1, 1}, Parameters());
    const std::string text = family.example;
    EXPECT_EQ(out.fault.kind, Fault::not_simulated) << text;
    EXPECT_EQ(out.error, "kernel k, block (0,0,0), thread (0,0,0), ptx:8: not simulated: " +
                             text.substr(0, text.find_first_of(" ;")));
  }
}

}  // namespace
}  // namespace egpu::sim
