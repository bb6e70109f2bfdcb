// Start mode from the driver's cuInit to the end of the process, in a program of its own.
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/agent/session.h"

extern char **environ;

namespace {

using agent_test::Session;
using egpu::session::Kind;
namespace protocol = egpu::session;

int run_target(const char *how, const std::string &socket) {
  setenv("CUDA_INJECTION64_PATH", EGPU_AGENT_PATH, 1);
  if (socket.empty())
    unsetenv("EGPU_SOCKET");
  else
    setenv("EGPU_SOCKET", socket.c_str(), 1);
  char *arguments[] = {const_cast<char *>("target"), const_cast<char *>(how), nullptr};
  pid_t pid;
  EXPECT_EQ(posix_spawn(&pid, EGPU_AGENT_TARGET, nullptr, nullptr, arguments, environ), 0);
  int status = -1;
  EXPECT_EQ(waitpid(pid, &status, 0), pid);
  return status;
}

TEST(Exit, LastSnapshotAtExitHoldsEveryLaunch) {
  Session session(protocol::kStart);
  EXPECT_EQ(run_target("exit", session.path()), 0);
  EXPECT_EQ(session.take(Kind::image).fixed<protocol::Image>().form, protocol::kPtxText);
  EXPECT_EQ(session.take_final_snapshot().ok, 1u);
  session.take(Kind::ending);
  EXPECT_TRUE(session.closed());
  EXPECT_EQ(session.file_word(), 23u);
}

TEST(Exit, LastSnapshotBeforeThePrimaryContextIsReleased) {
  Session session(protocol::kStart);
  EXPECT_EQ(run_target("release", session.path()), 0);
  EXPECT_EQ(session.take_final_snapshot().ok, 1u);
  session.take(Kind::ending);
  EXPECT_EQ(session.file_word(), 23u);
}

TEST(Exit, WithoutASessionTheProgramRuns) { EXPECT_EQ(run_target("exit", ""), 0); }

TEST(Exit, WithASessionThatIsGoneTheProgramRuns) {
  EXPECT_EQ(run_target("exit", "/tmp/egpu-no-such-socket"), 0);
}

}  // namespace
