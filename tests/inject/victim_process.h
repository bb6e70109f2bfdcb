// Runs the victim program for a test.
#pragma once
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <vector>

#include "tests/inject/victim.h"

class Victim {
 public:
  enum class Wait { until_at_work, not_at_all };
  explicit Victim(std::vector<std::string> kinds, Wait wait = Wait::until_at_work)
      : kinds_(std::move(kinds)) {
    int fd = ::mkstemp(name_);
    EXPECT_EQ(::ftruncate(fd, sizeof(Shared)), 0);
    shared_ =
        static_cast<Shared *>(::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
    ::close(fd);
    pid_ = ::fork();
    if (pid_ == 0) {
      std::vector<char *> arguments = {const_cast<char *>(EGPU_VICTIM), name_};
      for (auto &kind : kinds_) arguments.push_back(kind.data());
      arguments.push_back(nullptr);
      ::execv(EGPU_VICTIM, arguments.data());
      ::_exit(127);
    }
    for (int i = 0; wait == Wait::until_at_work && i < 5000 && !is_at_work(); ++i) ::usleep(1000);
  }
  ~Victim() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    ::munmap(shared_, sizeof(Shared));
    ::unlink(name_);
  }

  pid_t pid() const { return pid_; }
  Shared &shared() { return *shared_; }

  // Lives, found nothing wrong, and every thread makes progress from now on.
  testing::AssertionResult is_well() {
    Shared before;
    std::memcpy(&before, shared_, sizeof(before));
    for (int i = 0; i < 5000; ++i) {
      int status;
      if (::waitpid(pid_, &status, WNOHANG) != 0)
        return testing::AssertionFailure()
               << "victim ended with status " << status << ": " << shared_->failure;
      const Kind *stuck = nullptr;
      static Kind kind;
      for (auto &name : kinds_) {
        kind = kind_of(name);
        if (kind != kPoll && progress(kind) < before.progress[kind] + 2) stuck = &kind;
      }
      if (stuck == nullptr) return testing::AssertionSuccess();
      ::usleep(1000);
    }
    for (auto &name : kinds_)
      if (kind_of(name) != kPoll && progress(kind_of(name)) < before.progress[kind_of(name)] + 2)
        return testing::AssertionFailure() << "thread '" << name << "' makes no progress";
    return testing::AssertionSuccess();
  }

  uint64_t progress(Kind kind) const { return __atomic_load_n(&shared_->progress[kind], __ATOMIC_SEQ_CST); }

 private:
  static Kind kind_of(const std::string &name) {
    for (int i = 0; i < kKinds; ++i)
      if (name == kKindNames[i]) return static_cast<Kind>(i);
    return kKinds;
  }
  // All threads do what they do, those that feed them too: a second round takes both. Poll never
  // makes progress.
  bool is_at_work() const {
    if (__atomic_load_n(&shared_->started, __ATOMIC_SEQ_CST) == 0) return false;
    for (auto &name : kinds_)
      if (kind_of(name) != kPoll && progress(kind_of(name)) < 2) return false;
    return true;
  }

  char name_[26] = "/tmp/egpu-victim-XXXXXX";
  std::vector<std::string> kinds_;
  pid_t pid_;
  Shared *shared_;
};

// All but the slow one.
inline std::vector<std::string> all_kinds() { return {std::begin(kKindNames), std::end(kKindNames) - 1}; }
