// A kernel that serves requests until the host says stop, through mapped memory.
#include "check.h"

struct Mailbox {
  volatile int request, answer, stop;
};

__global__ void serve(Mailbox *box) {
  int served = 0;
  while (!box->stop) {
    const int request = box->request;
    if (request == served) continue;
    box->answer = request * request;
    __threadfence_system();
    served = request;
  }
}

int main() {
  Mailbox *box, *mapped;
  CUDA(cudaHostAlloc(&box, sizeof *box, cudaHostAllocMapped));
  box->request = box->answer = box->stop = 0;
  CUDA(cudaHostGetDevicePointer(&mapped, box, 0));
  cudaStream_t stream;
  CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  serve<<<1, 1, 0, stream>>>(mapped);
  CUDA(cudaGetLastError());
  CHECK(cudaStreamQuery(stream) == cudaErrorNotReady);
  cudaGetLastError();
  std::vector<int> answers;
  for (int i = 1; i <= 20; ++i) {
    box->request = i;
    while (box->answer != i * i) {
    }
    answers.push_back(static_cast<int>(box->answer));
  }
  box->stop = 1;
  CUDA(cudaStreamSynchronize(stream));
  CUDA(cudaStreamDestroy(stream));
  CUDA(cudaFreeHost(box));
  record(answers);
  return verdict();
}
