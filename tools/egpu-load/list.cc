#include "tools/egpu-load/list.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "lib/loader/fatbin/images.h"
#include "lib/loader/ptx/match.h"
#include "tools/egpu-load/images.h"

namespace egpu::load {
namespace {

// The file that execvp would run.
Result<std::string> executable_path(const std::string &command) {
  if (command.find('/') != std::string::npos) {
    if (access(command.c_str(), R_OK) == 0) return command;
    return Error{command + ": cannot be read"};
  }
  const char *variable = std::getenv("PATH");
  std::string path = variable ? variable : "/usr/bin:/bin";
  for (size_t begin = 0; begin <= path.size();) {
    size_t end = std::min(path.find(':', begin), path.size());
    std::string file = path.substr(begin, end - begin) + "/" + command;
    if (access(file.c_str(), X_OK) == 0) return file;
    begin = end + 1;
  }
  return Error{command + ": not found"};
}

// One text per container: the one for the newest architecture, which a new GPU would use.
std::vector<std::string> newest_texts(const std::vector<fatbin::Container> &containers) {
  std::vector<std::string> texts;
  for (const auto &container : containers) {
    auto newest = std::max_element(container.ptx.begin(), container.ptx.end(),
                                   [](const auto &a, const auto &b) { return a.arch < b.arch; });
    if (newest == container.ptx.end()) continue;
    if (std::find(texts.begin(), texts.end(), newest->text) == texts.end()) texts.push_back(newest->text);
  }
  return texts;
}

Result<std::vector<fatbin::Container>> containers_of(const Options &options) {
  if (options.pid != 0) return fatbin::images_of_process(options.pid);
  TRY(std::string path, executable_path(options.command[0]));
  return fatbin::images_in_file(path);
}

// What -l shows without a PROBE: how many places each supported kind of event has.
std::vector<ptx::Probe> catalogue() {
  std::vector<ptx::Probe> probes;
  auto add = [&](const char *name, EventKind kind, std::vector<std::string> mnemonic) {
    ptx::Probe probe;
    probe.name = name;
    probe.event.kind = kind;
    probe.event.mnemonic = std::move(mnemonic);
    probes.push_back(std::move(probe));
  };
  add("entry", EventKind::entry, {});
  add("exit", EventKind::exit, {});
  for (const char *mnemonic : {"ld.global", "ld.shared", "st.global", "st.shared", "bra"}) {
    std::string text = mnemonic;
    size_t dot = text.find('.');
    std::vector<std::string> parts{text.substr(0, dot)};
    if (dot != std::string::npos) parts.push_back(text.substr(dot + 1));
    add(mnemonic, EventKind::insn, parts);
  }
  return probes;
}

void print_counts(const ptx::KernelPlan &kernel, const std::vector<ptx::Probe> &probes) {
  std::string line = ptx::demangle(kernel.name);
  if (!kernel.refused.empty()) {
    std::printf("%s: cannot be probed: %s\n", line.c_str(), kernel.refused.c_str());
    return;
  }
  for (size_t i = 0; i < probes.size(); i++) {
    auto count = std::count_if(kernel.sites.begin(), kernel.sites.end(),
                               [&](const auto &site) { return site.probe == static_cast<int>(i); });
    if (count != 0)
      line += std::string(line.find(": ") == std::string::npos ? ": " : ", ") + std::to_string(count) + " " +
              probes[i].name;
  }
  std::printf("%s\n", line.c_str());
}

void print_sites(const ptx::KernelPlan &kernel, const std::vector<ptx::Probe> &probes) {
  if (!kernel.refused.empty()) {
    std::printf("%s: refused: %s\n", ptx::demangle(kernel.name).c_str(), kernel.refused.c_str());
    return;
  }
  if (kernel.sites.empty()) {
    std::printf("%s: not matched\n", ptx::demangle(kernel.name).c_str());
    return;
  }
  std::printf("%s: %zu sites\n", ptx::demangle(kernel.name).c_str(), kernel.sites.size());
  for (const auto &site : kernel.sites) {
    const auto &probe = probes[static_cast<size_t>(site.probe)];
    std::printf("  %-24s %-20s %s\n", site.where.c_str(), probe.name.c_str(), probe.event.section.c_str());
  }
}

}  // namespace

Result<Ok> some_match(const std::set<std::string> &kernels, const std::vector<ptx::Probe> &probes) {
  std::vector<std::string> names(kernels.begin(), kernels.end());
  for (const auto &probe : probes)
    for (const auto &name : names)
      if (ptx::kernel_matches(probe.event.kernel, name)) return Ok{};
  std::string text;
  for (const auto &probe : probes) {
    if (!text.empty()) text += '\n';
    text += probe.name + ": no kernel matches '" + probe.event.kernel + "'";
    auto near = ptx::near_names(probe.event.kernel, names);
    for (size_t i = 0; i < near.size(); i++) text += (i == 0 ? "; near: " : ", ") + near[i];
    if (near.empty() && names.empty()) text += "; no kernel was seen";
  }
  return Error{text};
}

Result<Ok> list_kernels(const Options &options, const std::vector<ptx::Probe> &probes) {
  TRY(auto containers, containers_of(options));
  std::vector<std::string> texts = newest_texts(containers);
  bool sass = std::any_of(containers.begin(), containers.end(),
                          [](const auto &c) { return c.has_cubin && c.ptx.empty(); });
  const std::vector<ptx::Probe> shown = probes.empty() ? catalogue() : probes;
  size_t listed = 0;
  std::set<std::string> seen;
  for (const auto &text : texts) {
    TRY(auto plan, ptx::plan(text, shown, 0));
    for (const auto &kernel : plan.kernels) {
      if (!ptx::kernel_matches(options.list_glob, kernel.name) || !seen.insert(kernel.name).second) continue;
      probes.empty() ? print_counts(kernel, shown) : print_sites(kernel, shown);
      listed++;
    }
  }
  if (listed == 0) {
    std::string target = options.pid != 0 ? "process " + std::to_string(options.pid) : options.command[0];
    if (texts.empty())
      return Error{target + (sass ? ": its kernels are SASS only (no PTX)" : ": no kernels with PTX in it")};
    return Error{target + ": no kernel matches '" + options.list_glob + "'"};
  }
  return Ok{};
}

}  // namespace egpu::load
