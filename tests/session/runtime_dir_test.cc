#include "lib/loader/session/runtime_dir.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "lib/loader/session/control.h"
#include "tests/session/scratch_dir.h"

using namespace egpu::session;

namespace {

int mode_of(const std::string &path) {
  struct stat st;
  return ::lstat(path.c_str(), &st) == 0 ? static_cast<int>(st.st_mode & 07777) : -1;
}

// A pid that no process has: a child that was waited for.
pid_t dead_pid() {
  pid_t pid = ::fork();
  if (pid == 0) ::_exit(0);
  ::waitpid(pid, nullptr, 0);
  return pid;
}

TEST(RuntimeDir, IsMadePrivate) {
  ScratchDir scratch;
  ::umask(0);
  auto dir = runtime_dir();
  ASSERT_TRUE(dir) << dir.error().message;
  EXPECT_EQ(*dir, scratch.runtime);
  EXPECT_EQ(mode_of(*dir), 0700);
  auto process = process_dir(1234);
  ASSERT_TRUE(process) << process.error().message;
  EXPECT_EQ(*process, scratch.runtime + "/1234");
  EXPECT_EQ(mode_of(*process), 0700);
  EXPECT_TRUE(runtime_dir());  // a second time: it is there
  ::umask(022);
}

TEST(RuntimeDir, DefaultIsInDevShm) {
  ::unsetenv("EGPU_RUNTIME_DIR");
  auto dir = runtime_dir();
  ASSERT_TRUE(dir) << dir.error().message;
  EXPECT_EQ(*dir, "/dev/shm/egpu-" + std::to_string(::geteuid()));
}

TEST(RuntimeDir, RefusesWhatOthersCanWrite) {
  ScratchDir scratch;
  ::mkdir(scratch.runtime.c_str(), 0700);
  ::chmod(scratch.runtime.c_str(), 0750);
  auto dir = runtime_dir();
  ASSERT_FALSE(dir);
  EXPECT_NE(dir.error().message.find("is open to other users"), std::string::npos) << dir.error().message;
}

TEST(RuntimeDir, RefusesLinks) {
  ScratchDir scratch;
  ::mkdir((scratch.path + "/real").c_str(), 0700);
  ASSERT_EQ(::symlink((scratch.path + "/real").c_str(), scratch.runtime.c_str()), 0);
  auto dir = runtime_dir();
  ASSERT_FALSE(dir);
  EXPECT_NE(dir.error().message.find("is a symbolic link"), std::string::npos) << dir.error().message;
}

TEST(RuntimeDir, RefusesFilesOthersDirsAndRelativePaths) {
  ScratchDir scratch;
  std::ofstream(scratch.runtime) << "x";
  EXPECT_FALSE(runtime_dir());
  ::setenv("EGPU_RUNTIME_DIR", "run", 1);
  auto dir = runtime_dir();
  ASSERT_FALSE(dir);
  EXPECT_EQ(dir.error().message, "EGPU_RUNTIME_DIR: not an absolute path: 'run'");
  ::setenv("EGPU_RUNTIME_DIR", scratch.runtime.c_str(), 1);
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to make a directory of another user";
  ::unlink(scratch.runtime.c_str());
  ::mkdir(scratch.runtime.c_str(), 0700);
  ASSERT_EQ(::chown(scratch.runtime.c_str(), 12345, 12345), 0);
  dir = runtime_dir();
  ASSERT_FALSE(dir);
  EXPECT_NE(dir.error().message.find("belongs to user 12345"), std::string::npos) << dir.error().message;
}

TEST(RuntimeDir, ListsLiveSessionsAndRemovesWhatIsLeft) {
  ScratchDir scratch;
  auto live = ControlServer::open(::getpid());
  ASSERT_TRUE(live) << live.error().message;
  // A session whose egpu-load was killed: its socket is there, nobody listens. (Its target lives.)
  pid_t load = ::fork();
  if (load == 0) {
    auto server = ControlServer::open(::getppid() + 1000000);
    ::raise(SIGKILL);
  }
  ::waitpid(load, nullptr, 0);
  pid_t stale = ::getpid() + 1000000;
  std::string stale_dir = scratch.runtime + "/" + std::to_string(stale);
  ASSERT_EQ(::access((stale_dir + "/control").c_str(), F_OK), 0);
  std::ofstream(stale_dir + "/maps") << "old";
  std::string old_socket = scratch.runtime + "/load-" + std::to_string(dead_pid()) + ".sock";
  std::string own_socket = *agent_socket_path();
  std::ofstream(old_socket).put('x');
  std::ofstream(own_socket).put('x');
  ::mkdir((scratch.runtime + "/other").c_str(), 0700);

  auto sessions = live_sessions();
  ASSERT_TRUE(sessions) << sessions.error().message;
  ASSERT_EQ(sessions->size(), 1u);
  EXPECT_EQ((*sessions)[0].pid, ::getpid());
  EXPECT_NE(::access(stale_dir.c_str(), F_OK), 0);
  EXPECT_NE(::access(old_socket.c_str(), F_OK), 0);
  EXPECT_EQ(::access(own_socket.c_str(), F_OK), 0);
  EXPECT_EQ(::access((scratch.runtime + "/other").c_str(), F_OK), 0);
}

TEST(RuntimeDir, KeepsASessionThatIsJustStarting) {
  ScratchDir scratch;
  auto starting = process_dir(::getpid());
  ASSERT_TRUE(starting);
  EXPECT_TRUE(live_sessions());
  EXPECT_EQ(::access(starting->c_str(), F_OK), 0);
  remove_process_dir(::getpid());
  EXPECT_NE(::access(starting->c_str(), F_OK), 0);
}

}  // namespace
