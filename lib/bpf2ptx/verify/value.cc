#include "lib/bpf2ptx/verify/value.h"

namespace egpu::bpf {

std::string describe(const Value &value) {
  switch (value.kind) {
    case Kind::uninit:
      return "an uninitialised register";
    case Kind::scalar:
      return "a number";
    case Kind::ctx:
      return "a pointer to the context";
    case Kind::stack:
      return "a pointer to the stack";
    case Kind::map_value:
      return "a pointer to a map value";
    case Kind::map_value_or_null:
      return "a pointer to a map value that may be NULL";
    case Kind::map:
      return "a map";
    case Kind::cookie:
      return "a pointer to the cookie";
    case Kind::function:
      return "a pointer to a function";
  }
  return "?";
}

}  // namespace egpu::bpf
