#include "lib/loader/agent/maps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/loader/agent/socket.h"

namespace egpu::agent {
namespace {

bool read_fully(int fd, uint8_t *to, size_t bytes, uint64_t offset) {
  while (bytes) {
    ssize_t got = pread(fd, to, bytes, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    to += got;
    offset += static_cast<uint64_t>(got);
    bytes -= static_cast<size_t>(got);
  }
  return true;
}

bool write_fully(int fd, const uint8_t *from, size_t bytes, uint64_t offset) {
  while (bytes) {
    ssize_t put = pwrite(fd, from, bytes, static_cast<off_t>(offset));
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    from += put;
    offset += static_cast<uint64_t>(put);
    bytes -= static_cast<size_t>(put);
  }
  return true;
}

// A buffer that copies go through: pinned, so that they are asynchronous; ordinary memory if need be.
bool make_staging(ContextState *state) {
  if (state->staging) return true;
  void *memory = nullptr;
  state->staging_pinned = cu.cuMemHostAlloc && cu.cuMemHostAlloc(&memory, kStagingBytes, 0) == 0;
  if (!state->staging_pinned) memory = malloc(kStagingBytes);
  state->staging = static_cast<uint8_t *>(memory);
  return memory != nullptr;
}

// Initial contents of a block: from the file to the device, a piece at a time.
CUresult fill(ContextState *state, const MapMemory &map) {
  CUresult error = cu.cuMemsetD8Async(map.address, 0, map.block.size_bytes, state->stream);
  uint64_t bytes = map.block.initial_bytes;
  if (error == 0 && bytes > map.block.size_bytes) return driver::kInvalidValue;
  for (uint64_t done = 0; error == 0 && done < bytes;) {
    size_t piece = bytes - done < kStagingBytes ? bytes - done : kStagingBytes;
    if (!read_fully(state->snapshot_fd, state->staging, piece, map.block.initial_offset + done))
      return driver::kInvalidValue;
    error = cu.cuMemcpyHtoDAsync_v2(map.address + done, state->staging, piece, state->stream);
    if (error == 0) error = cu.cuStreamSynchronize(state->stream);  // the buffer is used again
    done += piece;
  }
  return error != 0 ? error : cu.cuStreamSynchronize(state->stream);
}

CUresult allocate(ContextState *state, const session::Maps &maps, const session::MapBlock *blocks, int fd) {
  if (state->maps) return driver::kInvalidValue;  // one set per session
  struct stat file;
  if (fd < 0 || fstat(fd, &file) != 0) return driver::kInvalidValue;
  uint64_t file_bytes = static_cast<uint64_t>(file.st_size);
  for (uint32_t i = 0; i < maps.count; ++i) {
    const session::MapBlock &b = blocks[i];
    if (b.size_bytes == 0 || b.file_offset > file_bytes || b.size_bytes > file_bytes - b.file_offset)
      return driver::kInvalidValue;
  }
  state->maps = static_cast<MapMemory *>(calloc(maps.count ? maps.count : 1, sizeof(MapMemory)));
  if (!state->maps || !make_staging(state)) return driver::kOutOfMemory;
  state->snapshot_fd = fd;
  for (uint32_t i = 0; i < maps.count; ++i) {
    MapMemory &map = state->maps[i];
    map.block = blocks[i];
    if (CUresult error = cu.cuMemAlloc_v2(&map.address, map.block.size_bytes)) return error;
    state->map_count = i + 1;
    if (CUresult error = fill(state, map)) return error;
  }
  return driver::kSuccess;
}

bool copy_out(ContextState *state, const MapMemory &map) {
  for (uint64_t done = 0; done < map.block.size_bytes;) {
    size_t piece = map.block.size_bytes - done < kStagingBytes ? map.block.size_bytes - done : kStagingBytes;
    if (cu.cuMemcpyDtoHAsync_v2(state->staging, map.address + done, piece, state->stream) != 0 ||
        cu.cuStreamSynchronize(state->stream) != 0 ||
        !write_fully(state->snapshot_fd, state->staging, piece, map.block.file_offset + done))
      return false;
    done += piece;
  }
  return true;
}

void free_maps(ContextState *state) {
  for (uint32_t i = 0; i < state->map_count; ++i) cu.cuMemFree_v2(state->maps[i].address);
  free(state->maps);
  state->maps = nullptr;
  state->map_count = 0;
}

}  // namespace

void make_maps(const session::Maps &maps, const session::MapBlock *blocks, int fd) {
  ContextState *state = enter_context(reinterpret_cast<CUcontext>(maps.context));
  CUresult error = driver::kInvalidContext;
  bool fresh = state && !state->maps;
  if (state) error = allocate(state, maps, blocks, fd);
  if (error != 0 && fresh) {
    free_maps(state);
    state->snapshot_fd = -1;
  }
  if (fd >= 0 && (!state || state->snapshot_fd != fd)) close(fd);

  session::MapBlocks answer = {maps.context, error == 0 ? maps.count : 0, static_cast<uint32_t>(error)};
  uint64_t *addresses = static_cast<uint64_t *>(calloc(maps.count ? maps.count : 1, sizeof(uint64_t)));
  if (!addresses) return;
  for (uint32_t i = 0; i < answer.count; ++i) addresses[i] = state->maps[i].address;
  send_packet(session::Kind::map_blocks, &answer, sizeof answer, addresses, answer.count * sizeof(uint64_t));
  free(addresses);
}

void snapshot_context(ContextState *state, bool final) {
  // Taken before the copy: everything that happened earlier is in it.
  session::SnapshotDone done = {reinterpret_cast<uint64_t>(state->handle.load()), now_ns(), 1, final};
  for (uint32_t i = 0; i < state->map_count; ++i)
    if (!copy_out(state, state->maps[i])) done.ok = 0;
  state->snapshot_ok = done.ok;
  state->snapshot_ns = done.time_ns;
  send_packet(session::Kind::snapshot_done, &done, sizeof done);
}

void confirm_final(const ContextState &state) {
  if (!state.maps) return;
  session::SnapshotDone done = {reinterpret_cast<uint64_t>(state.handle.load()), state.snapshot_ns,
                                state.snapshot_ok, 1};
  send_packet(session::Kind::snapshot_done, &done, sizeof done);
}

void snapshot_all(bool final) {
  bool any = false;
  for (ContextState &state : contexts) {
    if (!state.handle || !state.maps || process.exiting) continue;
    any = true;
    if (enter_context(state.handle)) snapshot_context(&state, final);
  }
  session::SnapshotDone nothing = {0, now_ns(), 0, final};
  if (!any) send_packet(session::Kind::snapshot_done, &nothing, sizeof nothing);
}

void set_ring_tail(const session::RingTail &tail) {
  ContextState *state = find_context(reinterpret_cast<CUcontext>(tail.context));
  constexpr uint64_t kTailOffset = 8;  // lib/loader/map/layout.h, PrintkHeader::tail
  if (!state || tail.map >= state->map_count ||
      state->maps[tail.map].block.size_bytes < kTailOffset + sizeof tail.tail ||
      !enter_context(state->handle))
    return;
  memcpy(state->staging, &tail.tail, sizeof tail.tail);
  CUdeviceptr to = state->maps[tail.map].address + kTailOffset;
  if (cu.cuMemcpyHtoDAsync_v2(to, state->staging, sizeof tail.tail, state->stream) == 0)
    cu.cuStreamSynchronize(state->stream);
}

CUresult make_slots(ContextState *state) {
  if (state->slots) return driver::kSuccess;
  constexpr size_t kBytes = size_t{kSlotBytes} * (kRingSlots + kCaptureSlots);
  CUdeviceptr address = 0;
  CUresult error = cu.cuMemAlloc_v2(&address, kBytes);
  if (error == 0) error = cu.cuMemsetD8Async(address, 0, kBytes, state->stream);
  if (error == 0) error = cu.cuStreamSynchronize(state->stream);
  if (error != 0) {
    if (address) cu.cuMemFree_v2(address);
    return error;
  }
  state->slots = address;
  return driver::kSuccess;
}

}  // namespace egpu::agent
