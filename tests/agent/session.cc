#include "tests/agent/session.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstring>

namespace agent_test {

using namespace egpu::session;
using namespace std::chrono_literals;

namespace {

constexpr uint64_t kTailOfTrampoline = 32;

void put_absolute_jump(uint8_t *at, uint64_t to) {
  const uint8_t jump[] = {0xff, 0x25, 0, 0, 0, 0};  // jmp *0(%rip)
  memcpy(at, jump, sizeof jump);
  memcpy(at + sizeof jump, &to, sizeof to);
}

// The nop, back to the rest of the function; behind it the way to the replacement.
Hook make_hook(const EntryPoint &entry) {
  Hook hook{};
  memcpy(&hook.original, entry.code, sizeof hook.original);
  memcpy(hook.trampoline, entry.code, 8);
  put_absolute_jump(hook.trampoline + 8, entry.address + 8);
  put_absolute_jump(hook.trampoline + kTailOfTrampoline, entry.replacement);
  int64_t distance = static_cast<int64_t>(entry.trampoline + kTailOfTrampoline - (entry.address + 5));
  EXPECT_EQ(distance, static_cast<int32_t>(distance)) << entry.name << ": trampoline out of reach";
  hook.jump = hook.original;
  reinterpret_cast<uint8_t *>(&hook.jump)[0] = 0xe9;
  int32_t relative = static_cast<int32_t>(distance);
  memcpy(reinterpret_cast<uint8_t *>(&hook.jump) + 1, &relative, sizeof relative);
  hook.ok = entry.address % 8 == 0;
  return hook;
}

// What egpu-load does through ptrace; here the target is this process.
void write_hook(const EntryPoint &entry, Hook *hook) {
  memcpy(reinterpret_cast<void *>(entry.trampoline), hook->trampoline, sizeof hook->trampoline);
  void *page = reinterpret_cast<void *>(entry.address & ~uint64_t{4095});
  ASSERT_EQ(mprotect(page, 4096, PROT_READ | PROT_WRITE | PROT_EXEC), 0);
  __atomic_store_n(reinterpret_cast<uint64_t *>(entry.address), hook->jump, __ATOMIC_SEQ_CST);
  hook->written = 1;
}

int memfd_of(const std::string &bytes) {
  int fd = memfd_create("test", MFD_CLOEXEC);
  EXPECT_EQ(write(fd, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  return fd;
}

template <class T>
void append(std::string *to, const T &value) {
  to->append(reinterpret_cast<const char *>(&value), sizeof value);
}

}  // namespace

Session::Session(Mode mode, Options options) : mode_(mode), options_(std::move(options)) {
  static std::atomic<int> number;
  path_ = "/tmp/egpu-agent-test-" + std::to_string(getpid()) + "-" + std::to_string(++number);
  listener_ = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  strcpy(address.sun_path, path_.c_str());
  unlink(path_.c_str());
  EXPECT_EQ(bind(listener_, reinterpret_cast<sockaddr *>(&address), sizeof address), 0);
  EXPECT_EQ(listen(listener_, 1), 0);
  std::string contents = options_.initial;
  contents.resize(options_.map_bytes);
  map_file_ = memfd_of(contents);
  thread_ = std::thread([this] { serve(); });
}

Session::~Session() {
  hang_up();
  closed(5000);
  shutdown(listener_, SHUT_RDWR);
  thread_.join();
  for (int fd : {listener_, socket_, map_file_})
    if (fd >= 0) close(fd);
  for (Message &m : messages_)
    if (m.fd >= 0) close(m.fd);
  unlink(path_.c_str());
}

void Session::hang_up() {
  std::lock_guard lock(mutex_);
  if (socket_ >= 0) shutdown(socket_, SHUT_RDWR);
}

void Session::serve() {
  int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
  {
    std::lock_guard lock(mutex_);
    socket_ = fd;
  }
  std::vector<uint8_t> buffer(kMaxPacketBytes);
  while (fd >= 0) {
    iovec part{buffer.data(), buffer.size()};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
    msghdr m{};
    m.msg_iov = &part;
    m.msg_iovlen = 1;
    m.msg_control = control;
    m.msg_controllen = sizeof control;
    ssize_t got = recvmsg(fd, &m, MSG_CMSG_CLOEXEC);
    if (got <= 0) break;
    Header header;
    memcpy(&header, buffer.data(), sizeof header);
    EXPECT_EQ(header.size_bytes + sizeof header, static_cast<size_t>(got));
    Message message;
    message.kind = header.kind;
    message.payload.assign(buffer.begin() + sizeof header, buffer.begin() + got);
    if (cmsghdr *c = CMSG_FIRSTHDR(&m)) memcpy(&message.fd, CMSG_DATA(c), sizeof(int));
    handle(std::move(message));
  }
  std::lock_guard lock(mutex_);
  closed_ = true;
  changed_.notify_all();
}

void Session::handle(Message message) {
  switch (message.kind) {
    case Kind::hello:
      pid_ = message.fixed<Hello>().pid;
      break;
    case Kind::entries: {
      entries_.resize(message.fixed<Entries>().count);
      EXPECT_EQ(message.payload.size(), sizeof(Entries) + entries_.size() * sizeof(EntryPoint));
      memcpy(entries_.data(), message.payload.data() + sizeof(Entries), entries_.size() * sizeof(EntryPoint));
      answer_hooks();
      break;
    }
    case Kind::context:
      make_maps(message.fixed<Context>().context);
      break;
    case Kind::map_blocks: {
      MapBlocks blocks = message.fixed<MapBlocks>();
      std::vector<Message> ready;
      {
        std::lock_guard lock(mutex_);
        if (blocks.error == 0) map_address_[blocks.context] = message.words<MapBlocks>().at(0);
        ready = std::move(waiting_[blocks.context]);
      }
      for (Message &m : ready) answer(m);
      break;
    }
    case Kind::kernel:
      if (options_.answer_kernels) {
        bool has_maps;
        {
          std::lock_guard lock(mutex_);
          uint64_t context = message.fixed<Kernel>().context;
          has_maps = map_address_.count(context) != 0;
          if (!has_maps) waiting_[context].push_back(message);
        }
        if (has_maps) answer(message);
      }
      break;
    default:
      break;
  }
  std::lock_guard lock(mutex_);
  messages_.push_back(std::move(message));
  changed_.notify_all();
}

void Session::answer_hooks() {
  HooksReady fixed{static_cast<uint32_t>(entries_.size()), 0};
  std::string payload;
  append(&payload, fixed);
  for (const EntryPoint &entry : entries_) {
    Hook hook = make_hook(entry);
    if (mode_ == kAttach) write_hook(entry, &hook);
    append(&payload, hook);
  }
  if (options_.say_hooks_ready) send(Kind::hooks_ready, payload.data(), payload.size());
  ready_ = true;
}

void Session::make_maps(uint64_t context) {
  struct {
    Maps maps;
    MapBlock block;
  } message{{context, 1, 0}, {options_.map_bytes, 0, 0, options_.initial.size()}};
  send(Kind::maps, &message, sizeof message, map_file_);
}

void Session::answer(const Message &message) {
  Kernel kernel = message.fixed<Kernel>();
  std::string name = message.text<Kernel>();
  bool probed = name.starts_with("probe"), parameters = name.find("params") != std::string::npos;
  uint64_t address;
  {
    std::lock_guard lock(mutex_);
    address = map_address_[kernel.context];
  }
  // Every test kernel takes (u64, u16, u64): 24 bytes with padding.
  std::string text = ".entry " + name + "(.param .u64 a, .param .u16 b, .param .u64 c" +
                     (parameters ? ", .param .u64 launch_ns, .param .u64 slot" : "") + ") // PATCHED\n" +
                     (options_.broken_ptx ? "BROKEN" : "") + "// adds " + std::to_string(address);
  LoadKernel load_kernel{
      kernel.function, 0, 0, probed ? (parameters ? kLaunchParameters : 0u) : kUnprobed, 3, 24};
  LoadModule module{sizeof(LoadModule) + sizeof(LoadKernel), text.size() + 1};
  std::string file;
  if (probed) {
    load_kernel.name_offset = module.text_offset + module.text_bytes;
    append(&file, module);
  }
  append(&file, load_kernel);
  if (probed) file += text + '\0' + name + '\0';
  Load load{kernel.context, probed, 1};
  int fd = memfd_of(file);
  send(Kind::load, &load, sizeof load, fd);
  close(fd);
}

void Session::send(Kind kind, const void *fixed, size_t bytes, int fd) {
  Header header{kind, static_cast<uint32_t>(bytes)};
  iovec parts[2] = {{&header, sizeof header}, {const_cast<void *>(fixed), bytes}};
  msghdr m{};
  m.msg_iov = parts;
  m.msg_iovlen = 2;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof fd)] = {};
  if (fd >= 0) {
    m.msg_control = control;
    m.msg_controllen = sizeof control;
    cmsghdr *c = CMSG_FIRSTHDR(&m);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(c), &fd, sizeof fd);
  }
  sendmsg(socket_, &m, MSG_NOSIGNAL);
}

Message Session::take(Kind kind) {
  std::unique_lock lock(mutex_);
  Message found;
  bool ok = changed_.wait_for(lock, 10s, [&] {
    for (size_t i = 0; i < messages_.size(); ++i)
      if (messages_[i].kind == kind) {
        found = std::move(messages_[i]);
        messages_.erase(messages_.begin() + static_cast<long>(i));
        return true;
      }
    return false;
  });
  EXPECT_TRUE(ok) << "no message of kind " << static_cast<unsigned>(kind);
  return found;
}

SnapshotDone Session::take_final_snapshot() {
  for (int i = 0; i < 10; ++i)
    if (SnapshotDone done = take(Kind::snapshot_done).fixed<SnapshotDone>(); done.final) return done;
  ADD_FAILURE() << "no final snapshot";
  return {};
}

bool Session::saw(Kind kind) {
  std::lock_guard lock(mutex_);
  for (Message &m : messages_)
    if (m.kind == kind) return true;
  return false;
}

bool Session::closed(int milliseconds) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, milliseconds * 1ms, [&] { return closed_; });
}

Detached Session::detach() {
  send(Kind::detach);
  return take(Kind::detached).fixed<Detached>();
}

uint64_t Session::file_word() {
  uint64_t word = 0;
  EXPECT_EQ(pread(map_file_, &word, sizeof word, 0), 8);
  return word;
}

uint64_t Session::snapshot_word() {
  send(Kind::snapshot);
  EXPECT_EQ(take(Kind::snapshot_done).fixed<SnapshotDone>().ok, 1u);
  return file_word();
}

}  // namespace agent_test
