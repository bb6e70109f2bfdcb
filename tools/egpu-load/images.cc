#include "tools/egpu-load/images.h"

#include <algorithm>
#include <cctype>

#include "tools/egpu-load/clock.h"

namespace egpu::load {
namespace {

constexpr uint64_t kRescanNs = 1'000'000'000;

bool is_name_char(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$' || c == '.';
}

bool defines(const std::string &ptx, const std::string &name) {
  auto names = entry_names(ptx);
  return std::find(names.begin(), names.end(), name) != names.end();
}

// The texts among `containers` that the driver would use for this device and that define the kernel.
// Identical copies (one template in several objects) count once.
// Of finds of different worth only the best count.
std::vector<const std::string *> candidates(const std::vector<const fatbin::Container *> &containers,
                                            const std::string &name, int cc_major, int cc_minor) {
  std::vector<const std::string *> found;
  fatbin::Origin best = fatbin::Origin::memory_text;
  for (const auto *container : containers) {
    if (container->origin > best) continue;
    const fatbin::PtxImage *image = fatbin::choose(*container, cc_major, cc_minor);
    if (!image || !defines(image->text, name)) continue;
    if (container->origin < best) found.clear();
    best = container->origin;
    bool known =
        std::any_of(found.begin(), found.end(), [&](const std::string *t) { return *t == image->text; });
    if (!known) found.push_back(&image->text);
  }
  return found;
}

bool has_cubin(const std::vector<const fatbin::Container *> &containers) {
  return std::any_of(containers.begin(), containers.end(), [](const auto *c) { return c->has_cubin; });
}

bool has_ptx(const std::vector<const fatbin::Container *> &containers) {
  return std::any_of(containers.begin(), containers.end(), [](const auto *c) { return !c->ptx.empty(); });
}

Error sass_only() {
  return {
      "no PTX: the program carries SASS only; build it with PTX (nvcc -gencode "
      "arch=compute_XX,code=compute_XX)"};
}

}  // namespace

std::vector<std::string> entry_names(const std::string &ptx) {
  static const std::string kEntry = ".entry";
  std::vector<std::string> names;
  for (size_t at = ptx.find(kEntry); at != std::string::npos; at = ptx.find(kEntry, at + 1)) {
    size_t begin = at + kEntry.size();
    if (begin >= ptx.size() || !std::isspace(static_cast<unsigned char>(ptx[begin]))) continue;
    while (begin < ptx.size() && std::isspace(static_cast<unsigned char>(ptx[begin]))) begin++;
    size_t end = begin;
    while (end < ptx.size() && is_name_char(ptx[end])) end++;
    if (end > begin) names.push_back(ptx.substr(begin, end - begin));
  }
  return names;
}

void Images::add(uint64_t module, std::vector<fatbin::Container> containers) {
  by_module_[module] = std::move(containers);
}

Result<const std::string *> Images::find(uint64_t module, const std::string &name, int cc_major,
                                         int cc_minor) {
  if (auto known = by_module_.find(module); known != by_module_.end()) {
    std::vector<const fatbin::Container *> own;
    for (const auto &container : known->second) own.push_back(&container);
    auto texts = candidates(own, name, cc_major, cc_minor);
    if (texts.empty() && !has_ptx(own)) return sass_only();
    if (texts.empty()) return Error{"no PTX that this GPU can use: its image has it for other architectures"};
    return texts.front();
  }
  if (auto bad = unreadable_.find(module); bad != unreadable_.end()) return Error{"image: " + bad->second};

  // A handle that no load was seen for: loaded before we came, or another handle of a known image.
  std::vector<const fatbin::Container *> all;
  for (const auto &container : scanned_) all.push_back(&container);
  for (const auto &[known, containers] : by_module_)
    for (const auto &container : containers) all.push_back(&container);
  auto texts = candidates(all, name, cc_major, cc_minor);
  if (texts.size() > 1)
    return Error{"ambiguous: " + std::to_string(texts.size()) +
                 " images of the process define it differently"};
  if (texts.empty() && has_cubin(all)) return sass_only();
  if (texts.empty()) return Error{"no PTX: its image was not found in the process"};
  return texts.front();
}

Result<Ok> Images::scan() {
  uint64_t now = monotonic_ns();
  if (scanned_at_ns_ != 0 && now - scanned_at_ns_ < kRescanNs) return Ok{};
  TRY(auto containers, fatbin::images_of_process(pid_));
  // Earlier finds stay: callers hold pointers to their texts, and a buffer may be gone by now.
  for (auto &container : containers) {
    auto same = [&](const fatbin::Container &old) {
      return old.ptx.size() == container.ptx.size() && old.has_cubin == container.has_cubin &&
             std::equal(old.ptx.begin(), old.ptx.end(), container.ptx.begin(),
                        [](const auto &a, const auto &b) { return a.arch == b.arch && a.text == b.text; });
    };
    if (std::none_of(scanned_.begin(), scanned_.end(), same)) scanned_.push_back(std::move(container));
  }
  scanned_at_ns_ = monotonic_ns();
  return Ok{};
}

std::set<std::string> Images::scanned_kernels() const {
  std::set<std::string> names;
  for (const fatbin::Container &container : scanned_)
    for (const fatbin::PtxImage &image : container.ptx)
      for (auto &name : entry_names(image.text)) names.insert(std::move(name));
  return names;
}

}  // namespace egpu::load
