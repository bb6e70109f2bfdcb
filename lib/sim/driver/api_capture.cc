// Stream capture: beginning, ending, asking about it.
#include "lib/sim/driver/capture.h"
#include "lib/sim/driver/export.h"

using namespace egpu::sim;

namespace {

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
CU_STREAM_API(cuStreamBeginCaptureToGraph, _ptsz,
              (Handle handle, Handle graph_handle, const Handle *dependencies, const void *edges,
               size_t count, int mode),
              (handle, graph_handle, dependencies, edges, count, mode)) {
  std::shared_ptr<Stream> stream;
  std::shared_ptr<Graph> graph;
  CU_TRY(stream_or_error(which, handle, &stream));
  CU_TRY(find_graph(graph_handle, &graph));
  if (edges) return kNotSupported;
  if (count && !dependencies) return kInvalidValue;
  for (size_t i = 0; i < count; ++i)
    if (!graph->has(dependencies[i])) return kInvalidValue;
  const std::lock_guard lock(stream->context.order);
  CU_TRY(begin_capture(*stream, mode, graph));
  stream->capture_tail.assign(dependencies, dependencies + count);
  return kSuccess;
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
