#include "lib/loader/session/control.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <thread>

#include "lib/loader/session/runtime_dir.h"
#include "tests/session/scratch_dir.h"

using namespace egpu::session;

namespace {

TEST(Control, AsksAndAnswers) {
  ScratchDir scratch;
  auto server = ControlServer::open(4711);
  ASSERT_TRUE(server) << server.error().message;
  std::thread load([&] {
    for (int i = 0; i < 3; ++i) {
      auto request = server->next();
      ASSERT_TRUE(request) << request.error().message;
      if (request->text() == "snapshot")
        request->reply_ok("generation 3");
      else if (request->text() == "info")
        request->reply_ok();
      else
        request->reply_error("unknown request '" + request->text() + "'");
    }
  });
  auto snapshot = ask(4711, "snapshot");
  auto info = ask(4711, "info\n");
  auto other = ask(4711, "fly");
  load.join();
  ASSERT_TRUE(snapshot) << snapshot.error().message;
  EXPECT_EQ(*snapshot, "generation 3");
  ASSERT_TRUE(info) << info.error().message;
  EXPECT_EQ(*info, "");
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().message, "session of process 4711: unknown request 'fly'");
}

TEST(Control, SaysWhenNobodyIsThere) {
  ScratchDir scratch;
  auto answer = ask(4711, "info");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().message, "no egpu-load runs for process 4711");
}

TEST(Control, WaitsNoLongerThanTold) {
  ScratchDir scratch;
  auto server = ControlServer::open(4711);
  ASSERT_TRUE(server);
  auto answer = ask(4711, "info", 50);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().message, "session of process 4711: no answer after 50 ms");
}

TEST(Control, SilentOrLoudAskerDoesNotStopTheServer) {
  ScratchDir scratch;
  auto server = ControlServer::open(4711);
  ASSERT_TRUE(server);
  std::string path = control_path(*process_dir(4711));
  auto silent = connect_to(path);
  ASSERT_TRUE(silent);
  EXPECT_FALSE(server->next());
  auto loud = connect_to(path);
  ASSERT_TRUE(loud);
  std::string text(kMaxControlBytes + 1, 'x');
  ASSERT_GT(::send(loud->fd(), text.data(), text.size(), 0), 0);
  auto request = server->next();
  ASSERT_FALSE(request);
  EXPECT_EQ(request.error().message, "message is too long");
  // An asker that leaves before the answer is no trouble.
  auto gone = connect_to(path);
  ASSERT_GT(::send(gone->fd(), "info", 4, 0), 0);
  auto last = server->next();
  ASSERT_TRUE(last);
  gone->take_fd().reset();
  last->reply_ok("late");
}

TEST(Control, AbsurdAnswersAreErrors) {
  ScratchDir scratch;
  auto server = ControlServer::open(4711);
  ASSERT_TRUE(server);
  std::thread load([&] {
    auto request = server->next();
    ASSERT_TRUE(request);
    request->reply_ok(std::string(2 * kMaxControlBytes, 'y'));
  });
  auto answer = ask(4711, "info");
  load.join();
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().message, "session of process 4711: answer is too long");
}

}  // namespace
