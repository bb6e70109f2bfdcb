// Stream capture: a capturing stream's work becomes nodes of a graph.
//
// Source: CUDA Driver API, cuStreamBeginCapture, cuThreadExchangeStreamCaptureMode; CUDA C++
// Programming Guide, "Creating a Graph Using Stream Capture" (prohibited operations).
#pragma once
#include <atomic>
#include <thread>

#include "lib/sim/driver/graph.h"

namespace egpu::sim {

class Capture {
 public:
  Capture(Stream &its_origin, int its_mode, std::shared_ptr<Graph> into);
  const std::shared_ptr<Graph> graph;
  const bool owns_graph;  // false: it is the program's
  Stream &origin;
  const int mode;
  const uint64_t id;
  const std::thread::id thread;
  std::atomic<bool> invalidated{false};
  std::vector<Stream *> members;  // guarded by Context::order
};

// The first five: the caller holds stream.context.order.
/// `into`: a graph that the nodes are added to; null: a new one.
Status begin_capture(Stream &stream, int mode, std::shared_ptr<Graph> into = nullptr);
Status end_capture(Stream &stream, std::shared_ptr<Graph> *graph);
Status capture_work(Stream &stream, Work work);
/// An event recorded in, or waited for by, a stream; handles streams that are captured or not.
Status capture_or_record(Stream &stream, Event &event);
Status capture_or_wait(Stream &stream, Event &event);
/// kStreamCaptureImplicit: the legacy stream must not be used while a blocking stream is captured.
Status check_not_implicit(Stream &stream);

/// For calls that would wait for, or be ordered with, captured work without being captured
/// (cuMemAlloc, cuCtxSynchronize, ...): kStreamCaptureUnsupported, and the captures are invalid.
Status check_unsafe_call();
CaptureStatus capture_status(const Stream &stream);
/// Invalidates the stream's capture, if there is one: a synchronizing call was made on it.
Status check_not_capturing(Stream &stream);

}  // namespace egpu::sim
