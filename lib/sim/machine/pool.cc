#include "lib/sim/machine/pool.h"

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

namespace egpu::sim {
namespace {

struct Task {
  const std::function<void()> *work = nullptr;
  size_t *left = nullptr;
};

// Never destroyed: the threads may outlive main()'s statics.
struct Pool {
  std::mutex mutex;
  std::condition_variable wake, done;
  std::vector<Task> tasks;
  size_t idle = 0;

  void serve() {
    std::unique_lock lock(mutex);
    for (;;) {
      ++idle;
      wake.wait(lock, [&] { return !tasks.empty(); });
      --idle;
      Task task = tasks.back();
      tasks.pop_back();
      lock.unlock();
      (*task.work)();
      lock.lock();
      if (--*task.left == 0) done.notify_all();
    }
  }
};

Pool &pool() {
  static Pool *the_pool = new Pool;
  return *the_pool;
}
}  // namespace

void run_on_threads(size_t count, const std::function<void()> &work) {
  Pool &p = pool();
  size_t left = count - 1;
  if (left) {
    std::lock_guard lock(p.mutex);
    for (size_t i = 0; i < left; ++i) p.tasks.push_back({&work, &left});
    for (size_t have = p.idle; have < p.tasks.size(); ++have) std::thread([&p] { p.serve(); }).detach();
    p.wake.notify_all();
  }
  work();
  std::unique_lock lock(p.mutex);
  p.done.wait(lock, [&] { return left == 0; });
}

}  // namespace egpu::sim
