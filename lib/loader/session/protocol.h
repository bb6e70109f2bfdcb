// Messages between egpu-load and the agents in the target processes.
//
// One SEQPACKET Unix socket per agent: the agent connects to the session's socket, egpu-load
// checks its uid. A packet is a Header and `size_bytes` of payload: the message's struct, then
// its variable part. Bulk data travels as a file descriptor (memfd, sealed or not; the receiver
// fstats it) attached to the packet. All integers little endian; both ends check every length.
// Plain C layout, no libstdc++: the agent includes this file.
//
//   agent -> egpu-load                         egpu-load -> agent
//   hello      process and device              hooks_ready  jumps are prepared: trampolines (start
//   entries    driver entry points to hook                  mode: agent writes the jumps; attach: egpu-load has)
//   context    a context exists: device facts  maps         sizes; fd: snapshot file
//   map_blocks device addresses
//   image      a module was loaded (fd: PTX    want_globals names to look up
//              entries or the text)
//   kernel     a function was seen
//   globals    addresses, 0: not found         load         patched modules (fd: PTX), with kernels
//   loaded     per module: ok or driver's log  snapshot     copy all maps to the snapshot file
//   snapshot_done                              ring_tail    consumed position of a printk ring
//   ending     process is about to exit        detach       original kernels from now on
//   detached
//   warning    text
//   measured   what one kernel takes, original and patched (only if asked for)
#pragma once
#include <stdint.h>

namespace egpu::session {

constexpr uint32_t kProtocolVersion = 2;
constexpr uint32_t kMaxPacketBytes = 64 * 1024;

enum class Kind : uint32_t {
  hello = 1, entries, context, map_blocks, image, kernel, globals, loaded, snapshot_done, ending, detached, warning,
  measured,
  hooks_ready = 100, maps, want_globals, load, snapshot, ring_tail, detach,
};

struct Header {
  Kind kind;
  uint32_t size_bytes;  // of what follows
};

enum Mode : uint32_t { kStart = 0, kAttach = 1 };

struct Hello {
  uint32_t version, mode;
  int32_t pid;
  uint32_t reserved;
};

// Entries: `count` of these. egpu-load reads the code at `address`, relocates its first
// instructions into a trampoline and answers HooksReady.
struct EntryPoint {
  uint64_t address;      // of the driver's function
  uint64_t replacement;  // of the agent's function
  uint64_t trampoline;   // 64 bytes of agent memory near `address` (or anywhere), for egpu-load's code
  uint8_t code[32];      // at `address`, before any hook
  char name[48];         // "cuLaunchKernel_ptsz"
};
struct Entries { uint32_t count, reserved; };

// For each entry point, in the same order: code for its trampoline (relocated instructions and
// the jump back) and the 8 bytes to store at `address`. ok = 0: this entry cannot be hooked.
struct Hook {
  uint8_t trampoline[64];
  uint64_t original, jump;
  uint32_t ok, written;  // written: egpu-load stored `jump` already (attach)
};
struct HooksReady { uint32_t count, reserved; };

struct Context {  // sent once per CUDA context that launches; maps belong to a context
  uint64_t context;
  int32_t device, compute_major, compute_minor, sm_count, driver_version, reserved;
  int64_t ktime_offset_ns;  // CLOCK_MONOTONIC - %globaltimer
  char device_name[64];
};

struct MapBlock { uint64_t size_bytes, file_offset; uint64_t initial_offset, initial_bytes; };  // initial: in the file, copied to
                                                                                                // the block's start
struct Maps { uint64_t context; uint32_t count, reserved; };                    // then MapBlock[count]
struct MapBlocks { uint64_t context; uint32_t count, error; };                  // then u64 address[count]

enum ImageForm : uint32_t { kPtxText = 0, kFatbin = 1, kElf = 2 };
struct Image {          // fd: the bytes
  uint64_t module;      // CUmodule or CUlibrary; 0 in attach mode's own finds
  uint32_t form, is_library;
};

struct Kernel {         // a function seen at a launch that the agent knows nothing about
  uint64_t function;    // CUfunction or CUkernel, as launched
  uint64_t module;      // CUmodule or CUlibrary
  uint64_t context;
  uint32_t is_kernel;   // a CUkernel
  uint32_t waiting;     // start mode: a launch waits for the answer
  // Of that launch: threads of a block, bytes of its dynamic shared memory.
  uint32_t block_threads, block_shared_bytes;
  // then the mangled name, NUL-ended
};

struct WantGlobals { uint64_t module, context; uint32_t is_library, count; };   // then NUL-ended names
struct Globals { uint64_t module; uint32_t count, reserved; };                  // then u64 address[count]

// Load: the fd holds LoadModule[module_count], LoadKernel[kernel_count], then the bytes they point
// to (offsets from the start of the file). A kernel with kUnprobed only says "launch the original".
struct Load { uint64_t context; uint32_t module_count, kernel_count; };
struct LoadModule { uint64_t text_offset, text_bytes; };  // PTX, NUL-ended
enum LoadFlags : uint32_t { kUnprobed = 1, kLaunchParameters = 2, kMeasure = 4 };
struct LoadKernel {
  uint64_t function;     // as in Kernel
  uint64_t name_offset;  // its name in the patched module, NUL-ended
  uint32_t module;       // index into LoadModule
  uint32_t flags;
  uint32_t parameter_count, parameter_bytes;
  uint32_t block_threads = 0, block_shared_bytes = 0;  // as in Kernel, for kMeasure
};

// Per thread, per block, and blocks that fit on an SM; -1: the driver did not say.
struct Footprint { int32_t registers, local_bytes, shared_bytes, blocks_per_sm; };
struct Measured { uint64_t function; Footprint original, patched; };  // before its module's Loaded
struct Loaded { uint32_t module, ok; uint32_t compile_us, load_us; };           // then the driver's log, NUL-ended

struct SnapshotDone { uint64_t context, time_ns; uint32_t ok, final; };
struct RingTail { uint64_t context; uint32_t map, reserved; uint64_t tail; };
struct Detached { uint64_t launches_probed; uint32_t drained, reserved; };

}  // namespace egpu::session
