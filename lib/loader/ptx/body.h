// A probe's body, ready to be copied to many sites of one module.
//
// The statements are those of the body ABI (include/egpu/bpf2ptx.h). Its labels get a new
// name at every site: LLVM's ($L__BB0_1) are the kernel's own ones too, and a reader of the
// patched text should not have to know which scope a label belongs to.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "egpu/result.h"

namespace egpu::ptx {

class Body {
 public:
  /// Error: the body is no list of statements (braces, comments, strings).
  static Result<Body> prepare(std::string_view text);

  /// The text with every label `L` replaced by `<prefix>_<number>`.
  std::string with_labels(const std::string &prefix) const;
  bool empty() const { return pieces_.empty(); }
  /// Instructions, declarations not counted.
  size_t statements() const { return statements_; }

 private:
  struct Piece {
    std::string text;
    int label = -1;  // number of the label that follows the text; -1: none
  };
  std::vector<Piece> pieces_;
  size_t statements_ = 0;
};

}  // namespace egpu::ptx
