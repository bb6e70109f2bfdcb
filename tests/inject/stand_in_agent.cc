// An agent that counts. Attaching uses what the real one uses: malloc, a lock, a thread of its
// own; the victim's counters are found by symbol. Its replacement for cuLaunchKernel calls the
// original through the trampoline.
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/inject/victim.h"

using Launch = long (*)(long, long, long, long, long, long, long);
static Launch original;
static Shared *shared;

extern "C" long agent_launch(long a, long b, long c, long d, long e, long f, long g) {
  __atomic_add_fetch(&shared->hooked_launches, 1, __ATOMIC_RELAXED);
  return original(a, b, c, d, e, f, g);
}

static void *run(void *text) {
  __atomic_add_fetch(&shared->agent_threads, 1, __ATOMIC_SEQ_CST);
  free(text);
  return nullptr;
}

extern "C" int egpu_agent_attach(const char *socket_path) {
  if (strcmp(socket_path, "/refuse") == 0) return 13;
  if (strcmp(socket_path, "/fault") == 0) *static_cast<volatile int *>(nullptr) = 1;
  bool slow = strcmp(socket_path, "/slow") == 0;
  for (int i = 0; slow && i < 200; ++i) usleep(10000);
  auto **place = static_cast<Shared **>(dlsym(RTLD_DEFAULT, "victim_shared"));
  if (!place) return 2;
  shared = *place;
  if (!original) {
    // Below the driver, as the real agent does it.
    auto driver = reinterpret_cast<uint64_t>(dlsym(RTLD_DEFAULT, "cuLaunchKernel"));
    for (uint64_t step = 1 << 20; !original && step < (1ull << 30); step += 1 << 20) {
      void *at =
          mmap(reinterpret_cast<void *>((driver - step) & ~0xfffull), 4096,
               PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
      if (at != MAP_FAILED) original = reinterpret_cast<Launch>(at);
    }
    shared->launch_address = driver;
    shared->trampoline = reinterpret_cast<uint64_t>(original);
    shared->replacement = reinterpret_cast<uint64_t>(&agent_launch);
  }
  double x = 1.5;  // touch the vector registers
  for (int i = 0; i < 1000; ++i) x = x * 1.25 - static_cast<double>(i);
  shared->noise = x;
  asm volatile("vpcmpeqd %%ymm0,%%ymm0,%%ymm0\nvmovdqa %%ymm0,%%ymm7\nvmovdqa %%ymm0,%%ymm15" ::: "memory");
  pthread_t thread;
  if (pthread_create(&thread, nullptr, run, strdup(socket_path)) != 0) return 11;
  pthread_detach(thread);
  __atomic_add_fetch(&shared->attaches, 1, __ATOMIC_SEQ_CST);
  return 0;
}
