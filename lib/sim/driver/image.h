// What a program hands over as code: PTX text, a fatbin or its wrapper record, an ELF file; told
// apart by their magic (cuda-formats.md, section 6). The simulator runs PTX, so an image
// without PTX for the device is kNoBinaryForGpu.
//
// cuLinkComplete's result is an ELF file of our own: a cubin's header, and the PTX in sections
// named .egpu.ptx.
#pragma once
#include <string>
#include <vector>

#include "lib/sim/driver/api.h"
#include "lib/sim/machine/machine.h"

namespace egpu::sim {

struct Image {
  std::vector<std::string> texts;  // PTX, one module each
};

/// Is it the record that leads to a fatbin?
bool is_wrapper(const void *image);
/// `size_bytes` is 0 where the API does not say it: then the image says it itself.
/// `cause` gets a sentence where the result is an error.
Status read_image(const void *image, size_t size_bytes, const DeviceConfig &device, Image *read,
                  std::string *cause);
Status read_image_file(const char *path, const DeviceConfig &device, Image *read, std::string *cause);

std::vector<uint8_t> linked_image(const Image &image, const DeviceConfig &device);

/// The log options of a JIT call (cuModuleLoadDataEx, cuLink*).
class JitLog {
 public:
  JitLog() = default;
  JitLog(unsigned count, const int *options, void **values);
  /// Writes the text, cut to the buffer, and its length (of one that was cut, the buffer's) back into the
  /// options.
  void error(const std::string &text);
  void finish();

 private:
  char *error_ = nullptr;
  size_t error_bytes_ = 0;
  void **error_size_ = nullptr, **info_size_ = nullptr;
  char *info_ = nullptr;
  size_t info_bytes_ = 0, written_ = 0;
};

}  // namespace egpu::sim
