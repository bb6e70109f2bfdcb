#include "tests/bpf2ptx-diff/workers.h"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "lib/bpf2ptx/insn/format.h"

namespace egpu::bpf::run {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds kProgressPeriod{5};

// What a worker writes: that it begins with a batch (done is empty), or has done one. Shorter than
// PIPE_BUF, so that it arrives whole.
struct Message {
  unsigned worker;
  bool begins;
  Seeds batch;
  Tally done;
};

void print_error(const std::string &text) { std::fprintf(stderr, "bpf-check: error: %s\n", text.c_str()); }

[[noreturn]] void be_worker(unsigned number, int pipe, Seeds seeds, uint64_t batch, unsigned workers,
                            const std::function<Result<Work>()> &open) {
  auto send = [&](const Message &message) {
    if (write(pipe, &message, sizeof message) != sizeof message) _exit(1);
  };
  auto work = open();
  if (!work) {
    print_error(work.error().message);
    _exit(1);
  }
  for (uint64_t at = number * batch; at < seeds.count; at += workers * batch) {
    Seeds mine{seeds.first + at, std::min(batch, seeds.count - at)};
    send({number, true, mine, {}});
    auto tally = (*work)(mine);
    if (!tally) {
      print_error(tally.error().message);
      _exit(1);
    }
    send({number, false, mine, *tally});
  }
  _exit(0);
}

class Progress {
 public:
  explicit Progress(uint64_t programs) : programs_(programs) {}

  void show(uint64_t done, bool last) {
    auto now = Clock::now();
    if (!last && now < next_) return;
    next_ = now + kProgressPeriod;
    double seconds = std::chrono::duration<double>(now - begin_).count();
    double per_second = static_cast<double>(done) / std::max(seconds, 1e-3);
    double left = per_second > 0 ? static_cast<double>(programs_ - done) / per_second : 0;
    std::fprintf(stderr, "%llu of %llu programs, %.0f/s, %.0f s, %.0f s left\n",
                 static_cast<unsigned long long>(done), static_cast<unsigned long long>(programs_),
                 per_second, seconds, left);
  }

 private:
  uint64_t programs_;
  Clock::time_point begin_ = Clock::now(), next_ = begin_ + kProgressPeriod;
};

// Until all workers have closed the pipe.
Tally gather(int pipe, uint64_t programs, std::vector<Seeds> *current) {
  Tally sum;
  Progress progress(programs);
  for (;;) {
    pollfd ready{pipe, POLLIN, 0};
    if (poll(&ready, 1, 1000) > 0) {
      Message message;
      if (read(pipe, &message, sizeof message) != sizeof message) break;
      (*current)[message.worker] = message.begins ? message.batch : Seeds{0, 0};
      sum.programs += message.done.programs;
      sum.compared += message.done.compared;
      sum.insns += message.done.insns;
    }
    progress.show(sum.programs, false);
  }
  progress.show(sum.programs, true);
  return sum;
}

}  // namespace

Result<Tally> share_out(Seeds seeds, uint64_t batch, unsigned workers,
                        const std::function<Result<Work>()> &open) {
  int pipe_ends[2];
  if (pipe(pipe_ends) != 0) return Error{"no pipe"};
  std::vector<pid_t> pids;
  for (unsigned w = 0; w < workers; ++w) {
    pid_t pid = fork();
    if (pid < 0) return Error{"no process"};
    if (pid == 0) {
      close(pipe_ends[0]);
      be_worker(w, pipe_ends[1], seeds, batch, workers, open);
    }
    pids.push_back(pid);
  }
  close(pipe_ends[1]);
  std::vector<Seeds> current(workers, Seeds{0, 0});
  Tally sum = gather(pipe_ends[0], seeds.count, &current);
  close(pipe_ends[0]);
  unsigned failed = 0;
  for (unsigned w = 0; w < workers; ++w) {
    int status = 0;
    waitpid(pids[w], &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) continue;
    ++failed;
    if (WIFSIGNALED(status))
      print_error(format("signal {} in seeds {} to {}", WTERMSIG(status), current[w].first,
                         current[w].first + current[w].count - 1));
  }
  if (failed) return Error{format("{} of {} workers failed", failed, workers)};
  return sum;
}

}  // namespace egpu::bpf::run
