// How long verifying and translating a program takes (issue 3: 60 instructions in 6 ms, 1,000 in 60).
//
// The programs are what probes are made of, repeated: fields of the context, arithmetic, branches,
// a counter in global data, every so often a hash lookup with its check for NULL.
#include <benchmark/benchmark.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

#include "lib/bpf2ptx/emit/body.h"
#include "lib/bpf2ptx/emit/emit.h"
#include "lib/bpf2ptx/insn/assemble.h"
#include "lib/bpf2ptx/insn/format.h"
#include "lib/bpf2ptx/lower/lower.h"
#include "tests/tools/job.h"

namespace egpu::bpf::run {
namespace {

Object maps() {
  Object object;
  MapSpec counts;
  counts.name = "counts";
  counts.shape = {map::Type::hash, 4, 8, 1024};
  MapSpec globals;
  globals.name = "globals";
  globals.shape = {map::Type::array, 4, 64, 1};
  object.maps = {counts, globals};
  return object;
}

std::string block(int n, bool lookup) {
  std::string text = format("r1 = *(u32 *)(r6 +{})\n", 4 * (n % 16)) +
                     format("r2 = *(u64 *)(r6 +{})\n", 80 + 8 * (n % 12)) +
                     format("r2 >>= {}\nr1 ^= r2\nr7 += r1\n", 1 + n % 9) +
                     format("r3 = r1\nr3 &= 7\nif r3 > {} goto skip{}\nr7 *= 31\n", n % 7, n) +
                     format("r4 = map[globals][0]+{}\nlock *(u64 *)(r4 +0) += r1\nskip{}:\n", 8 * (n % 8), n);
  if (lookup)
    text += format(
        "*(u32 *)(r10 -4) = r7\nr2 = r10\nr2 += -4\nr1 = map[counts]\ncall 1\nif r0 == 0 goto miss{}\n"
        "r1 = 1\nlock *(u64 *)(r0 +0) += r1\nmiss{}:\n",
        n, n);
  return text;
}

// Of about `count` instructions; one block in `spacing` looks up.
Result<Program> program_of(size_t count, int spacing) {
  std::string text = "r6 = r1\nr7 = 0\n";
  Result<Assembly> assembly = Error{"empty"};
  for (int n = 0;; ++n) {
    text += block(n, n % spacing == 0);
    assembly = assemble(text + "r4 = map[globals][0]+0\nlock *(u64 *)(r4 +0) += r7\nr0 = 0\nexit\n",
                        {"counts", "globals"});
    if (!assembly) return std::move(assembly).error();
    if (assembly->insns.size() >= count) break;
  }
  return program_of_insns(assembly->insns);
}

Result<size_t> translate(const Program &program, const Object &object) {
  TRY(Facts facts, verify(program, object));
  llvm::LLVMContext context;
  llvm::Module module("bench", context);
  if (auto done = lower(program, object, facts, &module); !done) return std::move(done).error();
  if (auto done = optimize(&module, "sm_90", 2); !done) return std::move(done).error();
  TRY(std::string ptx, emit_ptx(&module, "sm_90"));
  TRY(Body body, make_body(ptx));
  return body.text.size();
}

template <class Work>
void measure(benchmark::State &state, Work work) {
  Object object = maps();
  auto program = program_of(static_cast<size_t>(state.range(0)), static_cast<int>(state.range(1)));
  if (!program) return state.SkipWithError(program.error().message.c_str());
  for (auto _ : state)
    if (auto done = work(*program, object); !done) return state.SkipWithError(done.error().message.c_str());
  state.counters["insns"] = static_cast<double>(program->insns.size());
}

void verify_only(benchmark::State &state) {
  measure(state, [](const Program &p, const Object &o) { return verify(p, o); });
}
void verify_and_translate(benchmark::State &state) { measure(state, translate); }

// {instructions, blocks for each lookup}
BENCHMARK(verify_only)
    ->Args({60, 100})
    ->Args({60, 4})
    ->Args({1000, 20})
    ->Args({1000, 4})
    ->Unit(benchmark::kMillisecond);
BENCHMARK(verify_and_translate)
    ->Args({60, 100})
    ->Args({60, 4})
    ->Args({1000, 20})
    ->Args({1000, 4})
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace egpu::bpf::run

BENCHMARK_MAIN();
