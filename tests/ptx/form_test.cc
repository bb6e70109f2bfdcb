// Which bodies become functions, and that these are what the inlined ones are.
#include "lib/loader/ptx/form.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/ptx/support.h"

namespace egpu::ptx::test {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Form, is_chosen_by_cost) {
  constexpr BodyForm by_cost = BodyForm::by_cost, in_line = BodyForm::in_line, called = BodyForm::called;
  struct Row {
    const char *name;
    std::vector<BodyUse> uses;
    std::vector<bool> called;
  };
  const Row rows[] = {
      {"small body, many sites", {{by_cost, kCallStatements, 10000}}, {false}},
      {"large body, one site", {{by_cost, 5000, 1}}, {false}},
      {"fits", {{by_cost, 40, 100}}, {false}},
      {"just fits", {{by_cost, kInlineStatements / 8, 8}}, {false}},
      {"just not", {{by_cost, kInlineStatements / 8, 9}}, {true}},
      {"large body, two sites", {{by_cost, 3000, 2}}, {true}},
      {"the largest first", {{by_cost, 40, 60}, {by_cost, 200, 30}}, {false, true}},
      {"all that is needed", {{by_cost, 100, 50}, {by_cost, 200, 30}}, {true, true}},
      {"no sites", {{by_cost, 5000, 0}, {by_cost, 5, 1}}, {false, false}},
      {"asked for", {{called, 1, 1}, {in_line, 5000, 100}}, {true, false}},
      {"asked in line, others pay", {{in_line, 5000, 1}, {by_cost, 20, 2}}, {false, true}},
  };
  for (const Row &row : rows) EXPECT_EQ(choose_called(row.uses), row.called) << row.name;
}

std::string kernel_with_loads(size_t loads) {
  std::string text =
      ".version 7.0\n.target sm_80\n.address_size 64\n.entry k(.param .u64 p) {\n"
      "\t.reg .b64 %rd<2>; .reg .b32 %r<2>;\n\tld.param.u64 %rd1, [p];\n";
  for (size_t i = 0; i < loads; ++i) text += "\tld.global.u32 %r1, [%rd1];\n";
  return text + "\tret;\n}\n";
}

TEST(Form, a_large_body_stands_once) {
  Probe p = full_probe("thread/ld.global");
  for (int i = 0; i < 90; ++i) p.body += "\tst.global.u32 [egpu_map_0+40], egpu_site;\n";
  std::string few = patched(kernel_with_loads(11), {p}).text;
  EXPECT_EQ(count(few, "globaltimer"), 11u);
  EXPECT_THAT(few, Not(HasSubstr(".func")));
  std::string many = patched(kernel_with_loads(53), {p}).text;
  EXPECT_EQ(count(many, "globaltimer"), 1u);
  EXPECT_EQ(count(many, "call (egpu_new_cookie), egpu_probe_0"), 53u);
  EXPECT_EQ(count(many, ".func"), 1u);
  expect_assembles(many);
}

TEST(Form, the_address_of_a_copy_is_found_once_for_all_sites_of_instructions) {
  std::string text = patched(kernel_with_loads(7), {counter_probe("thread/ld.global")}).text;
  EXPECT_EQ(count(text, "%smid"), 1u);
  EXPECT_EQ(count(text, "red.global.add.u64"), 7u);
  text = patched(kernel_with_loads(7), {counter_probe("thread/entry"), counter_probe("thread/exit")}).text;
  EXPECT_EQ(count(text, "%smid"), 2u) << "a register less between entry and exit";
  Probe called = counter_probe("thread/ld.global");
  called.form = BodyForm::called;
  text = patched(kernel_with_loads(7), {called}).text;
  EXPECT_EQ(count(text, "%smid"), 1u) << "in the function";
}

TEST(Form, one_copy_needs_no_sm) {
  auto p = plan(kernel_with_loads(3), {counter_probe("thread/ld.global")}, 0);
  ASSERT_TRUE(p);
  Bindings bindings = bindings_for(*p);
  bindings.constants["egpu_stride_0"] = 0;
  auto out = patch(*p, {counter_probe("thread/ld.global")}, bindings);
  ASSERT_TRUE(out) << out.error().message;
  EXPECT_EQ(count(out->text, "%smid"), 0u);
  bindings.constants["egpu_stride_0"] = uint64_t{5} << 32;
  out = patch(*p, {counter_probe("thread/ld.global")}, bindings);
  ASSERT_TRUE(out);
  EXPECT_THAT(out->text, HasSubstr("mul.lo.u64"));
  expect_assembles(out->text);
  bindings.constants.erase("egpu_last_shard");
  out = patch(*p, {counter_probe("thread/ld.global")}, bindings);
  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().message, "counter: egpu_last_shard has no value at this event");
}

}  // namespace
}  // namespace egpu::ptx::test
