#include "options.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace example {
namespace {

[[noreturn]] void usage_error(const char *program, const std::string &cause) {
  std::fprintf(stderr, "%s: error: %s\n%s: hint: --help lists the options\n", program, cause.c_str(),
               program);
  std::exit(2);
}

void print_help(const char *program, const char *what, const std::vector<Option> &options) {
  std::printf("usage: %s [OPTION]...\n%s\n\n", program, what);
  for (const Option &option : options) {
    std::string left = option.name;
    if (!option.flag) left += option.number ? " N" : " TEXT";
    std::string standard;
    if (option.number) standard = " [" + std::to_string(*option.number) + "]";
    if (option.text && !option.text->empty()) standard = " [" + *option.text + "]";
    std::printf("  %-20s %s%s\n", left.c_str(), option.help, standard.c_str());
  }
}

}  // namespace

Common &common() {
  static Common options;
  return options;
}

void parse(int argc, char **argv, const char *what, std::vector<Option> options) {
  const char *slash = std::strrchr(argv[0], '/');
  const char *program = slash ? slash + 1 : argv[0];
  Common &shared = common();
  bool help = false;
  for (const Option &option :
       std::vector<Option>{{"--block", "threads of a block", &shared.block},
                           {"--repeat", "do everything N times", &shared.repeat},
                           {"--seed", "of the input data", &shared.seed},
                           {"--dump", "write all output memory to this file", nullptr, &shared.dump},
                           {"--print-counts", "print the launches, blocks, warps and threads as JSON",
                            nullptr, nullptr, &shared.print_counts},
                           {"--api", "how kernels are loaded: module or library", nullptr, &shared.api},
                           {"--launch", "how they are launched: plain, ex, cooperative or per-thread",
                            nullptr, &shared.launch},
                           {"--help", "print this", nullptr, nullptr, &help}})
    options.push_back(option);

  const std::vector<Option> defaults = options;
  for (int i = 1; i < argc; ++i) {
    const Option *found = nullptr;
    for (const Option &option : options)
      if (!std::strcmp(option.name, argv[i])) found = &option;
    if (!found) usage_error(program, std::string(argv[i]) + ": unknown option");
    if (found->flag) {
      *found->flag = true;
      continue;
    }
    if (++i == argc) usage_error(program, std::string(found->name) + ": value missing");
    if (found->text) {
      *found->text = argv[i];
      continue;
    }
    char *end = nullptr;
    errno = 0;
    *found->number = std::strtoll(argv[i], &end, 0);
    if (errno || end == argv[i] || *end)
      usage_error(program, std::string(found->name) + ": not a number: '" + argv[i] + "'");
  }
  if (help) {
    print_help(program, what, defaults);
    std::exit(0);
  }
  if (shared.block < 1 || shared.block > 1024) usage_error(program, "--block: not in 1..1024");
  if (shared.repeat < 1) usage_error(program, "--repeat: not positive");
  if (shared.api != "module" && shared.api != "library") usage_error(program, "--api: not module or library");
}

}  // namespace example
