#include "lib/bpf2ptx/verify/claims.h"
#include "lib/bpf2ptx/verify/convergence.h"
#include "lib/bpf2ptx/verify/explore.h"
#include "lib/bpf2ptx/verify/frames.h"
#include "lib/bpf2ptx/verify/notes.h"
#include "lib/bpf2ptx/verify/refusals.h"
#include "lib/bpf2ptx/verify/uniformity.h"

namespace egpu::bpf {
namespace {

struct Walked {
  Facts facts;  // if nothing is refused
  std::vector<Note> notes;
  std::vector<Refusal> refusals;
};

// Walks all paths, again if a walk has found branches that it had taken to go both ways whatever numbers are.
// If that takes too much: as Linux does, without comparing a number with its copies.
Result<Walked> walk(const Program &program, const Object &object, const Structure &structure,
                    const VerifyOptions &options, const Messages &messages, Claims *claims) {
  const std::chrono::nanoseconds start = processor_time();
  const std::chrono::milliseconds limit(options.time_limit_ms);
  Walks walks{std::vector<bool>(program.insns.size()), true, start + limit / 2};
  for (;;) {
    Collector collector(program, structure, messages);
    Transfer transfer(program, object, messages, collector);
    if (claims) claims->before.assign(program.insns.size(), {});
    Explorer explorer(program, structure, options, messages, transfer, collector, claims, &walks);
    TRY(Cost cost, explorer.explore());
    if (explorer.again()) continue;
    if (explorer.gave_up() && walks.copies_are_equal) {
      walks = {std::vector<bool>(program.insns.size()), false, start + limit};
      continue;
    }
    Walked walked;
    walked.refusals = explorer.refusals();
    if (walked.refusals.empty()) walked.facts = collector.finish(cost);
    walked.notes = collector.notes();
    return walked;
  }
}

// An Error is the one reason why the program cannot be explored, or what was explored not be used;
// what the paths must not do is in *refusals.
Result<Facts> prove(const Program &program, const Object &object, const VerifyOptions &options,
                    Claims *claims, std::vector<Refusal> *refusals) {
  Messages messages(program);
  TRY(Structure structure, check_structure(program, object, messages));
  if (auto e = check_calls(program, structure, messages)) return *e;
  TRY(Walked walked, walk(program, object, structure, options, messages, claims));
  *refusals = std::move(walked.refusals);
  if (!refusals->empty()) return Facts{};
  Facts facts = std::move(walked.facts);
  if (auto e = check_stack_depth(structure, facts, messages)) return *e;
  facts.uniformity = find_uniformity(program, object, facts);
  *refusals = find_partings(program, facts, messages);
  std::vector<Note> notes = find_notes(program, object, facts);
  for (Note &note : walked.notes) notes.push_back(std::move(note));
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
