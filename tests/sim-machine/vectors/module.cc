#include "tests/sim-machine/vectors/module.h"

namespace egpu::vectors {
namespace {

constexpr const char *kSources[] = {"a", "b", "c"}, *kResults[] = {"d", "e"};

std::string declaration(const Type &type, const char *name) {
  const std::string width = type.bits == 1 ? ".pred " : ".b" + std::to_string(type.bits) + " ";
  return "  .reg " + width + name + ";\n";
}

std::string load(const Type &type, const char *name, const std::string &from) {
  if (type.bits == 1) return "  ld.global.b32 t, " + from + "; setp.ne.b32 " + name + ", t, 0;\n";
  return "  ld.global.b" + std::to_string(type.bits) + " " + name + ", " + from + ";\n";
}

std::string store(const Type &type, const char *name, const std::string &to) {
  if (type.bits == 1) return "  selp.b32 t, 1, 0, " + std::string(name) + "; st.global.b32 " + to + ", t;\n";
  return "  st.global.b" + std::to_string(type.bits) + " " + to + ", " + name + ";\n";
}

std::string kernel(const Row &row, size_t index) {
  std::string text = ".visible .entry " + kernel_name(index) +
                     "(.param .u64 %in, .param .u64 %out, .param .u64 %scratch)\n{\n"
                     "  .reg .pred p, q;\n  .reg .b32 t, u, lane, thread, shared_cell;\n"
                     "  .reg .b64 x, from, to, global_cell;\n";
  for (size_t i = 0; i < row.sources.size(); ++i) text += declaration(row.sources[i], kSources[i]);
  for (size_t i = 0; i < row.results.size(); ++i) text += declaration(row.results[i], kResults[i]);
  text +=
      "  ld.param.u64 from, [%in]; ld.param.u64 to, [%out]; ld.param.u64 global_cell, [%scratch];\n"
      "  mov.u32 thread, %tid.x; mov.u32 lane, %laneid;\n"
      "  mad.wide.u32 from, thread, 8, from; mad.wide.u32 to, thread, 8, to;\n"
      "  mad.wide.u32 global_cell, thread, 16, global_cell;\n";
  if (row.text.find("shared_cell") != std::string::npos)
    text += "  .shared .align 16 .b8 cells[" + std::to_string(16 * row.threads()) +
            "];\n  mov.u32 t, cells; mad.lo.u32 shared_cell, thread, 16, t;\n";
  const auto word_at = [&row](const char *base, size_t i) {
    return "[" + std::string(base) + "+" + std::to_string(8 * row.threads() * i) + "]";
  };
  for (size_t i = 0; i < row.sources.size(); ++i)
    text += load(row.sources[i], kSources[i], word_at("from", i));
  text += "  " + row.text + ";\n";
  for (size_t i = 0; i < row.results.size(); ++i)
    text += store(row.results[i], kResults[i], word_at("to", i));
  return text + "  ret;\n}\n";
}

}  // namespace

std::string kernel_name(size_t row) { return "row" + std::to_string(row); }

std::string module_of(const std::vector<Row> &rows, size_t begin, size_t end) {
  std::string text = ".version 8.6\n.target sm_90\n.address_size 64\n";
  for (size_t i = begin; i < end; ++i) text += kernel(rows[i], i);
  return text;
}

}  // namespace egpu::vectors
