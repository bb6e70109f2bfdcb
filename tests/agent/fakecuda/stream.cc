// Streams and their captures.
#include <utility>

#include "tests/agent/fakecuda/state.h"

void fakecuda::unsafe_call() {
  if (captures > 0 && capture_mode != kCaptureModeRelaxed) broken_capture = true;
}

HOOKABLE(cuStreamBeginCapture_v2);
IMPLEMENT fake_cuStreamBeginCapture_v2(CUstream stream, int) {
  reinterpret_cast<Stream *>(stream)->capturing = true;
  ++captures;
  return 0;
}

HOOKABLE(cuStreamEndCapture);
IMPLEMENT fake_cuStreamEndCapture(CUstream stream, CUgraph *) {
  reinterpret_cast<Stream *>(stream)->capturing = false;
  --captures;
  return broken_capture ? 901 : 0;
}

EXPORT cuThreadExchangeStreamCaptureMode(int *mode) {
  std::swap(*mode, capture_mode);
  return 0;
}

EXPORT cuStreamCreate(CUstream *stream, unsigned) {
  unsafe_call();
  *stream = reinterpret_cast<CUstream>(keep(new Stream));
  return 0;
}

EXPORT cuStreamDestroy_v2(CUstream) { return 0; }

EXPORT cuStreamSynchronize(CUstream) { return 0; }

EXPORT cuStreamQuery(CUstream) { return 0; }

EXPORT cuStreamIsCapturing(CUstream stream, int *status) {
  *status = reinterpret_cast<uintptr_t>(stream) > 2 && reinterpret_cast<Stream *>(stream)->capturing;
  return 0;
}
