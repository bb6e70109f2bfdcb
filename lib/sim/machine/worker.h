// What one host thread runs a grid's clusters with.
#pragma once
#include <memory>
#include <vector>

#include "lib/sim/machine/exec.h"

namespace egpu::sim {

struct Worker {
  Exec exec;
  std::vector<std::unique_ptr<Cluster>> clusters;  // free ones
};

/// Runs clusters of the grid, in their order, until there are none left or the grid is stopped.
void run_grid(Worker &worker, Grid &grid);

}  // namespace egpu::sim
