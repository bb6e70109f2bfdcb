// The other end of the agent's socket, scripted: what egpu-load would do, as small as can be.
//
// Hooks: entry points of the fake driver begin with one 8-byte nop, so relocating them is copying
// it. Kernels whose names begin with "probe" are patched: same parameters, text marked PATCHED,
// each launch adds 1 to the first word of map 0; "params" in the name asks for the launch parameters.
#pragma once
#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "lib/loader/session/protocol.h"

namespace agent_test {

struct Message {
  egpu::session::Kind kind{};
  std::vector<uint8_t> payload;
  int fd = -1;

  std::string text() const { return reinterpret_cast<const char *>(payload.data()); }
  template <class T>
  T fixed() const;
  template <class T>
  std::string text() const;  // what follows T, up to its NUL
  template <class T>
  std::vector<uint64_t> words() const;
};

struct Options {
  bool answer_kernels = true;   // load or unprobe; else kernels wait
  bool say_hooks_ready = true;  // else the hooks are written (attach) and nothing is said
  bool broken_ptx = false;
  uint32_t map_bytes = 4096;
  std::string initial;  // contents of map 0's start
};

class Session {
 public:
  explicit Session(egpu::session::Mode mode, Options options = {});
  ~Session();

  const std::string &path() const { return path_; }
  /// The final snapshot_done, skipping others.
  egpu::session::SnapshotDone take_final_snapshot();
  /// Waits up to 10 s for a message of the kind that was not taken yet; fails the test if none comes.
  Message take(egpu::session::Kind kind);
  bool closed(int milliseconds = 10000);  // the agent closed its end
  bool saw(egpu::session::Kind kind);     // now

  /// The agent was told that its hooks are there.
  bool ready() const { return ready_; }
  void send(egpu::session::Kind kind, const void *fixed = nullptr, size_t bytes = 0, int fd = -1);
  /// Answers a kernel message now, as answer_kernels would have.
  void answer(const Message &kernel);
  /// detach, and what came back.
  egpu::session::Detached detach();
  /// snapshot, and map 0's first word in the file.
  uint64_t snapshot_word();
  uint64_t file_word();
  /// Closes the socket as a killed egpu-load would.
  void hang_up();
  const std::vector<egpu::session::EntryPoint> &entries() const { return entries_; }
  int pid() const { return pid_; }

 private:
  void serve();
  void handle(Message message);
  void answer_hooks();
  void make_maps(uint64_t context);

  egpu::session::Mode mode_;
  Options options_;
  std::string path_;
  int listener_ = -1, socket_ = -1, map_file_ = -1, pid_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Message> messages_;
  bool closed_ = false;
  std::atomic<bool> ready_{false};
  std::map<uint64_t, uint64_t> map_address_;          // by context
  std::map<uint64_t, std::vector<Message>> waiting_;  // kernels seen before their context's maps
  std::vector<egpu::session::EntryPoint> entries_;
  std::thread thread_;
};

template <class T>
T Message::fixed() const {
  T value{};
  if (payload.size() >= sizeof value) __builtin_memcpy(&value, payload.data(), sizeof value);
  return value;
}
template <class T>
std::string Message::text() const {
  return payload.size() > sizeof(T) ? reinterpret_cast<const char *>(payload.data() + sizeof(T)) : "";
}
template <class T>
std::vector<uint64_t> Message::words() const {
  std::vector<uint64_t> words;
  for (size_t at = sizeof(T); at + 8 <= payload.size(); at += 8) {
    uint64_t word;
    __builtin_memcpy(&word, payload.data() + at, 8);
    words.push_back(word);
  }
  return words;
}
}  // namespace agent_test
