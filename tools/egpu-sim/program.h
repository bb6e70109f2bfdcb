// Says beforehand what will go wrong with a program that carries NVIDIA's own CUDA runtime.
#pragma once
#include <string>

namespace egpu::sim {

/// Warns on stderr if the command (a path, or a name on PATH) is an ELF file with NVIDIA's runtime
/// linked into it. Never stops: the command may never call CUDA.
void explain_program(const std::string &command, const std::string &libraries);

}  // namespace egpu::sim
