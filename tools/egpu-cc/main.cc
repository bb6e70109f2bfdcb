// egpu-cc: a probe's C source to a verified BPF object, or to LLVM IR or PTX.
//
// The object is written only if every program in it passes the verifier.
#include <cstdio>

#include "egpu/bpf2ptx.h"
#include "tools/common/app.h"
#include "tools/common/clang.h"
#include "tools/common/files.h"
#include "tools/egpu-cc/report.h"

namespace {

using namespace egpu;

struct Options {
  std::string input, output, emit = "obj";
  std::vector<std::string> settings;
  ProbeCompileOptions compile;
  CompileOptions translate;
  bool write_depfile = false, verbose = false;
};

void add_options(cli::App &app, Options &options) {
  app.add_option("FILE", options.input, "C source, or an object of an earlier run (.o)")->required();
  app.add_option("-o", options.output,
                 "Output file; - for stdout (default: FILE's name with .o, .ll or .ptx)")
      ->type_name("FILE");
  app.add_option("--emit", options.emit, "What to write: obj, llvm or ptx (default obj)")
      ->type_name("KIND")
      ->check(CLI::IsMember({"obj", "llvm", "ptx"}));
  app.add_option("--arch", options.translate.arch, "Target of --emit=ptx (default sm_75)")->type_name("SM");
  app.add_option("-I", options.compile.include_dirs, "Add an include directory")
      ->type_name("DIR")
      ->allow_extra_args(false);
  app.add_option("-D", options.compile.defines, "Define a macro")
      ->type_name("NAME[=VALUE]")
      ->allow_extra_args(false);
  app.add_option("-O", options.compile.opt_level, "Optimisation level, 1 or 2 (default 2)")
      ->type_name("LEVEL")
      ->check(CLI::Range(1, 2));
  app.add_flag("--MD", options.write_depfile, "Also write make rules for the headers read (-MD)");
  app.add_option("-s", options.settings, "Set a `const volatile` variable, for --emit=llvm and ptx")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
  app.add_option("--max-insns", options.translate.max_insns,
                 "Most instructions that one run of a program may execute (default 4096)")
      ->type_name("N")
      ->check(CLI::Range(1, 1000000));
  app.add_flag("-v,--verbose", options.verbose,
               "Print clang's command, what each program takes, and why one is refused");
}

// "dir/foo.bpf.c" to "foo.bpf.o" in the current directory.
std::string default_output(const std::string &input, const std::string &extension) {
  std::string name = input.substr(input.rfind('/') + 1);
  size_t dot = name.rfind('.');
  return name.substr(0, dot == 0 ? std::string::npos : dot) + extension;
}

std::string extension_of(const std::string &emit) {
  return emit == "obj" ? ".o" : emit == "llvm" ? ".ll" : ".ptx";
}

bool is_object(const std::vector<uint8_t> &bytes) {
  return bytes.size() >= 4 && bytes[0] == 0x7f && bytes[1] == 'E' && bytes[2] == 'L' && bytes[3] == 'F';
}

// The input as an object: compiled if it is source.
Result<std::vector<uint8_t>> object_of(Options &options) {
  if (options.input.ends_with(".o")) return cli::read_file(options.input);
  if (auto bytes = cli::read_file(options.input); !bytes || is_object(*bytes)) return bytes;
  if (options.write_depfile) {
    options.compile.depfile_target =
        options.output == "-" ? default_output(options.input, ".o") : options.output;
    options.compile.depfile = default_output(options.compile.depfile_target, ".d");
    size_t slash = options.compile.depfile_target.rfind('/');
    if (slash != std::string::npos)
      options.compile.depfile.insert(0, options.compile.depfile_target.substr(0, slash + 1));
  }
  options.compile.print_command = options.verbose;
  return compile_probe(options.input, options.compile);
}

Result<Ok> run(Options &options) {
  for (const std::string &text : options.settings) {
    TRY(auto setting, cli::split_setting(text));
    options.translate.constants.insert(setting);
  }
  options.translate.emit_llvm = options.emit == "llvm";
  options.translate.explain = options.verbose;
  TRY(std::vector<uint8_t> object, object_of(options));
  TRY(CompiledObject compiled, compile_object(options.input, object, options.translate));
  for (const CompiledProgram &program : compiled.programs)
    for (const std::string &text : program.notes) cli::note(text);
  if (options.verbose) std::fputs(cc::manifest(compiled).c_str(), stderr);
  if (options.emit == "obj") return cli::write_file(options.output, object.data(), object.size());
  std::string text = cc::listing(compiled, options.emit == "ptx" ? "//" : ";");
  return cli::write_file(options.output, text.data(), text.size());
}

// gcc's and clang's spelling of these options has one dash and no space: "-MD", "-O2".
void accept_short_spellings(std::vector<std::string> *arguments) {
  for (std::string &argument : *arguments) {
    if (argument == "--") break;
    if (argument == "-MD") argument = "--MD";
  }
}

}  // namespace

int main(int argc, char **argv) {
  Options options;
  cli::App app("egpu-cc", "Compile an eGPU probe: C to a verified BPF object, or to LLVM IR or PTX.");
  add_options(app, options);
  std::vector<std::string> words(argv, argv + argc);
  accept_short_spellings(&words);
  std::vector<char *> pointers;
  for (std::string &word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  if (auto status = app.parse_or_status(argc, pointers.data())) return *status;
  if (options.output.empty()) options.output = default_output(options.input, extension_of(options.emit));
  if (!options.settings.empty() && options.emit == "obj") {
    cli::error("-s: an object keeps its own values; give -s to egpu-load, or --emit=llvm or ptx");
    return cli::kUsage;
  }
  if (options.output == options.input) {
    cli::error(options.output + ": the output would replace the input");
    cli::hint("name another file with -o");
    return cli::kUsage;
  }
  if (auto done = run(options); !done) {
    cli::error(done.error().message);
    return cli::kFailed;
  }
  return cli::kOk;
}
