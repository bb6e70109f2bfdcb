#include "lib/sim/driver/stream.h"

#include <pthread.h>
#include <signal.h>
#include <time.h>

#include <thread>

namespace egpu::sim {
namespace {

uint64_t next_stream_id() {
  static std::atomic<uint64_t> next{1};
  return next++;
}

}  // namespace

Stream::Stream(Context &its_context, StreamRole its_role, unsigned its_flags, int its_priority)
    : Object(kKind),
      context(its_context),
      role(its_role),
      flags(its_flags),
      id(next_stream_id()),
      priority(its_priority) {}

std::shared_ptr<Fence> Stream::enqueue(std::function<void()> run, std::shared_ptr<Fence> also) {
  Operation operation{std::move(run), {}, std::make_shared<Fence>()};
  const auto wait_for = [&](const std::shared_ptr<Fence> &fence) {
    if (fence && !fence->done()) operation.after.push_back(fence);
  };
  wait_for(also);
  for (const std::shared_ptr<Stream> &other : context.streams) {
    const bool orders = role == StreamRole::legacy ? other->is_blocking()
                                                   : is_blocking() && other->role == StreamRole::legacy;
    if (orders) wait_for(other->last_);
  }
  const std::shared_ptr<Fence> fence = operation.fence;
  last_ = fence;
  const std::lock_guard lock(mutex_);
  operations_.push_back(std::move(operation));
  if (!started_) {
    started_ = true;
    // The process's signals are for its own threads: start the worker with all of them blocked.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    std::thread([self = std::static_pointer_cast<Stream>(shared_from_this())] { self->work(); }).detach();
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }
  filled_.notify_one();
  return fence;
}

std::vector<std::shared_ptr<Fence>> Stream::pending() const {
  std::vector<std::shared_ptr<Fence>> fences;
  const auto add = [&](const std::shared_ptr<Fence> &fence) {
    if (fence && !fence->done()) fences.push_back(fence);
  };
  add(last_);
  if (role == StreamRole::legacy)
    for (const std::shared_ptr<Stream> &other : context.streams)
      if (other->is_blocking()) add(other->last_);
  return fences;
}

void Stream::retire_after_work() {
  const auto self = std::static_pointer_cast<Stream>(shared_from_this());
  if (!last_ || last_->done()) {
    context.streams.erase(self);
  } else {
    enqueue([self] {
      const std::lock_guard lock(self->context.order);
      self->context.streams.erase(self);
    });
  }
  close();
}

void Stream::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  filled_.notify_one();
}

void Stream::work() {
  for (;;) {
    Operation operation;
    {
      std::unique_lock lock(mutex_);
      filled_.wait(lock, [this] { return closed_ || !operations_.empty(); });
      if (operations_.empty()) return;
      operation = std::move(operations_.front());
      operations_.pop_front();
    }
    for (const std::shared_ptr<Fence> &fence : operation.after) fence->wait();
    if (operation.run) operation.run();
    operation.run = nullptr;  // what it holds is freed before anybody learns that it is done
    operation.fence->signal();
  }
}

std::shared_ptr<Stream> find_stream(Context &context, Handle handle, DefaultStream which) {
  if (!handle) handle = which == DefaultStream::legacy ? kLegacyStream : kPerThreadStream;
  if (handle == kLegacyStream)
    return std::static_pointer_cast<Stream>(context.legacy_stream().shared_from_this());
  if (handle == kPerThreadStream)
    return std::static_pointer_cast<Stream>(context.per_thread_stream().shared_from_this());
  return find<Stream>(handle);
}

Status stream_or_error(DefaultStream which, Handle handle, std::shared_ptr<Stream> *stream) {
  CU_CONTEXT(context);
  *stream = find_stream(*context, handle, which);
  return *stream ? kSuccess : kInvalidHandle;
}

void record_event(Stream &stream, Event &event) {
  auto time_ns = std::make_shared<std::atomic<int64_t>>(0);
  const std::shared_ptr<Fence> fence = stream.enqueue([time_ns] { time_ns->store(now_ns()); });
  event.set_record({fence, time_ns});
  event.capture.reset();
  event.capture_nodes.clear();
}

int64_t now_ns() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

}  // namespace egpu::sim
