#include "tools/egpu-load/output.h"

#include <signal.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "tools/egpu-load/clock.h"
#include "tools/print/print.h"

namespace egpu::load {

Result<Output> Output::open(const std::string &path, bool json, bool color) {
  signal(SIGPIPE, SIG_IGN);  // a closed pipe is an error of write, not our death
  Output output;
  output.json_ = json;
  output.color_ = color && path.empty();
  if (path.empty()) {
    output.file_ = std::shared_ptr<FILE>(stdout, [](FILE *) {});
    return output;
  }
  FILE *file = std::fopen(path.c_str(), "we");
  if (!file) return system_error(path);
  output.name_ = path;
  output.file_ = std::shared_ptr<FILE>(file, std::fclose);
  return output;
}

Result<Ok> Output::flush() {
  if (std::fflush(file_.get()) == 0 && !std::ferror(file_.get())) return Ok{};
  return system_error(name_);
}

Result<Ok> Output::print_line(const map::Snapshot &snapshot, const map::PrintkLine &line) {
  if (!json_) {
    std::fprintf(file_.get(), "%s\n", line.text.c_str());
    return flush();
  }
  nlohmann::ordered_json object{
      {"printk", line.text}, {"time_ns", line.time_ns}, {"pid", snapshot.session.pid}};
  if (auto kernel = snapshot.kernels.find(line.kernel); kernel != snapshot.kernels.end())
    object["kernel"] = kernel->second.printable;
  if (auto site = snapshot.sites.find(line.site); site != snapshot.sites.end())
    object["site"] = site->second.where;
  std::fprintf(file_.get(), "%s\n",
               object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
  return flush();
}

Result<Ok> Output::print_maps(const std::vector<map::Snapshot> &snapshots) {
  print::PrintOptions options;
  options.color = color_;
  options.show_pid = snapshots.size() > 1;
  options.now_ns = monotonic_ns();
  bool first = true;
  for (const auto &snapshot : snapshots) {
    TRY(std::string text,
        json_ ? print::json_lines_of(snapshot, options) : print::text_of(snapshot, options));
    if (!first && !json_) std::fputc('\n', file_.get());
    first = false;
    std::fwrite(text.data(), 1, text.size(), file_.get());
  }
  return flush();
}

Result<Ok> Output::finish() { return flush(); }

}  // namespace egpu::load
