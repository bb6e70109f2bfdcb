#include "lib/bpf2ptx/verify/claims.h"
#include "lib/bpf2ptx/verify/convergence.h"
#include "lib/bpf2ptx/verify/explore.h"
#include "lib/bpf2ptx/verify/frames.h"
#include "lib/bpf2ptx/verify/notes.h"
#include "lib/bpf2ptx/verify/refusals.h"
#include "lib/bpf2ptx/verify/uniformity.h"

namespace egpu::bpf {
namespace {

// An Error is the one reason why the program cannot be explored, or what was explored not be used;
// what the paths must not do is in *refusals.
Result<Facts> prove(const Program &program, const Object &object, const VerifyOptions &options,
                    Claims *claims, std::vector<Refusal> *refusals) {
  Messages messages(program);
  TRY(Structure structure, check_structure(program, object, messages));
  if (auto e = check_calls(program, structure, messages)) return *e;
  Collector collector(program, structure, messages);
  Transfer transfer(program, object, messages, collector);
  if (claims) claims->before.resize(program.insns.size());
  Explorer explorer(program, structure, options, messages, transfer, collector, claims);
  TRY(Cost cost, explorer.explore());
  *refusals = explorer.refusals();
  if (!refusals->empty()) return Facts{};
  Facts facts = collector.finish(cost);
  if (auto e = check_stack_depth(structure, facts, messages)) return *e;
  facts.uniformity = find_uniformity(program, object, facts);
  *refusals = find_partings(program, facts, messages);
  std::vector<Note> notes = find_notes(program, object, facts);
  for (Note &note : collector.notes()) notes.push_back(std::move(note));
  facts.notes = messages.in_order(std::move(notes));
  return facts;
}

Result<Facts> verify(const Program &program, const Object &object, const VerifyOptions &options,
                     Claims *claims, std::vector<Refusal> *refusals) {
  refusals->clear();
  auto facts = prove(program, object, options, claims, refusals);
  if (!facts) {
    SourceLine start = program.insns.empty() ? SourceLine{} : Messages(program).source(0);
    *refusals = {{start, 0, facts.error().message}};
  }
  if (!refusals->empty()) return join(*refusals);
  return facts;
}

}  // namespace

Result<Facts> verify_with_claims(const Program &program, const Object &object, const VerifyOptions &options,
                                 Claims *claims) {
  std::vector<Refusal> refusals;
  return verify(program, object, options, claims, &refusals);
}

Result<Facts> verify(const Program &program, const Object &object, const VerifyOptions &options,
                     std::vector<Refusal> *refusals) {
  std::vector<Refusal> unused;
  return verify(program, object, options, nullptr, refusals ? refusals : &unused);
}

}  // namespace egpu::bpf
