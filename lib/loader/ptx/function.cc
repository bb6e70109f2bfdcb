#include "lib/loader/ptx/function.h"

#include <vector>

#include "lib/loader/ptx/symbols.h"

namespace egpu::ptx {
namespace {

std::vector<std::string> arguments(const Probe &p) {
  std::vector<std::string> out;
  for (const std::string &symbol : p.symbols)
    if (!is_constant(symbol)) out.push_back(symbol);
  return out;
}

std::string name(size_t number) { return "egpu_probe_" + std::to_string(number); }

bool returns_cookie(const Probe &p) { return p.writes_cookie && p.symbols.count("egpu_cookie") != 0; }

std::string parameter(const std::string &symbol) {
  return std::string(".param .") + symbol_type(symbol) + " egpu_of_" + symbol;
}

}  // namespace

Result<std::string> function_definition(const Probe &p, size_t number, const Body &body,
                                        const Bindings &bindings) {
  std::string list, start;
  for (const std::string &symbol : arguments(p)) {
    std::string type = symbol_type(symbol);
    list += (list.empty() ? "" : ", ") + parameter(symbol);
    start += "\t.reg ." + type + " " + symbol + ";\n\tld.param." + type + " " + symbol + ", [egpu_of_" +
             symbol + "];\n";
  }
  for (const std::string &symbol : p.symbols) {
    if (!is_constant(symbol)) continue;
    TRY(std::string text, define_constant(p, symbol, symbol, bindings));
    start += text;
  }
  std::string out = ".func ";
  if (returns_cookie(p)) out += "(.param .b64 egpu_new_cookie) ";
  out +=
      name(number) + "(" + list + ")\n{\n" + start + "\t{\n" + body.with_labels("egpu_label_f") + "\n\t}\n";
  if (returns_cookie(p)) out += "\tst.param.b64 [egpu_new_cookie], egpu_cookie;\n";
  return out + "\tret;\n}\n";
}

std::string function_call(const Probe &p, size_t number) {
  std::string out, list;
  for (const std::string &symbol : arguments(p)) {
    out += "\t" + parameter(symbol) + ";\n\tst.param." + symbol_type(symbol) + " [egpu_of_" + symbol + "], " +
           symbol + ";\n";
    list += (list.empty() ? "" : ", ") + ("egpu_of_" + symbol);
  }
  if (returns_cookie(p)) out += "\t.param .b64 egpu_new_cookie;\n";
  out += "\tcall " + std::string(returns_cookie(p) ? "(egpu_new_cookie), " : "") + name(number);
  if (!list.empty()) out += ", (" + list + ")";
  out += ";\n";
  if (returns_cookie(p)) out += "\tld.param.b64 egpu_cookie, [egpu_new_cookie];\n";
  return out;
}

}  // namespace egpu::ptx
