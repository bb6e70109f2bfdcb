#include "lib/sim/machine/schedule.h"

namespace egpu::sim {
namespace {
std::string triple(const uint32_t *v) {
  return "(" + std::to_string(v[0]) + "," + std::to_string(v[1]) + "," + std::to_string(v[2]) + ")";
}

void stop_grid(Grid &grid, Fault::Kind kind, std::string message) {
  std::lock_guard lock(grid.mutex);
  if (!grid.has_fault) {
    grid.has_fault = true;
    grid.fault = {kind, std::move(message)};
  }
  grid.stopped = true;
}
}  // namespace

std::string place_of(const Program &program, const Function &function, uint32_t pc) {
  const OpSite &site = function.sites[pc];
  std::string place = "ptx:" + std::to_string(site.line);
  if (site.source_line) {
    std::string file = site.file < program.files.size() ? program.files[site.file] : std::string();
    if (size_t slash = file.rfind('/'); slash != file.npos) file = file.substr(slash + 1);
    place += " (" + file + ":" + std::to_string(site.source_line) + ")";
  }
  return place;
}

void raise(Exec &x, Fault::Kind kind, uint32_t lane, const std::string &cause) {
  Grid &grid = *x.grid;
  const Function &function = *x.frame->function;
  uint32_t tid[3] = {x.warp->tid[0][lane], x.warp->tid[1][lane], x.warp->tid[2][lane]};
  std::string message = "kernel " + grid.function->name + ", block " + triple(x.block->ctaid) + ", thread " +
                        triple(tid) + ", ";
  if (&function != grid.function) message += "function " + function.name + ", ";
  message += place_of(*grid.program, function, x.pc - 1) + ": " + cause;
  stop_grid(grid, kind, std::move(message));
  if (x.path) x.path->pc = x.pc;
  x.stop = true;
}

void raise_block(Block &block, Fault::Kind kind, const std::string &cause) {
  stop_grid(*block.grid, kind,
            "kernel " + block.grid->function->name + ", block " + triple(block.ctaid) + ": " + cause);
}

}  // namespace egpu::sim
