#include "lib/bpf2ptx/verify/claims.h"
#include "lib/bpf2ptx/verify/explore.h"
#include "lib/bpf2ptx/verify/frames.h"

namespace egpu::bpf {

Result<Facts> verify_with_claims(const Program &program, const Object &object, const VerifyOptions &options,
                                 Claims *claims) {
  Messages messages(program);
  TRY(Structure structure, check_structure(program, object, messages));
  if (auto e = check_calls(program, structure, messages)) return *e;
  Collector collector(program, messages);
  Transfer transfer(program, object, messages, collector);
  if (claims) claims->before.resize(program.insns.size());
  Explorer explorer(program, structure, options, messages, transfer, collector, claims);
  TRY(Cost cost, explorer.explore());
  Facts facts = collector.finish(cost);
  if (auto e = check_stack_depth(program, structure, facts, messages)) return *e;
  return facts;
}

Result<Facts> verify(const Program &program, const Object &object, const VerifyOptions &options) {
  return verify_with_claims(program, object, options, nullptr);
}

}  // namespace egpu::bpf
