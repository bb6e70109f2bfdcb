// Loads modules, and prepares launches for the workers.
#include <algorithm>
#include <thread>
#include <unordered_map>

#include "lib/sim/machine/lanes.h"
#include "lib/sim/machine/pool.h"
#include "lib/sim/machine/worker.h"

namespace egpu::sim {

Rows host_float_rows();
Rows host_memory_rows();

Handler find_handler(std::string_view key) {
  static const std::unordered_map<std::string_view, Handler> kHandlers = [] {
    std::unordered_map<std::string_view, Handler> all;
    for (Rows rows : {integer_rows(), logic_rows(),   float_rows(),   function_rows(),   half_rows(),
                      compare_rows(), convert_rows(), memory_rows(),  atomic_rows(),     together_rows(),
                      control_rows(), move_rows(),    matrix_rows(),  wmma_rows(),       mbarrier_rows(),
                      video_rows(),   bulk_rows(),    cluster_rows(), host_float_rows(), host_memory_rows()})
      for (size_t i = 0; i < rows.size; ++i) all[rows.begin[i].key] = rows.begin[i].run;
    return all;
  }();
  auto found = kHandlers.find(key);
  return found == kHandlers.end() ? nullptr : found->second;
}

namespace {

class SimulatedMachine : public Machine {
 public:
  explicit SimulatedMachine(const DeviceConfig &config)
      : config_(config), memory_(std::make_shared<Memory>()) {
    if (!config_.host_threads) config_.host_threads = std::max(1u, std::thread::hardware_concurrency());
    config_.sm_count = std::max(config_.sm_count, 1u);
  }

  const DeviceConfig &config() const override { return config_; }
  Memory &memory() override { return *memory_; }
  Steps steps() const override { return {warp_steps_, lane_steps_}; }

  Result<std::shared_ptr<Module>> load(const std::string &ptx) override {
    TRY(std::shared_ptr<Program> program, build_program(ptx, config_, memory_));
    return std::shared_ptr<Module>(std::move(program));
  }

  Result<Ok> run(const Launch &launch, Fault *fault) override {
    Grid grid;
    grid.launch = &launch;
    grid.program = dynamic_cast<const Program *>(launch.module.get());
    if (!grid.program) return Error{"launch without a module"};
    grid.function = grid.program->find_function(launch.kernel);
    if (!grid.function || !grid.function->is_entry) return Error{launch.kernel + ": no such kernel"};
    const KernelInfo &info = grid.function->info;
    if (launch.parameters.size() < info.parameter_bytes)
      return Error{launch.kernel + ": " + std::to_string(launch.parameters.size()) +
                   " bytes of parameters, not " + std::to_string(info.parameter_bytes)};
    uint64_t threads = 1, block_count = 1;
    for (int i = 0; i < 3; ++i) {
      if (!launch.grid[i] || !launch.block[i] || launch.block[i] > 1024)
        return Error{launch.kernel + ": bad grid or block size"};
      threads *= launch.block[i];
      block_count *= launch.grid[i];
    }
    if (threads > info.max_threads_per_block || threads > 1024)
      return Error{launch.kernel + ": " + std::to_string(threads) + " threads in a block, at most " +
                   std::to_string(info.max_threads_per_block)};
    uint32_t static_shared = (info.static_shared_bytes + 127) / 128 * 128;
    if (uint64_t{info.static_shared_bytes} + launch.dynamic_shared_bytes > config_.max_shared_bytes)
      return Error{launch.kernel + ": too much shared memory"};
    grid.config = &config_;
    grid.memory = memory_.get();
    grid.trace = launch.trace ? launch.trace : config_.trace.get();
    grid.id = ++next_grid_;
    grid.parameters.assign((launch.parameters.size() + 7) / 8 + 1, 0);
    std::copy(launch.parameters.begin(), launch.parameters.end(),
              reinterpret_cast<uint8_t *>(grid.parameters.data()));
    grid.parameter_bytes = info.parameter_bytes;
    grid.dynamic_shared_bytes = launch.dynamic_shared_bytes;
    grid.shared_bytes = (launch.dynamic_shared_bytes ? static_shared : info.static_shared_bytes) +
                        launch.dynamic_shared_bytes;
    grid.threads = static_cast<uint32_t>(threads);
    grid.warps = (grid.threads + 31) / 32;
    grid.local_stride = (info.local_bytes + 15) & ~15u;
    TRY(uint64_t cluster_blocks, set_cluster(launch, info, grid));
    grid.cluster_count = block_count / cluster_blocks;
    if (launch.cooperative) {
      grid.workspace = memory_->allocate(256);
      if (!grid.workspace) return Error{launch.kernel + ": out of memory"};
      std::memset(reinterpret_cast<void *>(grid.workspace), 0, 256);
    }
    size_t count = static_cast<size_t>(std::min<uint64_t>(config_.host_threads, grid.cluster_count));
    // A small grid is not worth waking threads for.
    if (block_count * threads <= 256 && !launch.cooperative) count = 1;
    run_on_threads(count, [&] {
      std::unique_ptr<Worker> worker = take_worker();
      run_grid(*worker, grid);
      if (!grid.stopped) give_worker(std::move(worker));
    });
    if (grid.workspace) memory_->free(grid.workspace);
    warp_steps_ += grid.warp_steps;
    lane_steps_ += grid.lane_steps;
    if (grid.has_fault) {
      if (fault) *fault = grid.fault;
      return Error{grid.fault.message};
    }
    return Ok{};
  }

 private:
  // Blocks of a cluster, all together.
  static Result<uint64_t> set_cluster(const Launch &launch, const KernelInfo &info, Grid &grid) {
    bool asked = launch.cluster[0] != 0, fixed = info.cluster[0] != 0;
    if (asked && fixed && launch.cluster != info.cluster)
      return Error{launch.kernel + ": the cluster's size is fixed by the kernel"};
    grid.explicit_cluster = asked || fixed;
    if (!grid.explicit_cluster) return uint64_t{1};
    uint64_t blocks = 1;
    for (size_t i = 0; i < 3; ++i) {
      grid.cluster[i] = asked ? launch.cluster[i] : info.cluster[i];
      if (!grid.cluster[i] || launch.grid[i] % grid.cluster[i])
        return Error{launch.kernel + ": the grid is no multiple of the cluster"};
      blocks *= grid.cluster[i];
    }
    if (blocks > kMaxClusterBlocks) return Error{launch.kernel + ": the cluster is too large"};
    return blocks;
  }
  std::unique_ptr<Worker> take_worker() {
    std::lock_guard lock(mutex_);
    if (workers_.empty()) return std::make_unique<Worker>();
    std::unique_ptr<Worker> worker = std::move(workers_.back());
    workers_.pop_back();
    return worker;
  }
  void give_worker(std::unique_ptr<Worker> worker) {
    std::lock_guard lock(mutex_);
    workers_.push_back(std::move(worker));
  }

  DeviceConfig config_;
  std::shared_ptr<Memory> memory_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::atomic<uint64_t> next_grid_{0}, warp_steps_{0}, lane_steps_{0};
};
}  // namespace

std::unique_ptr<Machine> Machine::create(const DeviceConfig &config) {
  return std::make_unique<SimulatedMachine>(config);
}

}  // namespace egpu::sim
