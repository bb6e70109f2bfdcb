#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/bpf2ptx/object/object.h"

namespace egpu::bpf {
namespace {

struct Good {
  const char *section;
  Scope scope;
  EventKind kind;
  std::vector<std::string> mnemonic;
  const char *kernel;
};

TEST(Section, parses) {
  const Good table[] = {
      {"gpu/entry", Scope::thread, EventKind::entry, {}, "*"},
      {"gpu/exit/vecadd*", Scope::thread, EventKind::exit, {}, "vecadd*"},
      {"gpu.warp/bra/*", Scope::warp, EventKind::insn, {"bra"}, "*"},
      {"gpu.block/exit/*", Scope::block, EventKind::exit, {}, "*"},
      {"gpu.grid/entry/ns::vecadd<float, *>", Scope::grid, EventKind::entry, {}, "ns::vecadd<float, *>"},
      {"gpu/ld.global/f(int, a/b)", Scope::thread, EventKind::insn, {"ld", "global"}, "f(int, a/b)"},
      {"gpu/mma.sync/_Z3fooPf", Scope::thread, EventKind::insn, {"mma", "sync"}, "_Z3fooPf"},
      {"kprobe/_Z6vecaddPf", Scope::thread, EventKind::entry, {}, "_Z6vecaddPf"},
      {"kretprobe/_Z6vecaddPf", Scope::thread, EventKind::exit, {}, "_Z6vecaddPf"},
  };
  for (const Good &row : table) {
    auto event = parse_section(row.section, nullptr);
    ASSERT_TRUE(event) << row.section << ": " << event.error().message;
    EXPECT_EQ(event->scope, row.scope) << row.section;
    EXPECT_EQ(event->kind, row.kind) << row.section;
    EXPECT_EQ(event->mnemonic, row.mnemonic) << row.section;
    EXPECT_EQ(event->kernel, row.kernel) << row.section;
    EXPECT_EQ(event->section, row.section);
  }
}

struct Bad {
  const char *section, *message;
};

TEST(Section, refuses) {
  const Bad table[] = {
      {"gpu", "no event"},
      {"gpu/", "no event"},
      {"gpu/entry/", "no kernel name"},
      {"gpu/entri/*", "unknown event 'entri'; did you mean 'entry'?"},
      {"gpu/ldd.global", "unknown event 'ldd'; did you mean 'ld'?"},
      {"gpu/ld..global", "empty part"},
      {"gpu/LD/*", "unexpected 'L'"},
      {"gpu.blok/entry", "unknown scope 'gpu.blok'; did you mean 'gpu.block'?"},
      {"gpu/func:f/*", "not supported yet"},
      {"host/launch/*", "host events are not supported yet"},
      {"uprobe/libc.so.6:malloc", "host events are not supported yet"},
      {"tracepoint/syscalls/sys_enter_read", "is not a probe"},
      {"kprobe/", "no kernel name"},
      {"", "is not a probe"},
  };
  for (const Bad &row : table) {
    auto event = parse_section(row.section, nullptr);
    ASSERT_FALSE(event) << row.section;
    EXPECT_THAT(event.error().message, testing::HasSubstr(row.message)) << row.section;
  }
}

TEST(Section, legacy_spelling_gives_a_note) {
  std::string note;
  ASSERT_TRUE(parse_section("kretprobe/_Z1fv", &note));
  EXPECT_THAT(note, testing::HasSubstr("SEC(\"gpu/exit/_Z1fv\")"));
  note.clear();
  ASSERT_TRUE(parse_section("gpu/exit/_Z1fv", &note));
  EXPECT_EQ(note, "");
}

}  // namespace
}  // namespace egpu::bpf
