// PTX images out of fatbins, cubins, ELF files, PTX texts and running processes.
//
// In: bytes that nobody vouches for. Out: Containers, one per fatbin (whose images are the same
// code for several architectures), per PTX text, or per cubin with the PTX it was made from
// (.nv_debug_ptx_txt: Triton). Compressed images (zstd, LZ4) are inflated, at most kMaxImageBytes
// each. Error: what is malformed, where and why. Source: cuda-formats.md, section 6.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "egpu/result.h"

namespace egpu::fatbin {

constexpr uint64_t kMaxImageBytes = uint64_t{1} << 30;

struct PtxImage {
  std::string text;            // no NUL in it
  int arch = 0;                // 90 for sm_90, sm_90a
  bool arch_specific = false;  // sm_90a
  bool family = false;         // sm_100f
  std::string options;         // ptxas options of the build, "--generate-line-info"; often empty
  std::string where;           // "a.out: fatbin at 0x2040: entry at 0x10", for messages
};

// How much a find in a process's memory is worth: fatbins and cubins are checked formats; a text in
// a mapped file is what the program was built with; a text in anonymous memory may be a copy that
// the driver made, or the rest of one that was freed.
enum class Origin { image, file_text, memory_text };

struct Container {
  std::vector<PtxImage> ptx;
  bool has_cubin = false;
  std::string where;
  Origin origin = Origin::image;
};

/// In the `.version` line of every module that eGPU patched, so that a scan passes it over.
constexpr std::string_view kPatchedMark = "// patched by eGPU";

/// All containers in a fatbin, an ELF file (host or cubin) or a PTX text, whichever `bytes` is.
/// An ELF file without any gives an empty list. Error: none of the three, or malformed.
Result<std::vector<Container>> images_in(std::span<const uint8_t> bytes, const std::string &where);
Result<std::vector<Container>> images_in_file(const std::string &path);

/// The image the driver would compile for a device: the arch-specific one of exactly this
/// device, else the highest architecture not above it, of two equal ones the family's. Null: none.
const PtxImage *choose(const Container &container, int cc_major, int cc_minor);

struct ScanProgress {
  uint64_t scanned_bytes, total_bytes;
};

/// The containers in a running process's memory, equal ones once. Only containers with PTX, and
/// those whose fatbin had only cubins counted in them (has_cubin, ptx empty). Malformed ones are
/// passed over: memory holds much that looks like a fatbin. Error: the memory cannot be read.
Result<std::vector<Container>> images_of_process(pid_t pid,
                                                 const std::function<void(ScanProgress)> &progress = {});

/// Fills arch, arch_specific and family from a text's `.target` line. False: it has none.
bool read_target(std::string_view text, PtxImage &image);

}  // namespace egpu::fatbin
