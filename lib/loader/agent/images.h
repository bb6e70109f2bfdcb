// The bytes of a module that the target has just loaded, for egpu-load.
//
// The driver tells the form by its first bytes, and so do we: a fatbin wrapper, a fatbin, an ELF
// file, else PTX text. Of a fatbin only the PTX entries are copied: the machine code of a big
// library is hundreds of megabytes that nobody asks for.
// Source: cuda-formats.md, section 6, "Fatbin container".
#pragma once
#include "lib/loader/agent/agent.h"

namespace egpu::agent {

/// A memfd with the image and its form; -1 if it cannot be made. `limit`: bytes at `image` that
/// may be read, SIZE_MAX if the image says itself where it ends.
int copy_image(const void *image, size_t limit, session::ImageForm *form);

/// Tells egpu-load about a module (CUmodule or CUlibrary) loaded from memory or from a file.
void report_image(uint64_t module, bool is_library, const void *image);
void report_image_file(uint64_t module, bool is_library, const char *path);

}  // namespace egpu::agent
