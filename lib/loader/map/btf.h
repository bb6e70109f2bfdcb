// BTF, the type information of an eBPF object, as a table of types that can be walked safely.
//
// In: the raw bytes of a .BTF section, from an object or from a snapshot file; any bytes are
// allowed. Out: types by id, owned. What parse() accepted has names inside the string section and
// complete records; type ids in it may still point nowhere or in circles, which is why users go
// through type(), resolve() and size_of(), which bound their walks.
//
// Source: Linux Documentation/bpf/btf.rst; constants from <linux/btf.h>.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "egpu/result.h"

namespace egpu::map {

class Btf {
 public:
  struct Member {  // of a struct, union or data section; enumerator of an enum
    std::string name;
    uint32_t type = 0;
    uint64_t bit_offset = 0;
    uint32_t bit_size = 0;  // of a bit field; else 0
    int64_t value = 0;      // of an enumerator
    std::string unit;       // from __unit("...")
  };
  struct Type {
    uint32_t kind = 0;  // BTF_KIND_*
    std::string name;
    uint64_t size_bytes = 0;  // of int, enum, struct, union, float, data section
    uint32_t referred = 0;    // what a pointer, typedef, qualifier, array, variable is of
    uint32_t count = 0;       // elements of an array
    bool is_signed = false, is_char = false, is_bool = false;
    std::vector<Member> members;
    std::string unit;  // from __unit on the declaration itself (variables)
  };

  static Result<Btf> parse(const std::vector<uint8_t> &bytes);

  /// The type; id 0 and unknown ids give the void type (kind 0).
  const Type &type(uint32_t id) const;
  /// Strips typedefs, qualifiers and variables; 0 if there is nothing behind them.
  uint32_t resolve(uint32_t id) const;
  /// Bytes of a value of this type; 0: has none (void, function, forward declaration, circle).
  uint64_t size_of(uint32_t id) const;
  /// The outermost typedef's name that is in `names`, or "" (walks typedefs and qualifiers).
  std::string typedef_among(uint32_t id, const std::vector<std::string> &names) const;
  /// As in C: "gpu_kernel_t", "struct heat", "u64 [4]".
  std::string c_name(uint32_t id) const;

 private:
  std::vector<Type> types_;
};

}  // namespace egpu::map
