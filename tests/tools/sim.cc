#include <cstring>

#include "lib/sim/machine/machine.h"
#include "tests/tools/machines.h"

namespace egpu::bpf::run {
namespace {

class SimulatedDevice : public Device {
 public:
  SimulatedDevice() {
    sim::DeviceConfig config;
    config.host_threads = 1;
    machine_ = sim::Machine::create(config);
  }

  Result<uint64_t> allocate(uint64_t size_bytes) override {
    uint64_t address = machine_->memory().allocate(size_bytes);
    if (address == 0) return Error{"the simulated GPU is out of memory"};
    std::memset(reinterpret_cast<void *>(address), 0, size_bytes);
    blocks_.push_back(address);
    return address;
  }
  Result<Ok> write(uint64_t address, const void *data, uint64_t size_bytes) override {
    std::memcpy(reinterpret_cast<void *>(address), data, size_bytes);
    return Ok{};
  }
  Result<Ok> read(uint64_t address, void *data, uint64_t size_bytes) override {
    std::memcpy(data, reinterpret_cast<const void *>(address), size_bytes);
    return Ok{};
  }
  Result<Ok> launch(const std::string &ptx, uint32_t blocks, uint64_t parameter) override {
    TRY(auto module, machine_->load(ptx));
    sim::Launch launch;
    launch.module = module;
    launch.kernel = "batch";
    launch.grid = {blocks, 1, 1};
    launch.parameters.resize(8);
    std::memcpy(launch.parameters.data(), &parameter, 8);
    sim::Fault fault{};
    auto done = machine_->run(launch, &fault);
    if (!done) return Error{done.error().message.empty() ? fault.message : done.error().message};
    return Ok{};
  }
  std::string arch() const override { return "sm_90"; }

 private:
  std::unique_ptr<sim::Machine> machine_;
  std::vector<uint64_t> blocks_;
};

}  // namespace

Result<std::unique_ptr<Device>> simulated_device() {
  return std::unique_ptr<Device>(std::make_unique<SimulatedDevice>());
}

}  // namespace egpu::bpf::run
