// Streams: one worker thread each, which runs operations in order; fences tie streams together.
//
// Ordering is decided when an operation is enqueued, under Context::order: an operation of the
// legacy stream waits for all that blocking streams have been given before, and operations of
// blocking streams wait for the legacy stream's last one (CUDA Driver API, "Stream
// synchronization behavior"). Fences that an operation waits for always belong to operations
// enqueued earlier, so that waiting cannot deadlock.
#pragma once
#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <vector>

#include "lib/sim/driver/driver.h"
#include "lib/sim/driver/export.h"

namespace egpu::sim {

class Capture;

class Fence {
 public:
  void signal() {
    done_.store(1, std::memory_order_release);
    done_.notify_all();
  }
  void wait() const {
    while (!done()) done_.wait(0, std::memory_order_acquire);
  }
  bool done() const { return done_.load(std::memory_order_acquire) != 0; }

 private:
  std::atomic<uint32_t> done_{0};
};

struct Operation {
  std::function<void()> run;
  std::vector<std::shared_ptr<Fence>> after;
  std::shared_ptr<Fence> fence;
};

enum class StreamRole { legacy, per_thread, created };

class Stream : public Object {
 public:
  static constexpr ObjectKind kKind = ObjectKind::stream;
  Stream(Context &context, StreamRole role, unsigned flags, int priority);

  Context &context;
  const StreamRole role;
  const unsigned flags;
  const uint64_t id;
  int priority;                                 // guarded by context.order, as the attributes
  std::map<int, CUlaunchAttribute> attributes;  // that the program has set

  bool is_blocking() const { return role != StreamRole::legacy && !(flags & kStreamNonBlocking); }

  /// Enqueues `run` after all that stream order asks for and after `also`. Caller holds context.order.
  std::shared_ptr<Fence> enqueue(std::function<void()> run, std::shared_ptr<Fence> also = nullptr);
  /// The fence of the last operation enqueued; null if there was none. Caller holds context.order.
  std::shared_ptr<Fence> last_fence() const { return last_; }
  /// What a wait for the stream waits for: its last operation and, of the legacy stream, those
  /// that its next one would wait for. Caller holds context.order.
  std::vector<std::shared_ptr<Fence>> pending() const;
  /// The program has destroyed the stream: what it has been given is still done, in order with the
  /// other streams, which forget it afterwards. Caller holds context.order.
  void retire_after_work();
  /// No more operations come: the worker ends when it has run what it has.
  void close();
  bool closed() const { return closed_; }

  std::shared_ptr<Capture> capture;  // what the stream is captured into; guarded by context.order
  std::vector<Handle> capture_tail;  // nodes that the next captured one depends on

 private:
  void work();

  std::shared_ptr<Fence> last_;
  std::mutex mutex_;
  std::condition_variable filled_;
  std::deque<Operation> operations_;
  bool started_ = false;
  std::atomic<bool> closed_{false};
};

/// What the handle means in this context: 0, 1 and 2 are default streams. Null: no such stream.
std::shared_ptr<Stream> find_stream(Context &context, Handle handle, DefaultStream which);
/// The same in the current context, or the error to return.
Status stream_or_error(DefaultStream which, Handle handle, std::shared_ptr<Stream> *stream);

// Events: the last record's fence and time.
struct EventRecord {
  std::shared_ptr<Fence> fence;
  std::shared_ptr<std::atomic<int64_t>> time_ns;
};

class Event : public Object {
 public:
  static constexpr ObjectKind kKind = ObjectKind::event;
  Event(Context &its_context, unsigned its_flags) : Object(kKind), context(its_context), flags(its_flags) {}
  Context &context;
  const unsigned flags;

  EventRecord record() const {
    const std::lock_guard lock(mutex_);
    return record_;
  }
  void set_record(EventRecord record) {
    const std::lock_guard lock(mutex_);
    record_ = std::move(record);
  }

  // Recorded in a capturing stream: what a wait on it depends on. Guarded by context.order.
  std::weak_ptr<Capture> capture;
  std::vector<Handle> capture_nodes;

 private:
  mutable std::mutex mutex_;
  EventRecord record_;
};

/// Records the event on the stream, outside of captures. Caller holds context.order.
void record_event(Stream &stream, Event &event);
int64_t now_ns();

}  // namespace egpu::sim
