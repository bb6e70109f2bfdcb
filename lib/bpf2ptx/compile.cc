// The pipeline: read -> verify -> decide sharding -> lower -> optimize -> emit.
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

#include "egpu/bpf2ptx.h"
#include "lib/bpf2ptx/emit/body.h"
#include "lib/bpf2ptx/emit/emit.h"
#include "lib/bpf2ptx/lower/lower.h"
#include "lib/bpf2ptx/lower/sharding.h"
#include "lib/bpf2ptx/object/object.h"
#include "lib/bpf2ptx/verify/refusals.h"
#include "lib/bpf2ptx/verify/usage.h"

namespace egpu {
namespace {

Result<Ok> translate(const bpf::Program &program, const bpf::Object &object, const bpf::Facts &facts,
                     const CompileOptions &options, CompiledProgram *out) {
  llvm::LLVMContext context;
  llvm::Module module(program.name, context);
  if (auto done = bpf::lower(program, object, facts, &module); !done) return done;
  if (auto done = bpf::optimize(&module, options.arch, options.opt_level); !done) return done;
  std::string ir = options.emit_llvm ? bpf::print_ir(module) : "";
  TRY(std::string ptx, bpf::emit_ptx(&module, options.arch));
  TRY(bpf::Body body, bpf::make_body(ptx));
  out->body = options.emit_llvm ? std::move(ir) : std::move(body.text);
  out->symbols = std::move(body.symbols);
  out->writes_cookie = body.writes_cookie;
  out->stack_bytes = body.stack_bytes;
  return Ok{};
}

}  // namespace

Result<CompiledObject> compile_object(const std::string &name, const std::vector<uint8_t> &elf,
                                      const CompileOptions &options) {
  if (auto fine = bpf::check_arch(options.arch); !fine) return std::move(fine).error();
  TRY(bpf::Object object, bpf::read_object(name, elf, options.constants));

  // All programs are verified before any is translated: the user sees every cause at once.
  std::vector<bpf::Facts> facts;
  std::vector<bpf::Refusal> refusals, all_refusals;
  bpf::VerifyOptions limits;
  limits.max_insns = options.max_insns;
  limits.explain = options.explain;
  for (const bpf::Program &program : object.programs) {
    auto proved = bpf::verify(program, object, limits, &refusals);
    all_refusals.insert(all_refusals.end(), refusals.begin(), refusals.end());
    if (proved) facts.push_back(*std::move(proved));
  }
  if (!all_refusals.empty()) return bpf::join(std::move(all_refusals));
  bpf::decide_sharding(&object, facts);

  CompiledObject result;
  for (size_t i = 0; i < object.programs.size(); ++i) {
    const bpf::Program &program = object.programs[i];
    CompiledProgram compiled;
    auto done = bpf::guarded([&] { return translate(program, object, facts[i], options, &compiled); });
    if (!done) {
      bool has_line = done.error().message.find(": error: ") != std::string::npos;
      if (has_line) return std::move(done).error();
      return std::move(done).error().in("program '" + program.name + "'").in(name);
    }
    compiled.name = program.name;
    compiled.event = program.event;
    compiled.notes = program.notes;
    compiled.notes.insert(compiled.notes.end(), facts[i].notes.begin(), facts[i].notes.end());
    compiled.insn_count = program.insns.size();
    compiled.cost = facts[i].cost;
    compiled.use = bpf::find_use(program, facts[i]);
    result.programs.push_back(std::move(compiled));
  }
  result.name = object.name;
  result.maps = std::move(object.maps);
  result.btf = std::move(object.btf);
  return result;
}

}  // namespace egpu
