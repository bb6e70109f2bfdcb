// A program that notices when something is done to its threads: victim FILE KIND...
// maps FILE as its Shared and runs a thread for each KIND (the first one on the main thread).
// A helper that feeds the others runs where a kind needs one.
#include "tests/inject/victim.h"

#include <errno.h>
#include <fcntl.h>
#include <immintrin.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

extern "C" {
Shared *victim_shared;
long cuLaunchKernel(long, long, long, long, long, long, long);
}

namespace {

void fail(const char *what, long detail = 0) {
  if (!__atomic_exchange_n(&victim_shared->failed, 1, __ATOMIC_SEQ_CST))
    snprintf(victim_shared->failure, sizeof(victim_shared->failure), "%s (%ld, errno %d)", what, detail,
             errno);
  _exit(1);
}

void done(Kind kind) { __atomic_add_fetch(&victim_shared->progress[kind], 1, __ATOMIC_RELAXED); }

uint64_t now_us() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1000000 + static_cast<uint64_t>(t.tv_nsec) / 1000;
}

void start(void *(*body)(void *), void *argument) {
  pthread_t thread;
  if (pthread_create(&thread, nullptr, body, argument) != 0) fail("pthread_create");
}

void poll_forever() {
  int fds[2];
  if (pipe(fds) != 0) fail("pipe");
  pollfd p = {fds[0], POLLIN, 0};
  int n = poll(&p, 1, -1);
  fail("poll returned", n);
}

void sleep_rounds(Kind kind, timespec length) {
  uint64_t least =
      static_cast<uint64_t>(length.tv_sec) * 1000000 + static_cast<uint64_t>(length.tv_nsec) / 1000;
  for (;;) {
    timespec t = length;
    uint64_t begin = now_us();
    if (nanosleep(&t, nullptr) != 0) fail("nanosleep");
    uint64_t took = now_us() - begin;
    if (took < least) fail("nanosleep was short", static_cast<long>(took));
    if (took > victim_shared->longest_sleep_us) victim_shared->longest_sleep_us = took;
    done(kind);
  }
}
void short_sleeps() { sleep_rounds(kSleep, {0, 20 * 1000 * 1000}); }
void long_sleeps() { sleep_rounds(kLongSleep, {1, 0}); }

void *feed_eventfd(void *argument) {
  int fd = static_cast<int>(reinterpret_cast<intptr_t>(argument));
  for (;;) {
    uint64_t one = 1;
    if (write(fd, &one, 8) != 8) fail("eventfd write");
    usleep(3000);
  }
}

void epoll_rounds() {
  int events = eventfd(0, EFD_SEMAPHORE), epoll = epoll_create1(0);
  epoll_event e = {EPOLLIN, {}};
  epoll_ctl(epoll, EPOLL_CTL_ADD, events, &e);
  start(feed_eventfd, reinterpret_cast<void *>(static_cast<intptr_t>(events)));
  for (;;) {
    int n = epoll_wait(epoll, &e, 1, -1);
    if (n < 0 && errno == EINTR && victim_shared->may_be_interrupted) continue;
    if (n != 1) fail("epoll_wait", n);
    uint64_t value;
    if (read(events, &value, 8) != 8 || value != 1) fail("eventfd read");
    done(kEpoll);
  }
}

pthread_mutex_t ball_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t ball_moved = PTHREAD_COND_INITIALIZER;
uint64_t ball;

void play(uint64_t side) {
  for (uint64_t round = 0;; ++round) {
    pthread_mutex_lock(&ball_lock);
    while (ball % 2 != side) pthread_cond_wait(&ball_moved, &ball_lock);
    if (ball != 2 * round + side) fail("ball is wrong", static_cast<long>(ball));
    ++ball;
    pthread_cond_broadcast(&ball_moved);
    pthread_mutex_unlock(&ball_lock);
    if (side == 0) done(kCondition);
    if (round % 64 == 0) usleep(200);
  }
}
void *play_other(void *) {
  play(1);
  return nullptr;
}
void condition_rounds() {
  start(play_other, nullptr);
  play(0);
}

void malloc_rounds() {
  unsigned seed = static_cast<unsigned>(now_us());
  constexpr int kBlocks = 64;
  unsigned char *blocks[kBlocks] = {};
  size_t sizes[kBlocks] = {};
  for (;;) {
    int i = static_cast<int>(static_cast<unsigned>(rand_r(&seed)) % kBlocks);
    for (size_t k = 0; k < sizes[i]; k += 97)
      if (blocks[i][k] != static_cast<unsigned char>(i)) fail("heap block changed", i);
    free(blocks[i]);
    sizes[i] = 1 + static_cast<size_t>(rand_r(&seed)) % (i % 8 == 0 ? 300000 : 3000);
    blocks[i] = static_cast<unsigned char *>(malloc(sizes[i]));
    memset(blocks[i], i, sizes[i]);
    done(kMalloc);
  }
}

__attribute__((target("avx2"))) void vector_rounds() {
  for (uint64_t round = 1;; ++round) {
    __m256i a = _mm256_set1_epi64x(static_cast<long long>(round * 0x9e3779b97f4a7c15ull));
    int equal;
    // Values in registers only, for about a million cycles.
    asm volatile(
        "vmovdqa %1,%%ymm0\n vpaddq %1,%1,%%ymm7\n vmovdqa %1,%%ymm15\n"
        "mov $400000,%%rcx\n mov %%rcx,%%r11\n"
        "1: dec %%rcx\n jnz 1b\n"
        "vpsubq %%ymm0,%%ymm7,%%ymm7\n vpcmpeqq %%ymm7,%%ymm15,%%ymm1\n vpmovmskb %%ymm1,%0\n"
        "cmp $400000,%%r11\n je 2f\n xor %0,%0\n 2:\n"
        : "=&r"(equal)
        : "x"(a)
        : "xmm0", "xmm1", "xmm7", "xmm15", "rcx", "r11", "cc");
    if (equal != -1) fail("vector registers changed", equal);
    done(kVector);
  }
}

void launch_rounds() {
  for (long i = 1;; ++i) {
    long sum = cuLaunchKernel(i, 2, 3, 4, 5, 6, 7);
    if (sum != i + 27) fail("launch got wrong arguments", sum);
    done(kLaunch);
    if (i % 1000 == 0) usleep(100);
  }
}

void *feed_pipe(void *argument) {
  int fd = static_cast<int>(reinterpret_cast<intptr_t>(argument));
  for (unsigned i = 0;; ++i) {
    auto byte = static_cast<unsigned char>(i);
    if (write(fd, &byte, 1) != 1) fail("pipe write");
    usleep(2000);
  }
}

void read_rounds() {
  int fds[2];
  if (pipe(fds) != 0) fail("pipe");
  start(feed_pipe, reinterpret_cast<void *>(static_cast<intptr_t>(fds[1])));
  for (unsigned i = 0;; ++i) {
    unsigned char byte;
    ssize_t n = read(fds[0], &byte, 1);
    if (n != 1 || byte != static_cast<unsigned char>(i)) fail("read", n);
    done(kRead);
  }
}

struct Sender {
  pid_t tid;
  int signal;
};
void *send_signals(void *argument) {
  auto *sender = static_cast<Sender *>(argument);
  for (int i = 0;; ++i) {
    siginfo_t info = {};
    info.si_code = SI_QUEUE;
    info.si_value.sival_int = i;
    if (syscall(SYS_rt_tgsigqueueinfo, getpid(), sender->tid, sender->signal, &info) != 0 && errno != EAGAIN)
      fail("tgsigqueue");
    usleep(1000);
  }
}

void sigwait_rounds() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGRTMIN + 1);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  static Sender sender;
  sender = {static_cast<pid_t>(syscall(SYS_gettid)), SIGRTMIN + 1};
  start(send_signals, &sender);
  for (int i = 0;; ++i) {
    siginfo_t info;
    int got = sigwaitinfo(&set, &info);
    while (got < 0 && errno == EINTR && victim_shared->may_be_interrupted) got = sigwaitinfo(&set, &info);
    if (got != SIGRTMIN + 1) fail("sigwaitinfo", got);
    if (info.si_value.sival_int != i) fail("signal lost for sigwait", info.si_value.sival_int - i);
    done(kSigwait);
  }
}

int handled;
void handle(int, siginfo_t *info, void *) {
  if (info->si_value.sival_int != handled)
    fail("signal lost for the handler", info->si_value.sival_int - handled);
  ++handled;
  done(kHandler);
}
void handler_rounds() {
  struct sigaction action = {};
  action.sa_sigaction = handle;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  sigaction(SIGRTMIN + 2, &action, nullptr);
  static Sender sender;
  sender = {static_cast<pid_t>(syscall(SYS_gettid)), SIGRTMIN + 2};
  start(send_signals, &sender);
  for (;;) pause();
}

void (*const kBodies[kKinds])() = {poll_forever,   short_sleeps,   epoll_rounds,  condition_rounds,
                                   malloc_rounds,  vector_rounds,  launch_rounds, read_rounds,
                                   sigwait_rounds, handler_rounds, long_sleeps};

void *run_kind(void *argument) {
  kBodies[reinterpret_cast<intptr_t>(argument)]();
  return nullptr;
}

}  // namespace

int main(int argc, char **argv) {
  if (argc < 3) return 2;
  int fd = open(argv[1], O_RDWR);
  victim_shared =
      static_cast<Shared *>(mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
  if (victim_shared == MAP_FAILED) return 3;
  __atomic_store_n(&victim_shared->started, 1, __ATOMIC_SEQ_CST);
  cuLaunchKernel(1, 2, 3, 4, 5, 6, 7);
  for (int i = argc - 1; i >= 2; --i)
    for (intptr_t kind = 0; kind < kKinds; ++kind) {
      if (strcmp(argv[i], kKindNames[kind]) != 0) continue;
      if (i == 2)
        run_kind(reinterpret_cast<void *>(kind));
      else
        start(run_kind, reinterpret_cast<void *>(kind));
    }
  return 4;
}
