#include "tests/tools/machines.h"

namespace egpu::bpf::run {

Result<Machine> machine_named(const std::string &name) {
  if (name == "cpu") return Machine{name, [](const Batch &programs) { return run_on_cpu(programs); }};
  if (name == "sim")  // a fresh one each time: its blocks go with it
    return Machine{name, [](const Batch &programs) -> Result<std::vector<Outcome>> {
                     TRY(auto device, simulated_device());
                     return run_on_device(programs, device.get());
                   }};
  if (name != "cuda") return Error{"interp, cpu, sim or cuda, not '" + name + "'"};
  TRY(auto opened, cuda_device());
  std::shared_ptr<Device> device = std::move(opened);
  return Machine{name, [device](const Batch &programs) { return run_on_device(programs, device.get()); }};
}

}  // namespace egpu::bpf::run
