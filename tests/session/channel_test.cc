#include "lib/loader/session/channel.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <thread>

#include "lib/loader/session/runtime_dir.h"
#include "tests/session/scratch_dir.h"

using namespace egpu::session;

namespace {

struct Pair {
  Pair() {
    int fds[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds), 0);
    raw = Fd(fds[0]);
    channel.emplace(Fd(fds[1]));
  }
  void send_raw(const std::vector<uint8_t> &bytes) {
    EXPECT_EQ(::send(raw.get(), bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
  }
  // A packet with any header over any bytes, with `fd_count` copies of `fd`.
  void send_packet(Kind kind, uint32_t said_bytes, std::vector<uint8_t> payload, int fd = -1,
                   size_t fd_count = 0) {
    Header header{kind, said_bytes};
    std::vector<uint8_t> bytes(sizeof(header));
    std::memcpy(bytes.data(), &header, sizeof(header));
    bytes.insert(bytes.end(), payload.begin(), payload.end());
    iovec part = {bytes.data(), bytes.size()};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    std::vector<char> control(CMSG_SPACE(sizeof(int) * std::max<size_t>(fd_count, 1)));
    if (fd_count > 0) {
      message.msg_control = control.data();
      message.msg_controllen = control.size();
      cmsghdr *c = CMSG_FIRSTHDR(&message);
      c->cmsg_level = SOL_SOCKET;
      c->cmsg_type = SCM_RIGHTS;
      c->cmsg_len = CMSG_LEN(sizeof(int) * fd_count);
      for (size_t i = 0; i < fd_count; ++i) std::memcpy(CMSG_DATA(c) + i * sizeof(int), &fd, sizeof(int));
    }
    EXPECT_EQ(::sendmsg(raw.get(), &message, 0), static_cast<ssize_t>(bytes.size()));
  }
  Fd raw;
  std::optional<Channel> channel;
};

size_t open_fd_count() {
  size_t count = 0;
  for (int fd = 0; fd < 256; ++fd) count += ::fcntl(fd, F_GETFD) != -1;
  return count;
}

TEST(Channel, CarriesPacketAndDescriptor) {
  Pair pair;
  Channel sender(std::move(pair.raw));
  std::string text = ".version 9.0\n";
  auto file = make_memfd("ptx", {reinterpret_cast<const uint8_t *>(text.data()), text.size()});
  ASSERT_TRUE(file) << file.error().message;
  Image image{0x1234, kPtxText, 1};
  Writer writer;
  ASSERT_TRUE(sender.send(Kind::image, writer.put(image).bytes(), file->get()));
  auto received = pair.channel->receive();
  ASSERT_TRUE(received) << received.error().message;
  ASSERT_TRUE(received->has_value());
  Packet &packet = **received;
  EXPECT_EQ(packet.kind, Kind::image);
  auto got = parse<Image>(packet);
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(got->module, 0x1234u);
  EXPECT_EQ(got->is_library, 1u);
  auto bytes = read_fd(packet.fd.get(), 1000);
  ASSERT_TRUE(bytes) << bytes.error().message;
  EXPECT_EQ(std::string(bytes->begin(), bytes->end()), text);
  auto limited = read_fd(packet.fd.get(), 5);
  ASSERT_FALSE(limited);
  EXPECT_EQ(limited.error().message, "file of 13 bytes is over the limit of 5");
}

TEST(Channel, EndOfStreamIsNoError) {
  Pair pair;
  pair.raw.reset();
  auto received = pair.channel->receive();
  ASSERT_TRUE(received) << received.error().message;
  EXPECT_FALSE(received->has_value());
  EXPECT_TRUE(pair.channel->send(Kind::detach, {}));  // and no SIGPIPE
}

// A target that ends has sent its last snapshot and may not have read our last request.
TEST(Channel, LastPacketsOfAPeerThatClosedAreRead) {
  for (bool sends_again : {false, true}) {  // the kernel tells of the lost request once, whatever comes next
    SCOPED_TRACE(sends_again);
    Pair pair;
    EXPECT_TRUE(pair.channel->send(Kind::snapshot, {}));  // never read
    pair.send_packet(Kind::ending, 0, {});
    pair.raw.reset();
    if (sends_again) {
      EXPECT_TRUE(pair.channel->send(Kind::snapshot, {}));
    }
    auto last = pair.channel->receive();
    ASSERT_TRUE(last) << last.error().message;
    ASSERT_TRUE(*last);
    EXPECT_EQ((*last)->kind, Kind::ending);
    auto end = pair.channel->receive();
    ASSERT_TRUE(end) << end.error().message;
    EXPECT_FALSE(*end);
  }
}

TEST(Channel, RefusesHostilePackets) {
  struct Case {
    const char *name;
    uint32_t said_bytes;
    size_t payload_bytes, fd_count;
    const char *error;
  };
  constexpr Case kCases[] = {
      {"header says more", 17, 16, 0, "hello: header says 17 bytes, packet has 16"},
      {"header says less", 15, 16, 0, "hello: header says 15 bytes, packet has 16"},
      {"header says 4 GiB", 0xffffffff, 16, 0, "hello: header says 4294967295 bytes, packet has 16"},
      {"packet over 64 KiB", 70000, 70000, 0, "packet is too long"},
      {"two descriptors", 16, 16, 2, "packet carries 2 file descriptors"},
      {"twenty descriptors", 16, 16, 20, "packet is too long"},
  };
  for (const Case &c : kCases) {
    Pair pair;
    size_t before = open_fd_count();
    pair.send_packet(Kind::hello, c.said_bytes, std::vector<uint8_t>(c.payload_bytes, 0xaa), 0, c.fd_count);
    auto received = pair.channel->receive();
    ASSERT_FALSE(received) << c.name;
    EXPECT_EQ(received.error().message, c.error) << c.name;
    EXPECT_EQ(open_fd_count(), before) << c.name;
  }
  Pair pair;
  pair.send_raw({1, 0, 0, 0, 0, 0, 0});
  auto received = pair.channel->receive();
  ASSERT_FALSE(received);
  EXPECT_EQ(received.error().message, "packet of 7 bytes is too short");
}

TEST(Channel, SendRefusesTooLong) {
  Pair pair;
  std::vector<uint8_t> bytes(kMaxPacketBytes);
  auto sent = pair.channel->send(Kind::load, bytes);
  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().message, "load: message of 65536 bytes is too long");
  bytes.resize(kMaxPacketBytes - sizeof(Header));
  EXPECT_TRUE(pair.channel->send(Kind::load, bytes));
}

Packet packet_of(Kind kind, const Writer &writer) {
  return {kind, {writer.bytes().begin(), writer.bytes().end()}, Fd()};
}

TEST(Reader, ChecksEveryLength) {
  Writer kernel;
  kernel.put(Kernel{1, 2, 3, 1, 0, 128, 0}).put_string("_Z6vecaddPKfPfi");
  auto ok = parse_with_text<Kernel>(packet_of(Kind::kernel, kernel));
  ASSERT_TRUE(ok) << ok.error().message;
  EXPECT_EQ(ok->text, "_Z6vecaddPKfPfi");
  EXPECT_EQ(ok->head.context, 3u);

  Writer open_end;
  open_end.put(Kernel{}).put<uint32_t>(0x41414141);
  auto no_nul = parse_with_text<Kernel>(packet_of(Kind::kernel, open_end));
  ASSERT_FALSE(no_nul);
  EXPECT_EQ(no_nul.error().message, "kernel: string without end");

  Writer surplus;
  surplus.put(Kernel{}).put_string("a").put_string("b");
  auto rest = parse_with_text<Kernel>(packet_of(Kind::kernel, surplus));
  ASSERT_FALSE(rest);
  EXPECT_EQ(rest.error().message, "kernel: 2 bytes too many");

  Writer short_one;
  short_one.put<uint64_t>(1);
  auto cut = parse<Hello>(packet_of(Kind::hello, short_one));
  ASSERT_FALSE(cut);
  EXPECT_EQ(cut.error().message, "hello: too short: 8 bytes left, 16 wanted");

  Writer huge;
  huge.put(MapBlocks{1, 0xffffffff, 0}).put<uint64_t>(7);
  auto array = parse_with_array<MapBlocks>(packet_of(Kind::map_blocks, huge));
  ASSERT_FALSE(array);
  EXPECT_EQ(array.error().message, "map_blocks: too short: 8 bytes left, 34359738360 wanted");

  Writer names;
  names.put_string("a").put_string("");
  Packet packet = packet_of(Kind::want_globals, names);
  Reader reader(packet);
  EXPECT_FALSE(reader.take_strings(1u << 31));
  auto strings = reader.take_strings(2);
  ASSERT_TRUE(strings);
  EXPECT_EQ(*strings, (std::vector<std::string>{"a", ""}));
  EXPECT_TRUE(reader.end());
}

TEST(ReadFd, RefusesWhatIsNoFile) {
  EXPECT_EQ(read_fd(-1, 10).error().message, "file descriptor is missing");
  int pipe_fds[2];
  ASSERT_EQ(::pipe(pipe_fds), 0);
  Fd in(pipe_fds[0]), out(pipe_fds[1]);
  EXPECT_EQ(read_fd(in.get(), 10).error().message, "file descriptor is not a file");
}

TEST(Listener, AcceptsAndNamesThePeer) {
  ScratchDir scratch;
  ASSERT_TRUE(runtime_dir());
  std::string path = *agent_socket_path();
  auto listener = Listener::open(path);
  ASSERT_TRUE(listener) << listener.error().message;
  pid_t child = ::fork();
  if (child == 0) {
    auto channel = connect_to(path);
    Writer writer;
    bool sent =
        channel && channel->send(Kind::hello, writer.put(Hello{kProtocolVersion, kStart, 7, 0}).bytes());
    ::_exit(sent ? 0 : 1);
  }
  ASSERT_TRUE(wait_readable(listener->fd(), 5000));
  auto peer = listener->accept();
  ASSERT_TRUE(peer) << peer.error().message;
  EXPECT_EQ(peer->pid, child);
  auto packet = peer->channel.receive();
  ASSERT_TRUE(packet && packet->has_value());
  EXPECT_EQ(parse<Hello>(**packet)->pid, 7);
  int status;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  auto second = Listener::open(path);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().message, path + ": in use by another process");
}

TEST(Listener, RefusesOtherUsers) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to become another user";
  ScratchDir scratch;
  ASSERT_TRUE(runtime_dir());
  auto listener = Listener::open(*agent_socket_path());
  ASSERT_TRUE(listener);
  // Open every door but the check itself.
  ::chmod(scratch.path.c_str(), 0755);
  ::chmod(scratch.runtime.c_str(), 0755);
  ::chmod(listener->path().c_str(), 0777);
  pid_t child = ::fork();
  if (child == 0) {
    if (::setresuid(12345, 12345, 12345) != 0) ::_exit(2);
    ::_exit(connect_to(listener->path()) ? 0 : 1);
  }
  auto peer = listener->accept();
  ASSERT_FALSE(peer);
  EXPECT_EQ(peer.error().message, listener->path() + ": refused a connection of user 12345");
  ::waitpid(child, nullptr, 0);
}

TEST(Listener, PathTooLong) {
  auto listener = Listener::open("/tmp/" + std::string(120, 'x'));
  ASSERT_FALSE(listener);
  EXPECT_NE(listener.error().message.find("too long for a socket"), std::string::npos);
}

}  // namespace
