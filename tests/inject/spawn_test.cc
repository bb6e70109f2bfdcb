#include "lib/loader/inject/spawn.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

using namespace egpu::inject;

namespace {

TEST(Spawn, GivesTheEnvironmentAndTheStatus) {
  Command command;
  command.arguments = {"sh", "-c", "test \"$CUDA_INJECTION64_PATH:$EGPU_SOCKET\" = /a.so:/b.sock && exit 37"};
  command.environment = agent_environment("/a.so", "/b.sock");
  Spawned spawned = spawn(command);
  ASSERT_GT(spawned.pid, 0) << spawned.error;
  ASSERT_TRUE(spawned.pidfd);
  pollfd ended = {spawned.pidfd.get(), POLLIN, 0};
  EXPECT_EQ(::poll(&ended, 1, 10000), 1);
  int status;
  ASSERT_EQ(::waitpid(spawned.pid, &status, 0), spawned.pid);
  EXPECT_EQ(WEXITSTATUS(status), 37);
  EXPECT_EQ(std::getenv("EGPU_SOCKET"), nullptr);  // ours is as it was
}

TEST(Spawn, ErrorsAsEnvGivesThem) {
  Command command;
  command.arguments = {"egpu-no-such-command"};
  Spawned missing = spawn(command);
  EXPECT_EQ(missing.pid, 0);
  EXPECT_EQ(missing.exit_status, 127);
  EXPECT_EQ(missing.error, "egpu-no-such-command: No such file or directory");
  std::string path = "/tmp/egpu-spawn-" + std::to_string(::getpid());
  std::ofstream(path) << "x";
  ::chmod(path.c_str(), 0644);
  command.arguments = {path};
  Spawned closed = spawn(command);
  ::unlink(path.c_str());
  EXPECT_EQ(closed.exit_status, 126);
  EXPECT_EQ(closed.error, path + ": Permission denied");
  command.arguments = {};
  EXPECT_EQ(spawn(command).exit_status, 125);
}

TEST(Spawn, SetsTheSignalMask) {
  Command command;
  command.arguments = {"grep", "-q", "^SigBlk:.*0000000000000004$", "/proc/self/status"};  // dash clears it
  sigemptyset(&command.signal_mask);
  sigaddset(&command.signal_mask, SIGQUIT);
  Spawned spawned = spawn(command);
  int status;
  ASSERT_EQ(::waitpid(spawned.pid, &status, 0), spawned.pid);
  EXPECT_EQ(status, 0);
}

}  // namespace
