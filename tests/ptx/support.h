// What the tests of the patcher share: probes with small hand-made bodies, bindings that
// satisfy any plan, and the toolkit's programs where there are any.
#pragma once
#include <string>
#include <vector>

#include "lib/loader/ptx/patch.h"

namespace egpu::ptx::test {

/// "thread/entry", "warp/ld.global/vec*" (scope, event, kernel glob), as after "gpu." in SEC().
Event event(const std::string &text);

/// A body without statements, one that adds 1 to map 0, and one that reads every free symbol
/// that the event has and changes the cookie.
Probe empty_probe(const std::string &event_text);
Probe counter_probe(const std::string &event_text);
Probe full_probe(const std::string &event_text, int object = 0);

/// Full probes for every scope of entry, exit and every instruction event.
std::vector<Probe> every_probe();

/// Made-up addresses for all globals, ids for all kernels, constants of objects 0 and 1.
Bindings bindings_for(const Plan &plan);

/// plan() and patch() with such bindings; fails the test if either does.
Patched patched(const std::string &text, const std::vector<Probe> &probes);

/// Path of a program of the CUDA toolkit, "" where it is absent.
std::string toolkit(const std::string &program);

/// Assembles for the module's own target; "" or ptxas' messages. With `report`, also the
/// text of -v.
std::string assemble(const std::string &text, std::string *report = nullptr);

/// Fails the test if ptxas, where there is one, refuses the text.
void expect_assembles(const std::string &text);

/// How often `part` stands in the text.
size_t count(const std::string &text, const std::string &part);

std::string read_file(const std::string &path);

/// An empty file that is removed at the end of the scope.
struct TemporaryFile {
  explicit TemporaryFile(const std::string &suffix);
  ~TemporaryFile();
  TemporaryFile(const TemporaryFile &) = delete;
  TemporaryFile &operator=(const TemporaryFile &) = delete;
  std::string path;
};

/// stdout and stderr of a shell command; its wait status.
std::string output_of(const std::string &command, int *status);

}  // namespace egpu::ptx::test
