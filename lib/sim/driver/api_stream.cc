// Streams, events, host functions.
#include <algorithm>
#include <cstring>

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

// Attributes say how work is done, not what: remembered for the program to read, but the priority.
constexpr bool is_stream_attribute(int id) {
  return id == 1 || id == 3 || id == kLaunchPriority || id == 9 || id == 10 || id == 16;
}

Status get_attribute(Stream &stream, int id, CUlaunchAttribute *attribute) {
  if (!is_stream_attribute(id)) return kInvalidValue;
  const std::lock_guard lock(stream.context.order);
  *attribute = {id, {}, {}};
  if (id == kLaunchPriority) std::memcpy(attribute->value, &stream.priority, sizeof stream.priority);
  if (const auto found = stream.attributes.find(id); found != stream.attributes.end())
    *attribute = found->second;
  return kSuccess;
}

Status set_attribute(Stream &stream, int id, const void *value) {
  if (!is_stream_attribute(id) || !value) return kInvalidValue;
  CUlaunchAttribute attribute{id, {}, {}};
  std::memcpy(attribute.value, value, sizeof attribute.value);
  const std::lock_guard lock(stream.context.order);
  if (id == kLaunchPriority) {
    std::memcpy(&stream.priority, attribute.value, sizeof stream.priority);
    stream.priority = std::min(kLeastPriority, std::max(kGreatestPriority, stream.priority));
  } else {
    stream.attributes[id] = attribute;
  }
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
  return driver().status();
}

CU_STREAM_API(cuStreamQuery, _ptsz, (Handle handle), (handle)) {
  std::shared_ptr<Stream> stream;
  CU_TRY(stream_or_error(which, handle, &stream));
  CU_TRY(check_not_capturing(*stream));
  const std::lock_guard lock(stream->context.order);
  for (const std::shared_ptr<Fence> &fence : stream->pending())
    if (!fence->done()) return kNotReady;
  return driver().status();
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
CU_STREAM_API(cuStreamGetAttribute, _ptsz, (Handle handle, int id, void *value), (handle, id, value)) {
  std::shared_ptr<Stream> stream;
  CU_TRY(stream_or_error(which, handle, &stream));
  CUlaunchAttribute attribute;
  CU_TRY(get_attribute(*stream, id, &attribute));
  if (!value) return kInvalidValue;
  std::memcpy(value, attribute.value, sizeof attribute.value);
  return kSuccess;
}
CU_STREAM_API(cuStreamSetAttribute, _ptsz, (Handle handle, int id, const void *value), (handle, id, value)) {
  std::shared_ptr<Stream> stream;
  CU_TRY(stream_or_error(which, handle, &stream));
  return set_attribute(*stream, id, value);
}
CU_STREAM_API(cuStreamCopyAttributes, _ptsz, (Handle to, Handle from), (to, from)) {
  std::shared_ptr<Stream> to_stream, from_stream;
  CU_TRY(stream_or_error(which, to, &to_stream));
  CU_TRY(stream_or_error(which, from, &from_stream));
  if (&to_stream->context != &from_stream->context) return kInvalidValue;
  const std::lock_guard lock(to_stream->context.order);
  to_stream->attributes = from_stream->attributes;
  to_stream->priority = from_stream->priority;
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
    callback(handle, driver().status(), user_data);
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
