// Standard output, with every failure noticed: a full disk, a closed pipe, a closed descriptor.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "tools/print/print.h"

namespace egpu::print {

int write_stdout(const std::string &text) {
  // Written with write(2): there is no buffer whose loss shows only at exit.
  auto *old = std::signal(SIGPIPE, SIG_IGN);
  int failure = 0;
  for (size_t at = 0; at < text.size() && failure == 0;) {
    ssize_t n = write(STDOUT_FILENO, text.data() + at, text.size() - at);
    if (n > 0)
      at += static_cast<size_t>(n);
    else if (n < 0 && errno != EINTR)
      failure = errno;
  }
  std::signal(SIGPIPE, old);
  return failure;
}

}  // namespace egpu::print
