// What a program asks for: the parsed form of SEC("gpu[.scope]/event[/kernel]").
//
// Produced by lib/bpf2ptx/object/section.h from the section name, consumed by
// lib/loader/ptx/match.h, which compares it with the statements of a kernel.
// Source: docs/probe-language.md, "Sections".
#pragma once
#include <string>
#include <vector>

namespace egpu {

enum class Scope { thread, warp, block, grid };
enum class EventKind { entry, exit, insn };

struct Event {
  Scope scope = Scope::thread;
  EventKind kind = EventKind::entry;
  std::vector<std::string> mnemonic;  // of an insn event: {"ld", "global"}; else empty
  std::string kernel = "*";           // glob over kernel names, as the user wrote it
  std::string section;                // the whole section name, for messages
};

}  // namespace egpu
