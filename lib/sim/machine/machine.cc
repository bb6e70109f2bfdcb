// Loads modules, and runs grids: blocks are handed to workers in order, one host thread each.
#include <algorithm>
#include <cstdio>
#include <thread>
#include <unordered_map>

#include "lib/sim/machine/lanes.h"
#include "lib/sim/machine/pool.h"

namespace egpu::sim {

Rows host_float_rows();

Handler find_handler(std::string_view key) {
  static const std::unordered_map<std::string_view, Handler> kHandlers = [] {
    std::unordered_map<std::string_view, Handler> all;
    for (Rows rows :
         {integer_rows(), logic_rows(), float_rows(), half_rows(), compare_rows(), convert_rows(),
          memory_rows(), atomic_rows(), together_rows(), control_rows(), move_rows(), host_float_rows()})
      for (size_t i = 0; i < rows.size; ++i) all[rows.begin[i].key] = rows.begin[i].run;
    return all;
  }();
  auto found = kHandlers.find(key);
  return found == kHandlers.end() ? nullptr : found->second;
}

namespace {

// Steps after which a block that has not ended gets company, and those that a resident block
// gets in turn.
constexpr uint64_t kPatience = 1u << 19, kTurn = 1u << 14;
constexpr size_t kMaxResident = 64;

struct Worker {
  Exec exec;
  std::vector<std::unique_ptr<Block>> blocks;  // free ones

  // Runs blocks of the grid until there are none left.
  void run(Grid &grid) {
    std::vector<std::unique_ptr<Block>> resident;
    size_t limit = grid.launch->cooperative ? SIZE_MAX : 1;
    uint64_t patience = 0;
    exec.generation = 0;
    exec.warp_steps = exec.lane_steps = 0;
    while (!grid.stopped) {
      while (resident.size() < limit) {
        uint64_t next = grid.next_block.load();
        while (next < grid.block_count && !grid.next_block.compare_exchange_weak(next, next + 1)) {
        }
        if (next >= grid.block_count) break;
        std::unique_ptr<Block> block;
        if (blocks.empty()) {
          block = std::make_unique<Block>();
        } else {
          block = std::move(blocks.back());
          blocks.pop_back();
        }
        start_block(exec, *block, grid, next);
        resident.push_back(std::move(block));
      }
      if (resident.empty()) break;
      uint64_t before = exec.warp_steps;
      for (size_t i = 0; i < resident.size() && !grid.stopped;) {
        bool alone = resident.size() == 1 && limit == 1;
        if (!run_block(exec, *resident[i], alone ? kPatience : kTurn))
          raise_block(*resident[i], Fault::deadlock, describe_wait(*resident[i]));
        if (resident[i]->finished()) {
          blocks.push_back(std::move(resident[i]));
          resident.erase(resident.begin() + static_cast<ptrdiff_t>(i));
          patience = 0;
        } else {
          ++i;
        }
      }
      patience += exec.warp_steps - before;
      if (patience >= (limit == 1 ? kPatience : kTurn * limit * 4) && limit < kMaxResident) {
        ++limit;
        patience = 0;
      } else if (resident.empty() && limit != SIZE_MAX) {
        limit = 1;
      }
    }
    grid.warp_steps += exec.warp_steps;
    grid.lane_steps += exec.lane_steps;
  }

  // Who waits where, of a block in which nobody can run.
  static std::string describe_wait(const Block &block) {
    std::string text = "deadlock:";
    for (auto &warp : block.warps)
      for (const Path *path : warp->paths) {
        char lanes[16];
        std::snprintf(lanes, sizeof lanes, "0x%08x", path->mask);
        if (text.size() > 400) return text + " ...";
        text += " warp " + std::to_string(warp->index) + " lanes " + lanes + " at " +
                place_of(*block.grid->program, *path->frame->function, path->pc ? path->pc - 1 : 0) + " " +
                std::string(path->frame->function->sites[path->pc ? path->pc - 1 : 0].text) + ";";
      }
    return text;
  }
};

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
    std::memcpy(grid.parameters.data(), launch.parameters.data(), launch.parameters.size());
    grid.parameter_bytes = info.parameter_bytes;
    grid.dynamic_shared_bytes = launch.dynamic_shared_bytes;
    grid.shared_bytes = (launch.dynamic_shared_bytes ? static_shared : info.static_shared_bytes) +
                        launch.dynamic_shared_bytes;
    grid.threads = static_cast<uint32_t>(threads);
    grid.warps = (grid.threads + 31) / 32;
    grid.local_stride = (info.local_bytes + 15) & ~15u;
    grid.block_count = block_count;
    if (launch.cooperative) {
      grid.workspace = memory_->allocate(256);
      if (!grid.workspace) return Error{launch.kernel + ": out of memory"};
      std::memset(reinterpret_cast<void *>(grid.workspace), 0, 256);
    }
    size_t count = static_cast<size_t>(std::min<uint64_t>(config_.host_threads, block_count));
    // A small grid is not worth waking threads for.
    if (block_count * threads <= 256 && !launch.cooperative) count = 1;
    run_on_threads(count, [&] {
      std::unique_ptr<Worker> worker = take_worker();
      worker->run(grid);
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
