// The library as a file: every exported function can be hooked by a jump over its first bytes,
// and nothing but the driver's functions is exported.
#include <Zydis/Zydis.h>
#include <elf.h>
#include <gmock/gmock.h>

#include <cstring>
#include <map>
#include <regex>
#include <set>

#include "tests/sim-driver/cuda.h"

namespace egpu::sim {
namespace {

const std::vector<char> &library_bytes() {
  static const std::vector<char> bytes = [] {
    std::ifstream file(EGPU_BINARY_DIR "/lib/sim/libcuda.so.1", std::ios::binary | std::ios::ate);
    std::vector<char> read(static_cast<size_t>(std::max<std::streamoff>(0, file.tellg())));
    file.seekg(0);
    file.read(read.data(), static_cast<std::streamsize>(read.size()));
    return read;
  }();
  return bytes;
}

// Defined dynamic symbols, by name: their addresses in the loaded library.
std::map<std::string, const unsigned char *> exported() {
  const std::vector<char> &bytes = library_bytes();
  std::map<std::string, const unsigned char *> found;
  Elf64_Ehdr header;
  std::memcpy(&header, bytes.data(), sizeof header);
  std::vector<Elf64_Shdr> sections(header.e_shnum);
  std::memcpy(sections.data(), bytes.data() + header.e_shoff, sections.size() * sizeof(Elf64_Shdr));
  for (const Elf64_Shdr &section : sections) {
    if (section.sh_type != SHT_DYNSYM) continue;
    const char *names = bytes.data() + sections[section.sh_link].sh_offset;
    for (uint64_t at = 0; at < section.sh_size; at += sizeof(Elf64_Sym)) {
      Elf64_Sym symbol_entry;
      std::memcpy(&symbol_entry, bytes.data() + section.sh_offset + at, sizeof symbol_entry);
      if (symbol_entry.st_shndx == SHN_UNDEF || ELF64_ST_TYPE(symbol_entry.st_info) == STT_SECTION) continue;
      const char *name = names + symbol_entry.st_name;
      found[name] = static_cast<const unsigned char *>(symbol(name));
    }
  }
  return found;
}

TEST(Entries, OnlyTheDriversFunctionsAreExported) {
  const auto all = exported();
  EXPECT_GT(all.size(), 600u);
  for (const auto &[name, code] : all) EXPECT_EQ(name.rfind("cu", 0), 0u) << name;
}

TEST(Entries, NoTwoNamesShareCode) {
  std::map<const unsigned char *, std::string> by_code;
  for (const auto &[name, code] : exported()) {
    EXPECT_TRUE(by_code.emplace(code, name).second) << name << " is " << by_code[code];
  }
}

// 8 bytes are replaced at once: they must be whole instructions that can be moved, none of which
// leaves the function, and nothing may jump back into them.
TEST(Entries, FirstBytesCanBeReplaced) {
  constexpr uint64_t kReplacedBytes = 8;
  ZydisDecoder decoder;
  ASSERT_TRUE(ZYAN_SUCCESS(ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)));
  for (const auto &[name, code] : exported()) {
    SCOPED_TRACE(name);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(code) % 16, 0u);
    for (uint64_t at = 0; at < kReplacedBytes;) {
      ZydisDecodedInstruction instruction;
      ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
      ASSERT_TRUE(ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, code + at, 16, &instruction, operands)));
      EXPECT_NE(instruction.meta.category, ZYDIS_CATEGORY_UNCOND_BR);
      EXPECT_NE(instruction.meta.category, ZYDIS_CATEGORY_COND_BR);
      EXPECT_NE(instruction.meta.category, ZYDIS_CATEGORY_RET);
      EXPECT_NE(instruction.meta.category, ZYDIS_CATEGORY_CALL);
      at += instruction.length;
    }
    // The whole function, as far as it is straight: up to 400 bytes or the padding behind it.
    for (uint64_t at = 0; at < 400;) {
      ZydisDecodedInstruction instruction;
      ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
      if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, code + at, 16, &instruction, operands))) break;
      if (instruction.mnemonic == ZYDIS_MNEMONIC_INT3) break;
      const bool jumps = instruction.meta.category == ZYDIS_CATEGORY_COND_BR ||
                         instruction.meta.category == ZYDIS_CATEGORY_UNCOND_BR;
      if (jumps && operands[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE) {
        ZyanU64 target = 0;
        ZydisCalcAbsoluteAddress(&instruction, &operands[0], reinterpret_cast<ZyanU64>(code + at), &target);
        const uint64_t offset = target - reinterpret_cast<ZyanU64>(code);
        EXPECT_FALSE(offset > 0 && offset < kReplacedBytes);
      }
      at += instruction.length;
      if (instruction.meta.category == ZYDIS_CATEGORY_RET && at % 16 == 0) break;
    }
  }
}

// The names of a list of lib/sim: exported, but not written.
#define X(name) #name,
const char *const kUnwrittenInDriver[] = {
#include "lib/sim/driver/unwritten.inc"
};
const char *const kUnwrittenInRuntime[] = {
#include "lib/sim/runtime/unwritten.inc"
};
#undef X

// Of docs/cuda-formats.md.
// "cuFuncGet/SetAttribute".
std::vector<std::string> names_of_section_2() {
  std::ifstream file(EGPU_SOURCE_DIR "/docs/cuda-formats.md");
  std::vector<std::string> names;
  bool is_inside = false;
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("## ", 0) == 0) is_inside = line.rfind("## 2.", 0) == 0;
    if (!is_inside || line.rfind("## ", 0) == 0) continue;
    static const std::regex pattern("\\bcu[A-Z][A-Za-z0-9]*(_v[0-9])?");
    for (std::sregex_iterator at(line.begin(), line.end(), pattern), end; at != end; ++at)
      names.push_back(at->str());
  }
  return names;
}

TEST(Entries, WhatARuntimeNeedsIsWritten) {
  const std::set<std::string> unwritten(std::begin(kUnwrittenInDriver), std::end(kUnwrittenInDriver));
  const std::vector<std::string> names = names_of_section_2();
  EXPECT_GT(names.size(), 60u);
  for (const std::string &name : names) {
    EXPECT_NE(dlsym(cuda_library(), name.c_str()), nullptr) << name;
    EXPECT_EQ(unwritten.count(name), 0u) << name;
  }
}

struct Library {
  const char *path, *says;
  std::vector<const char *> unwritten;
};

TEST(Entries, WhatIsNotWrittenSaysSoOnce) {
  const Library table[] = {
      {EGPU_BINARY_DIR "/lib/sim/libcuda.so.1",
       "egpu-sim: warning: %s: not supported by the simulated driver\n",
       {std::begin(kUnwrittenInDriver), std::end(kUnwrittenInDriver)}},
      {EGPU_BINARY_DIR "/lib/sim/libcudart.so.13",
       "egpu-cudart: warning: %s: not supported\n",
       {std::begin(kUnwrittenInRuntime), std::end(kUnwrittenInRuntime)}},
  };
  for (const Library &row : table) {
    void *library = dlopen(row.path, RTLD_NOW);
    ASSERT_NE(library, nullptr) << dlerror();
    for (const char *name : row.unwritten) {
      const auto call = reinterpret_cast<int (*)()>(dlsym(library, name));
      ASSERT_NE(call, nullptr) << name;
      testing::internal::CaptureStderr();
      EXPECT_EQ(call(), 801) << name;
      EXPECT_EQ(call(), 801) << name;
      char expected[256];
      std::snprintf(expected, sizeof expected, row.says, name);
      EXPECT_EQ(testing::internal::GetCapturedStderr(), expected);
    }
  }
}

TEST(Entries, SharedObjectNameIsTheDrivers) {
  const std::vector<char> &bytes = library_bytes();
  const std::string all(bytes.begin(), bytes.end());
  EXPECT_NE(all.find(std::string("\0libcuda.so.1\0", 14)), std::string::npos);
}

}  // namespace
}  // namespace egpu::sim
