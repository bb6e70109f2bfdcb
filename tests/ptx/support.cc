#include "tests/ptx/support.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>

namespace egpu::ptx::test {
namespace {

constexpr const char *kCounter = R"(
	red.global.add.u64 [egpu_shard_0], 1;
)";

// Registers and labels as LLVM names them, which are also the kernels' names.
constexpr const char *kFull = R"(
	.reg .pred %p<3>;
	.reg .b32 %r<9>;
	.reg .b64 %rd<9>;
	mov.u64 %rd1, %globaltimer;
	add.s64 %rd1, %rd1, egpu_ktime_offset;
	setp.eq.s64 %p1, egpu_cookie, 0;
	@%p1 bra $L__BB0_2;
$L__BB0_1:
	sub.s64 %rd1, %rd1, egpu_cookie;
	setp.gt.s64 %p2, %rd1, 1000;
	@%p2 bra $L__BB0_1;
$L__BB0_2:
	add.s64 egpu_cookie, egpu_cookie, %rd1;
	add.s64 %rd2, %rd1, egpu_launch_ns;
	add.s64 %rd2, %rd2, egpu_arg_0;
	add.s64 %rd2, %rd2, egpu_arg_1;
	add.s64 %rd2, %rd2, egpu_arg_9;
	st.global.u64 [egpu_map_0], %rd2;
	st.global.u32 [egpu_map_0+8], egpu_kernel;
	st.global.u32 [egpu_map_0+12], egpu_site;
	st.global.u32 [egpu_map_0+16], egpu_active_mask;
)";

}  // namespace

TemporaryFile::TemporaryFile(const std::string &suffix) {
  path = testing::TempDir() + "egpu_ptx_XXXXXX" + suffix;
  int fd = mkstemps(path.data(), static_cast<int>(suffix.size()));
  if (fd >= 0) close(fd);
}

TemporaryFile::~TemporaryFile() { std::remove(path.c_str()); }

std::string output_of(const std::string &command, int *status) {
  std::string out;
  FILE *pipe = popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return "popen failed";
  char buffer[4096];
  for (size_t n; (n = fread(buffer, 1, sizeof buffer, pipe)) > 0;) out.append(buffer, n);
  *status = pclose(pipe);
  return out;
}

Event event(const std::string &text) {
  Event e;
  std::stringstream parts(text);
  std::string scope, what, kernel;
  std::getline(parts, scope, '/');
  std::getline(parts, what, '/');
  if (std::getline(parts, kernel)) e.kernel = kernel;
  e.scope = scope == "warp"    ? Scope::warp
            : scope == "block" ? Scope::block
            : scope == "grid"  ? Scope::grid
                               : Scope::thread;
  e.kind = what == "entry" ? EventKind::entry : what == "exit" ? EventKind::exit : EventKind::insn;
  e.section = "gpu." + text;
  std::stringstream dotted(what);
  for (std::string part; e.kind == EventKind::insn && std::getline(dotted, part, '.');)
    e.mnemonic.push_back(part);
  return e;
}

Probe empty_probe(const std::string &event_text) {
  Probe p;
  p.name = "empty";
  p.event = event(event_text);
  return p;
}

Probe counter_probe(const std::string &event_text) {
  Probe p = empty_probe(event_text);
  p.name = "counter";
  p.body = kCounter;
  p.symbols = {"egpu_shard_0"};
  return p;
}

Probe full_probe(const std::string &event_text, int object) {
  Probe p = empty_probe(event_text);
  p.name = "full";
  p.object = object;
  p.body = kFull;
  p.symbols = {"egpu_map_0", "egpu_ktime_offset", "egpu_launch_ns", "egpu_arg_0",       "egpu_arg_1",
               "egpu_arg_9", "egpu_kernel",       "egpu_site",      "egpu_active_mask", "egpu_cookie"};
  p.writes_cookie = true;
  if (p.event.kind != EventKind::insn) return p;
  if (p.event.mnemonic[0] == "bra") {
    p.symbols.insert("egpu_taken_mask");
    p.body += "\tst.global.u32 [egpu_map_0+20], egpu_taken_mask;\n";
  } else {
    p.symbols.insert({"egpu_addr", "egpu_size"});
    p.body += "\tst.global.u64 [egpu_map_0+24], egpu_addr;\n\tst.global.u32 [egpu_map_0+32], egpu_size;\n";
  }
  return p;
}

std::vector<Probe> every_probe() {
  std::vector<Probe> probes;
  for (const char *scope : {"thread", "warp", "block", "grid"})
    for (const char *kind : {"entry", "exit"}) probes.push_back(full_probe(std::string(scope) + "/" + kind));
  for (const char *scope : {"thread", "warp", "block"})
    for (const char *what : {"ld", "st", "atom", "red", "bra", "ld.global"})
      probes.push_back(full_probe(std::string(scope) + "/" + what, 1));
  return probes;
}

Bindings bindings_for(const Plan &plan) {
  Bindings b;
  uint64_t address = 0x7f0000000000;
  for (const std::string &name : plan.globals) b.globals[name] = address += 256;
  uint32_t id = 0;
  for (const KernelPlan &k : plan.kernels) b.kernel_ids[k.name] = id++;
  for (const char *object : {"", "1:"}) {
    b.constants[std::string(object) + "egpu_map_0"] = 0x7f1234560000;
    b.constants[std::string(object) + "egpu_stride_0"] = 128;
    b.constants[std::string(object) + "egpu_last_shard"] = 131;
    b.constants[std::string(object) + "egpu_ktime_offset"] = 0x123456789a;
  }
  return b;
}

Patched patched(const std::string &text, const std::vector<Probe> &probes) {
  auto p = plan(text, probes, 100);
  if (!p) {
    ADD_FAILURE() << p.error().message;
    return {};
  }
  auto out = patch(*p, probes, bindings_for(*p));
  if (!out) {
    ADD_FAILURE() << out.error().message;
    return {};
  }
  return *out;
}

std::string toolkit(const std::string &program) {
  std::string path = std::getenv("PATH") == nullptr ? "" : std::getenv("PATH");
  std::stringstream directories(path + ":/usr/local/cuda/bin");
  for (std::string directory; std::getline(directories, directory, ':');) {
    std::string candidate = directory + "/" + program;
    if (access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return "";
}

size_t count(const std::string &text, const std::string &part) {
  size_t n = 0;
  for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) ++n;
  return n;
}

void expect_assembles(const std::string &text) {
  if (toolkit("ptxas").empty()) return;
  EXPECT_EQ(assemble(text), "");
}

std::string assemble(const std::string &text, std::string *report) {
  TemporaryFile source(".ptx"), cubin(".cubin");
  std::ofstream(source.path) << text;
  size_t at = text.find("\n.target ");
  at = at == std::string::npos ? 0 : at + 9;
  std::string arch = text.substr(at, text.find_first_of(",\n ", at) - at);
  int status = 0;
  std::string out =
      output_of(toolkit("ptxas") + " -v -arch=" + arch + " " + source.path + " -o " + cubin.path, &status);
  if (report != nullptr) *report = out;
  if (status == 0) return "";
  // A few lines of context for the first complaint ("..., line 12; error : ...").
  size_t line_at = out.find(", line ");
  std::stringstream lines(text);
  std::string context;
  int wanted = line_at == std::string::npos ? 0 : std::atoi(out.c_str() + line_at + 7), number = 0;
  for (std::string line; std::getline(lines, line);)
    if (++number >= wanted - 6 && number <= wanted + 2) context += line + "\n";
  return out.substr(0, 2000) + context;
}

std::string read_file(const std::string &path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace egpu::ptx::test
