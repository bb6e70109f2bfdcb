// Streams, capture and events.
#include "lib/sim/runtime/export.h"

using namespace egpu::rt;

RT_FORWARD(cudaStreamCreate, cuStreamCreate, (Handle * stream), (stream, 0))
RT_FORWARD(cudaStreamCreateWithFlags, cuStreamCreate, (Handle * stream, unsigned flags), (stream, flags))
RT_FORWARD(cudaStreamCreateWithPriority, cuStreamCreateWithPriority,
           (Handle * stream, unsigned flags, int priority), (stream, flags, priority))
RT_FORWARD(cudaStreamDestroy, cuStreamDestroy_v2, (Handle stream), (stream))
RT_STREAM_FORWARD(cudaStreamGetPriority, cuStreamGetPriority, (Handle stream, int *priority),
                  (which(stream), priority))
RT_STREAM_FORWARD(cudaStreamGetFlags, cuStreamGetFlags, (Handle stream, unsigned *flags),
                  (which(stream), flags))
RT_STREAM_FORWARD(cudaStreamGetId, cuStreamGetId, (Handle stream, unsigned long long *id),
                  (which(stream), id))
RT_STREAM_FORWARD(cudaStreamGetDevice, cuStreamGetDevice, (Handle stream, Ordinal *device),
                  (which(stream), device))
RT_STREAM_FORWARD(cudaStreamGetAttribute, cuStreamGetAttribute, (Handle stream, int id, void *value),
                  (which(stream), id, value))
RT_STREAM_FORWARD(cudaStreamSetAttribute, cuStreamSetAttribute, (Handle stream, int id, const void *value),
                  (which(stream), id, value))
RT_STREAM_FORWARD(cudaStreamCopyAttributes, cuStreamCopyAttributes, (Handle to, Handle from),
                  (which(to), which(from)))
RT_STREAM_FORWARD(cudaStreamSynchronize, cuStreamSynchronize, (Handle stream), (which(stream)))
RT_STREAM_FORWARD(cudaStreamQuery, cuStreamQuery, (Handle stream), (which(stream)))
RT_STREAM_FORWARD(cudaStreamWaitEvent, cuStreamWaitEvent, (Handle stream, Handle event, unsigned flags),
                  (which(stream), event, flags))
RT_STREAM_FORWARD(cudaStreamAddCallback, cuStreamAddCallback,
                  (Handle stream, void (*callback)(Handle, int, void *), void *user_data, unsigned flags),
                  (which(stream), callback, user_data, flags))
RT_STREAM_FORWARD(cudaStreamAttachMemAsync, cuStreamAttachMemAsync,
                  (Handle stream, Address address, size_t size_bytes, unsigned flags),
                  (which(stream), address, size_bytes, flags))

RT_STREAM_FORWARD(cudaStreamBeginCapture, cuStreamBeginCapture_v2, (Handle stream, int mode),
                  (which(stream), mode))
RT_STREAM_FORWARD(cudaStreamBeginCaptureToGraph, cuStreamBeginCaptureToGraph,
                  (Handle stream, Handle graph, const Handle *dependencies, const void *edges, size_t count,
                   int mode),
                  (which(stream), graph, dependencies, edges, count, mode))
RT_STREAM_FORWARD(cudaStreamEndCapture, cuStreamEndCapture, (Handle stream, Handle *graph),
                  (which(stream), graph))
RT_STREAM_FORWARD(cudaStreamIsCapturing, cuStreamIsCapturing, (Handle stream, int *status),
                  (which(stream), status))
RT_STREAM_FORWARD(cudaStreamGetCaptureInfo, cuStreamGetCaptureInfo_v3,
                  (Handle stream, int *status, unsigned long long *id, Handle *graph,
                   const Handle **dependencies, const void **edges, size_t *count),
                  (which(stream), status, id, graph, dependencies, edges, count))
RT_STREAM_FORWARD(cudaStreamUpdateCaptureDependencies, cuStreamUpdateCaptureDependencies_v2,
                  (Handle stream, Handle *dependencies, const void *edges, size_t count, unsigned flags),
                  (which(stream), dependencies, edges, count, flags))
RT_FORWARD(cudaThreadExchangeStreamCaptureMode, cuThreadExchangeStreamCaptureMode, (int *mode), (mode))

RT_FORWARD(cudaEventCreate, cuEventCreate, (Handle * event), (event, 0))
RT_FORWARD(cudaEventCreateWithFlags, cuEventCreate, (Handle * event, unsigned flags), (event, flags))
RT_FORWARD(cudaEventDestroy, cuEventDestroy_v2, (Handle event), (event))
RT_STREAM_FORWARD(cudaEventRecord, cuEventRecord, (Handle event, Handle stream), (event, which(stream)))
RT_STREAM_FORWARD(cudaEventRecordWithFlags, cuEventRecordWithFlags,
                  (Handle event, Handle stream, unsigned flags), (event, which(stream), flags))
RT_FORWARD(cudaEventQuery, cuEventQuery, (Handle event), (event))
RT_FORWARD(cudaEventSynchronize, cuEventSynchronize, (Handle event), (event))
RT_FORWARD(cudaEventElapsedTime, cuEventElapsedTime_v2, (float *milliseconds, Handle start, Handle end),
           (milliseconds, start, end))
