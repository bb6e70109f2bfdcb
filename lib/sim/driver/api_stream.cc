// Streams, events, host functions, capture.
#include "lib/sim/driver/capture.h"
#include "lib/sim/driver/export.h"
#include "lib/sim/driver/work.h"

using namespace egpu::sim;

namespace {

constexpr int kLeastPriority = 0, kGreatestPriority = -5;

Status create_stream(Handle *made, unsigned flags, int priority) {
  if (!made || flags > kStreamNonBlocking) return kInvalidValue;
  CU_CONTEXT(context);
  priority = std::min(kLeastPriority, std::max(kGreatestPriority, priority));
  auto stream = std::make_shared<Stream>(*context, StreamRole::created, flags, priority);
  *made = publish(stream);
  const std::lock_guard lock(context->order);
  context->streams.insert(std::move(stream));
  return kSuccess;
}

// Work already given to the stream is still done.
Status destroy_stream(Handle handle) {
  CU_CONTEXT(context);
  const std::shared_ptr<Stream> stream = find<Stream>(handle);
  if (!stream || stream->role != StreamRole::created) return kInvalidHandle;
  retire(handle);
  const std::lock_guard lock(stream->context.order);
  if (stream->capture) {
    stream->capture->invalidated = true;
    std::erase(stream->capture->members, stream.get());
    stream->capture.reset();
  }
  stream->retire_after_work();
  return kSuccess;
}

Status stream_or_error(DefaultStream which, Handle handle, std::shared_ptr<Stream> *stream) {
  CU_CONTEXT(context);
  *stream = find_stream(*context, handle, which);
  return *stream ? kSuccess : kInvalidHandle;
}

Status create_event(Handle *made, unsigned flags) {
  if (!made || flags > 7) return kInvalidValue;
  CU_CONTEXT(context);
  *made = publish(std::make_shared<Event>(*context, flags));
  context->adopt(*made);
  return kSuccess;
}

Status destroy_event(Handle handle) {
  CU_CONTEXT(context);
  const std::shared_ptr<Event> event = find<Event>(handle);
  if (!event) return kInvalidHandle;
  retire(handle);
  event->context.disown(handle);
  return kSuccess;
}

Status record(DefaultStream which, Handle event_handle, Handle stream_handle) {
  std::shared_ptr<Stream> stream;
  CU_TRY(stream_or_error(which, stream_handle, &stream));
  const std::shared_ptr<Event> event = find<Event>(event_handle);
  if (!event || &event->context != &stream->context) return kInvalidHandle;
  const std::lock_guard lock(stream->context.order);
  return capture_or_record(*stream, *event);
}

// A question about an event that was last recorded in a capture has no answer.
Status event_record(Handle handle, EventRecord *record, const Event **event) {
  CU_CONTEXT(context);
  const std::shared_ptr<Event> found = find<Event>(handle);
  if (!found) return kInvalidHandle;
  {
    const std::lock_guard lock(found->context.order);
    if (const std::shared_ptr<Capture> capture = found->capture.lock()) {
      capture->invalidated = true;
      return kCapturedEvent;
    }
  }
  *record = found->record();
  if (event) *event = found.get();
  return kSuccess;
}

Status elapsed(float *milliseconds, Handle start, Handle end) {
  if (!milliseconds) return kInvalidValue;
  EventRecord records[2];
  const Handle handles[2] = {start, end};
  for (int i = 0; i < 2; ++i) {
    const Event *event = nullptr;
    CU_TRY(event_record(handles[i], &records[i], &event));
    if (!records[i].fence || (event->flags & kEventDisableTiming)) return kInvalidHandle;
  }
  for (const EventRecord &record : records)
    if (!record.fence->done()) return kNotReady;
  *milliseconds =
      static_cast<float>(static_cast<double>(records[1].time_ns->load() - records[0].time_ns->load()) / 1e6);
  return kSuccess;
}

Status capture_info(DefaultStream which, Handle handle, int *status, uint64_t *id, Handle *graph,
                    const Handle **dependencies, size_t *count) {
  if (!status) return kInvalidValue;
  std::shared_ptr<Stream> stream;
  CU_TRY(stream_or_error(which, handle, &stream));
  const std::lock_guard lock(stream->context.order);
  CU_TRY(check_not_implicit(*stream));
  *status = capture_status(*stream);
  if (*status != kCaptureActive) return kSuccess;
  if (id) *id = stream->capture->id;
  if (graph) *graph = handle_of(*stream->capture->graph);
  if (dependencies) *dependencies = stream->capture_tail.data();
  if (count) *count = stream->capture_tail.size();
  return kSuccess;
}

Status update_dependencies(DefaultStream which, Handle handle, const Handle *dependencies, size_t count,
                           unsigned flags) {
  if ((count && !dependencies) || flags > 1) return kInvalidValue;
  std::shared_ptr<Stream> stream;
  CU_TRY(stream_or_error(which, handle, &stream));
  const std::lock_guard lock(stream->context.order);
  if (capture_status(*stream) != kCaptureActive) return kIllegalState;
  for (size_t i = 0; i < count; ++i)
    if (!stream->capture->graph->has(dependencies[i])) return kInvalidValue;
  if (flags == 1) stream->capture_tail.clear();  // CU_STREAM_SET_CAPTURE_DEPENDENCIES
  stream->capture_tail.insert(stream->capture_tail.end(), dependencies, dependencies + count);
  return kSuccess;
}

}  // namespace

CU_API(cuStreamCreate, (Handle * stream, unsigned flags), (stream, flags)) {
  return create_stream(stream, flags, 0);
}
CU_API(cuStreamCreateWithPriority, (Handle * stream, unsigned flags, int priority),
       (stream, flags, priority)) {
  return create_stream(stream, flags, priority);
}
CU_API(cuStreamDestroy, (Handle stream), (stream)) { return destroy_stream(stream); }
CU_API(cuStreamDestroy_v2, (Handle stream), (stream)) { return destroy_stream(stream); }

CU_STREAM_API(cuStreamSynchronize, _ptsz, (Handle handle), (handle)) {
  std::shared_ptr<Stream> stream;
  CU_TRY(stream_or_error(which, handle, &stream));
  CU_TRY(check_not_capturing(*stream));
  std::vector<std::shared_ptr<Fence>> fences;
  {
    const std::lock_guard lock(stream->context.order);
    fences = stream->pending();
  }
  for (const std::shared_ptr<Fence> &fence : fences) fence->wait();
  return stream->context.status();
}

CU_STREAM_API(cuStreamQuery, _ptsz, (Handle handle), (handle)) {
  std::shared_ptr<Stream> stream;
  CU_TRY(stream_or_error(which, handle, &stream));
  CU_TRY(check_not_capturing(*stream));
  const std::lock_guard lock(stream->context.order);
  for (const std::shared_ptr<Fence> &fence : stream->pending())
    if (!fence->done()) return kNotReady;
  return stream->context.status();
}

CU_STREAM_API(cuStreamWaitEvent, _ptsz, (Handle stream_handle, Handle event_handle, unsigned flags),
              (stream_handle, event_handle, flags)) {
  if (flags > 1) return kInvalidValue;
  std::shared_ptr<Stream> stream;
  CU_TRY(stream_or_error(which, stream_handle, &stream));
  const std::shared_ptr<Event> event = find<Event>(event_handle);
  if (!event) return kInvalidHandle;
  const std::lock_guard lock(stream->context.order);
  return capture_or_wait(*stream, *event);
}

CU_STREAM_API(cuStreamGetFlags, _ptsz, (Handle handle, unsigned *flags), (handle, flags)) {
  if (!flags) return kInvalidValue;
  std::shared_ptr<Stream> stream;
  CU_TRY(stream_or_error(which, handle, &stream));
  *flags = stream->flags;
  return kSuccess;
}
CU_STREAM_API(cuStreamGetPriority, _ptsz, (Handle handle, int *priority), (handle, priority)) {
  if (!priority) return kInvalidValue;
  std::shared_ptr<Stream> stream;
  CU_TRY(stream_or_error(which, handle, &stream));
  *priority = stream->priority;
  return kSuccess;
}
CU_STREAM_API(cuStreamGetId, _ptsz, (Handle handle, unsigned long long *id), (handle, id)) {
  if (!id) return kInvalidValue;
  std::shared_ptr<Stream> stream;
  CU_TRY(stream_or_error(which, handle, &stream));
  *id = stream->id;
  return kSuccess;
}
CU_STREAM_API(cuStreamGetCtx, _ptsz, (Handle handle, Handle *context), (handle, context)) {
  if (!context) return kInvalidValue;
  std::shared_ptr<Stream> stream;
  CU_TRY(stream_or_error(which, handle, &stream));
  *context = handle_of(stream->context);
  return kSuccess;
}
CU_STREAM_API(cuStreamGetCtx_v2, _ptsz, (Handle handle, Handle *context, Handle *green),
              (handle, context, green)) {
  if (!context) return kInvalidValue;
  std::shared_ptr<Stream> stream;
  CU_TRY(stream_or_error(which, handle, &stream));
  *context = handle_of(stream->context);
  if (green) *green = nullptr;
  return kSuccess;
}
CU_STREAM_API(cuStreamGetDevice, _ptsz, (Handle handle, Ordinal *device), (handle, device)) {
  if (!device) return kInvalidValue;
  std::shared_ptr<Stream> stream;
  CU_TRY(stream_or_error(which, handle, &stream));
  *device = stream->context.device.ordinal;
  return kSuccess;
}

CU_STREAM_API(cuLaunchHostFunc, _ptsz, (Handle handle, void (*function)(void *), void *user_data),
              (handle, function, user_data)) {
  if (!function) return kInvalidValue;
  std::shared_ptr<Stream> stream;
  CU_TRY(stream_or_error(which, handle, &stream));
  return submit(*stream, HostWork{{function, user_data}});
}

// Unlike host functions, callbacks are called after an error too, and are told of it.
CU_STREAM_API(cuStreamAddCallback, _ptsz,
              (Handle handle, void (*callback)(Handle, Status, void *), void *user_data, unsigned flags),
              (handle, callback, user_data, flags)) {
  if (!callback || flags != 0) return kInvalidValue;
  std::shared_ptr<Stream> stream;
  CU_TRY(stream_or_error(which, handle, &stream));
  const std::lock_guard lock(stream->context.order);
  if (stream->capture) {
    stream->capture->invalidated = true;
    return kStreamCaptureUnsupported;
  }
  CU_TRY(check_not_implicit(*stream));
  Context &context = stream->context;
  stream->enqueue([=, &context] {
    thread_state().in_callback = true;
    callback(handle, context.status(), user_data);
    thread_state().in_callback = false;
  });
  return kSuccess;
}

CU_API(cuEventCreate, (Handle * event, unsigned flags), (event, flags)) { return create_event(event, flags); }
CU_API(cuEventDestroy, (Handle event), (event)) { return destroy_event(event); }
CU_API(cuEventDestroy_v2, (Handle event), (event)) { return destroy_event(event); }
CU_STREAM_API(cuEventRecord, _ptsz, (Handle event, Handle stream), (event, stream)) {
  return record(which, event, stream);
}
CU_STREAM_API(cuEventRecordWithFlags, _ptsz, (Handle event, Handle stream, unsigned flags),
              (event, stream, flags)) {
  return flags > 1 ? kInvalidValue : record(which, event, stream);
}
CU_API(cuEventQuery, (Handle event), (event)) {
  EventRecord record;
  CU_TRY(event_record(event, &record, nullptr));
  return !record.fence || record.fence->done() ? kSuccess : kNotReady;
}
CU_API(cuEventSynchronize, (Handle event), (event)) {
  EventRecord record;
  CU_TRY(event_record(event, &record, nullptr));
  if (record.fence) record.fence->wait();
  CU_CONTEXT(context);  // the context's status after the wait
  return kSuccess;
}
CU_API(cuEventElapsedTime, (float *milliseconds, Handle start, Handle end), (milliseconds, start, end)) {
  return elapsed(milliseconds, start, end);
}
CU_API(cuEventElapsedTime_v2, (float *milliseconds, Handle start, Handle end), (milliseconds, start, end)) {
  return elapsed(milliseconds, start, end);
}

CU_STREAM_API(cuStreamBeginCapture, _ptsz, (Handle handle), (handle)) {
  std::shared_ptr<Stream> stream;
  CU_TRY(stream_or_error(which, handle, &stream));
  const std::lock_guard lock(stream->context.order);
  return begin_capture(*stream, kCaptureGlobal);
}
CU_STREAM_API(cuStreamBeginCapture_v2, _ptsz, (Handle handle, int mode), (handle, mode)) {
  std::shared_ptr<Stream> stream;
  CU_TRY(stream_or_error(which, handle, &stream));
  const std::lock_guard lock(stream->context.order);
  return begin_capture(*stream, mode);
}
CU_STREAM_API(cuStreamEndCapture, _ptsz, (Handle handle, Handle *graph), (handle, graph)) {
  if (!graph) return kInvalidValue;
  std::shared_ptr<Stream> stream;
  CU_TRY(stream_or_error(which, handle, &stream));
  const std::lock_guard lock(stream->context.order);
  std::shared_ptr<Graph> captured;
  *graph = nullptr;
  CU_TRY(end_capture(*stream, &captured));
  *graph = handle_of(*captured);
  return kSuccess;
}
CU_STREAM_API(cuStreamIsCapturing, _ptsz, (Handle handle, int *status), (handle, status)) {
  return capture_info(which, handle, status, nullptr, nullptr, nullptr, nullptr);
}
CU_STREAM_API(cuStreamGetCaptureInfo, _ptsz, (Handle handle, int *status, uint64_t *id),
              (handle, status, id)) {
  return capture_info(which, handle, status, id, nullptr, nullptr, nullptr);
}
CU_STREAM_API(cuStreamGetCaptureInfo_v2, _ptsz,
              (Handle handle, int *status, uint64_t *id, Handle *graph, const Handle **dependencies,
               size_t *count),
              (handle, status, id, graph, dependencies, count)) {
  return capture_info(which, handle, status, id, graph, dependencies, count);
}
CU_STREAM_API(cuStreamGetCaptureInfo_v3, _ptsz,
              (Handle handle, int *status, uint64_t *id, Handle *graph, const Handle **dependencies,
               const void **edges, size_t *count),
              (handle, status, id, graph, dependencies, edges, count)) {
  if (edges) *edges = nullptr;
  return capture_info(which, handle, status, id, graph, dependencies, count);
}
CU_STREAM_API(cuStreamUpdateCaptureDependencies, _ptsz,
              (Handle handle, Handle *dependencies, size_t count, unsigned flags),
              (handle, dependencies, count, flags)) {
  return update_dependencies(which, handle, dependencies, count, flags);
}
CU_STREAM_API(cuStreamUpdateCaptureDependencies_v2, _ptsz,
              (Handle handle, Handle *dependencies, const void *edges, size_t count, unsigned flags),
              (handle, dependencies, edges, count, flags)) {
  return edges ? kNotSupported : update_dependencies(which, handle, dependencies, count, flags);
}
CU_API(cuThreadExchangeStreamCaptureMode, (int *mode), (mode)) {
  if (!mode || *mode < kCaptureGlobal || *mode > kCaptureRelaxed) return kInvalidValue;
  std::swap(*mode, thread_state().capture_mode);
  return kSuccess;
}
