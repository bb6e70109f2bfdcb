// Host threads that are kept between launches. A launch that does not end keeps its threads, so
// the pool grows when none is idle: other launches never wait for it.
#pragma once
#include <cstddef>
#include <functional>

namespace egpu::sim {

/// Runs `work` on `count` threads, the calling one among them; returns when all are done.
void run_on_threads(size_t count, const std::function<void()> &work);

}  // namespace egpu::sim
