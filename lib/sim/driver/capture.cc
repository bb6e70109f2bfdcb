#include "lib/sim/driver/capture.h"

#include <algorithm>

namespace egpu::sim {
namespace {

struct Active {
  std::mutex mutex;
  std::vector<std::shared_ptr<Capture>> captures;
  std::atomic<size_t> count{0};  // so that calls outside of captures take no lock
};

Active &active() {
  static Active &active = *new Active;
  return active;
}

uint64_t next_capture_id() {
  static std::atomic<uint64_t> next{1};
  return next++;
}

void leave(const std::shared_ptr<Capture> &capture) {
  for (Stream *member : capture->members) {
    member->capture.reset();
    member->capture_tail.clear();
  }
  const std::lock_guard lock(active().mutex);
  std::erase(active().captures, capture);
  active().count = active().captures.size();
}

}  // namespace

Capture::Capture(Stream &its_origin, int its_mode, std::shared_ptr<Graph> into)
    : graph(into ? into : std::make_shared<Graph>()),
      owns_graph(!into),
      origin(its_origin),
      mode(its_mode),
      id(next_capture_id()),
      thread(std::this_thread::get_id()) {}

Status begin_capture(Stream &stream, int mode, std::shared_ptr<Graph> into) {
  if (mode < kCaptureGlobal || mode > kCaptureRelaxed) return kInvalidValue;
  if (stream.role == StreamRole::legacy) return kStreamCaptureUnsupported;
  if (stream.capture) return kIllegalState;
  stream.capture = std::make_shared<Capture>(stream, mode, std::move(into));
  stream.capture->members.push_back(&stream);
  if (stream.capture->owns_graph) publish(stream.capture->graph);
  const std::lock_guard lock(active().mutex);
  active().captures.push_back(stream.capture);
  active().count = active().captures.size();
  return kSuccess;
}

Status end_capture(Stream &stream, std::shared_ptr<Graph> *graph) {
  const std::shared_ptr<Capture> capture = stream.capture;
  if (!capture) return kIllegalState;
  if (&capture->origin != &stream) {
    capture->invalidated = true;
    return kStreamCaptureUnmatched;
  }
  if (capture->mode != kCaptureRelaxed && capture->thread != std::this_thread::get_id())
    return kStreamCaptureWrongThread;
  Status status = capture->invalidated ? kStreamCaptureInvalidated : kSuccess;
  for (Stream *member : capture->members)
    for (Handle last : member->capture_tail)
      if (status == kSuccess && !capture->graph->reaches(stream.capture_tail, last))
        status = kStreamCaptureUnjoined;
  leave(capture);
  if (status == kSuccess)
    *graph = capture->graph;
  else if (capture->owns_graph)
    capture->graph->forget();
  return status;
}

Status capture_work(Stream &stream, Work work) {
  Capture &capture = *stream.capture;
  if (capture.invalidated) return kStreamCaptureInvalidated;
  std::shared_ptr<Node> node;
  CU_TRY(capture.graph->add(std::move(work), stream.capture_tail, &node));
  stream.capture_tail = {handle_of(*node)};
  return kSuccess;
}

Status capture_or_record(Stream &stream, Event &event) {
  if (!stream.capture) {
    CU_TRY(check_not_implicit(stream));
    record_event(stream, event);
    return kSuccess;
  }
  if (stream.capture->invalidated) return kStreamCaptureInvalidated;
  event.capture = stream.capture;
  event.capture_nodes = stream.capture_tail;
  return kSuccess;
}

Status capture_or_wait(Stream &stream, Event &event) {
  const std::shared_ptr<Capture> theirs = event.capture.lock();
  const bool is_captured = theirs && theirs->origin.capture == theirs;
  if (!is_captured && !stream.capture) {
    CU_TRY(check_not_implicit(stream));
    if (const EventRecord record = event.record(); record.fence) stream.enqueue(nullptr, record.fence);
    return kSuccess;
  }
  if (!is_captured) {
    stream.capture->invalidated = true;
    return kStreamCaptureIsolation;
  }
  if (theirs->invalidated) return kStreamCaptureInvalidated;
  if (stream.capture && stream.capture != theirs) {
    stream.capture->invalidated = theirs->invalidated = true;
    return kStreamCaptureMerge;
  }
  if (!stream.capture) {
    if (stream.role == StreamRole::legacy) return kStreamCaptureImplicit;
    stream.capture = theirs;
    theirs->members.push_back(&stream);
  }
  for (Handle node : event.capture_nodes)
    if (std::find(stream.capture_tail.begin(), stream.capture_tail.end(), node) == stream.capture_tail.end())
      stream.capture_tail.push_back(node);
  return kSuccess;
}

Status check_not_implicit(Stream &stream) {
  if (stream.role != StreamRole::legacy || active().count == 0) return kSuccess;
  Status status = kSuccess;
  for (const std::shared_ptr<Stream> &other : stream.context.streams) {
    if (!other->capture || !other->is_blocking()) continue;
    other->capture->invalidated = true;
    status = kStreamCaptureImplicit;
  }
  return status;
}

Status check_unsafe_call() {
  if (active().count == 0) return kSuccess;
  const int mode = thread_state().capture_mode;
  if (mode == kCaptureRelaxed) return kSuccess;
  Status status = kSuccess;
  const std::lock_guard lock(active().mutex);
  for (const std::shared_ptr<Capture> &capture : active().captures) {
    if (capture->mode == kCaptureRelaxed) continue;
    const bool mine = capture->thread == std::this_thread::get_id();
    if (!mine && (mode == kCaptureThreadLocal || capture->mode == kCaptureThreadLocal)) continue;
    capture->invalidated = true;
    status = kStreamCaptureUnsupported;
  }
  return status;
}

CaptureStatus capture_status(const Stream &stream) {
  if (!stream.capture) return kCaptureNone;
  return stream.capture->invalidated ? kCaptureInvalidated : kCaptureActive;
}

Status check_not_capturing(Stream &stream) {
  const std::lock_guard lock(stream.context.order);
  if (!stream.capture) return check_not_implicit(stream);
  stream.capture->invalidated = true;
  return kStreamCaptureUnsupported;
}

}  // namespace egpu::sim
