#include "tests/bpf2ptx-verify/world.h"

#include <cstring>

#include "lib/bpf2ptx/insn/format.h"
#include "lib/bpf2ptx/insn/semantics.h"
#include "lib/bpf2ptx/verify/ctx.h"

namespace egpu::bpf::test {
namespace {

constexpr uint64_t kCtxAddress = 0x10'0000, kCtxBytes = 192, kCookieAddress = 0x20'0000,
                   kMapBase = 0x1000'0000, kMapStride = 0x100'0000, kValueStride = 0x1000,
                   kMapHandle = 0xe000'0000'0000'0000;

// u32 7, u32 0, u64 100, formats at 16, 24, 40, 48, 56.
std::vector<uint8_t> rodata() {
  std::vector<uint8_t> bytes(64, 0);
  bytes[0] = 7;
  bytes[8] = 100;
  auto put = [&](size_t at, const char *text) { std::memcpy(&bytes[at], text, std::strlen(text) + 1); };
  put(16, "n=%d\n");
  put(24, "%u %lld %08x");
  put(40, "%s");
  put(48, "%d%d%d%d");
  bytes[57] = 'x', bytes[58] = 'x';
  return bytes;
}

MapSpec map_spec(const char *name, map::Type type, uint32_t key, uint32_t value, uint32_t entries) {
  MapSpec spec;
  spec.name = name;
  spec.shape = {type, key, value, entries};
  return spec;
}

Object make_object() {
  using map::Type;
  Object object;
  object.name = "test.bpf.o";
  object.maps = {map_spec("array", Type::array, 4, 64, 16), map_spec("one", Type::array, 4, 8, 1),
                 map_spec("hash", Type::hash, 8, 16, 64),   map_spec("percpu", Type::percpu_array, 4, 8, 1),
                 map_spec("wide", Type::hash, 16, 256, 8),  map_spec(".rodata", Type::array, 4, 64, 1),
                 map_spec(".bss", Type::array, 4, 32, 1),   map_spec("printk", Type::ringbuf, 0, 64, 64)};
  object.maps[5].read_only = true;
  object.maps[5].initial = rodata();
  return object;
}

// The interpreter's surroundings.
class World {
 public:
  World(const Program &program, uint64_t seed) : program_(program), random_(seed), interp_(program.insns) {
    fill_ctx();
    interp_.memory().add({"ctx", kCtxAddress, ctx_, kCtxBytes, false, nullptr});
    interp_.memory().add({"cookie", kCookieAddress, cookie_, 8, true, nullptr});
    for (size_t m = 0; m < object().maps.size(); ++m) add_map(m);
    interp_.set_strict(true);
    interp_.on_map([](int map, std::optional<uint32_t> offset) -> Result<uint64_t> {
      if (offset) return kMapBase + static_cast<uint64_t>(map) * kMapStride + *offset;
      return kMapHandle + static_cast<uint64_t>(map);
    });
    interp_.on_helper([this](int32_t id, const std::array<uint64_t, 5> &args) { return helper(id, args); });
  }

  Interpreter &interp() { return interp_; }

 private:
  uint64_t number() {
    // Small and extreme numbers find more than uniform ones.
    static constexpr uint64_t kSpecial[] = {0,
                                            1,
                                            2,
                                            7,
                                            8,
                                            63,
                                            64,
                                            255,
                                            0x7fffffff,
                                            0x80000000,
                                            0xffffffff,
                                            0x100000000,
                                            0x7fffffffffffffff,
                                            0x8000000000000000,
                                            0xffffffffffffffff};
    uint64_t r = random_();
    return r % 3 == 0 ? kSpecial[(r >> 8) % std::size(kSpecial)] : r % 3 == 1 ? (r >> 8) % 128 : random_();
  }

  void fill_ctx() {
    for (int at = 0; at < static_cast<int>(kCtxBytes); at += 4)
      for (int bytes : {8, 4}) {
        const CtxField *field = find_ctx_field(program_.event, at, bytes);
        if (!field || field->offset != at || field->bytes != bytes) continue;
        uint64_t value = number();
        if (value > field->max) value %= field->max + 1;
        std::memcpy(ctx_ + at, &value, static_cast<size_t>(bytes));
      }
  }

  static uint64_t value_address(size_t map, uint64_t entry) {
    return kMapBase + map * kMapStride + entry * kValueStride;
  }

  void add_map(size_t m) {
    const MapSpec &spec = object().maps[m];
    uint64_t entries =
        spec.shape.type == map::Type::ringbuf ? 0 : std::min<uint32_t>(spec.shape.max_entries, 16);
    for (uint64_t e = 0; e < entries; ++e) {
      auto &bytes = *values_.emplace_back(std::make_unique<std::vector<uint8_t>>(spec.shape.value_size));
      for (uint8_t &byte : bytes) byte = static_cast<uint8_t>(number());
      if (!spec.initial.empty()) bytes = spec.initial;
      interp_.memory().add({"a value of " + spec.name, value_address(m, e), bytes.data(), bytes.size(),
                            !spec.read_only, nullptr});
    }
  }

  Result<uint64_t> helper(int32_t id, const std::array<uint64_t, 5> &args) {
    uint64_t map = args[0] - kMapHandle;
    switch (id) {
      case 1:
      case 2: {
        const MapSpec &spec = object().maps.at(map);
        TRY(uint8_t * key, interp_.memory().find(args[1], spec.shape.key_size, false));
        if (id == 2) {
          TRY(uint8_t * value, interp_.memory().find(args[2], spec.shape.value_size, false));
          (void)value;
          return number() % 2 ? 0 : 0 - uint64_t{17};
        }
        uint32_t index = 0;
        std::memcpy(&index, key, 4);
        if (map::is_hash(spec.shape.type)) return number() % 4 ? value_address(map, number() % 8) : 0;
        return index < spec.shape.max_entries ? value_address(map, index) : 0;
      }
      case 5:
      case 6:
      case 0x6003:
        return number();
      case 7:
      case 8:
      case 0x6005:
        return number() & 0xffffffff;
      case 0x6001:
        return kCookieAddress;
      case 0x6004:
        return static_cast<uint64_t>(std::min(63, 64 - __builtin_clzll(args[0] | 1)));
      default:
        return Error{format("helper {} is not in this world", id)};
    }
  }

  const Program &program_;
  std::mt19937_64 random_;
  Interpreter interp_;
  uint8_t ctx_[kCtxBytes]{}, cookie_[8]{};
  std::vector<std::unique_ptr<std::vector<uint8_t>>> values_;
};

// Where an address lies, as Facts say it.
Pointer object_at(uint64_t address) {
  Pointer p;
  auto at = [&](Space space, uint64_t offset) {
    p.space = space;
    p.offset = p.min_offset = p.max_offset = static_cast<int64_t>(offset);
    return p;
  };
  if (address >= kCtxAddress && address < kCtxAddress + kCtxBytes)
    return at(Space::ctx, address - kCtxAddress);
  if (address >= kCookieAddress && address < kCookieAddress + 8)
    return at(Space::cookie, address - kCookieAddress);
  if (address >= kMapHandle) {
    p.map = static_cast<int>(address - kMapHandle);
    return at(Space::map, 0);
  }
  if (address >= Interpreter::kStackBase) {
    uint64_t above = address - Interpreter::kStackBase + Interpreter::kStackBytes;
    p.frame = static_cast<int>(above / Interpreter::kFrameStride) - 1;
    return at(Space::stack, above % Interpreter::kFrameStride - Interpreter::kStackBytes);
  }
  p.map = static_cast<int>((address - kMapBase) / kMapStride);
  return at(Space::map_value, (address - kMapBase) % kMapStride % kValueStride);
}

// Compares what a run does with the facts that lower/ would translate it by.
class FactCheck {
 public:
  FactCheck(const Program &program, const Facts &facts) : program_(program), facts_(facts) {}

  Result<Ok> before(int insn, int depth, const Interpreter::Registers &regs) {
    auto frame = static_cast<size_t>(depth);
    if (frame >= chains_.size()) {
      int called = frame == 0 ? 0 : facts_.callee(chains_.back(), last_.back(), insn);
      if (called < 0) return Error{format("insn {}: no chain of calls leads here", insn)};
      chains_.push_back(called);
      last_.push_back(insn);
    }
    chains_.resize(frame + 1);
    last_.resize(frame + 1);
    last_[frame] = insn;
    const Chain &chain = facts_.chains[static_cast<size_t>(chains_[frame])];
    if (insn < chain.begin || insn >= chain.end || !chain.at(insn).reachable)
      return Error{format("insn {} was said to be unreachable", insn)};
    return std::visit([&](const auto &op) { return check(insn, chain.at(insn), op, regs); },
                      program_.insns[static_cast<size_t>(insn)].op);
  }

 private:
  template <class T>
  Result<Ok> check(int insn, const InsnFacts &row, const T &op, const Interpreter::Registers &regs) const {
    if constexpr (requires { op.base; }) {
      uint64_t address = regs.value[op.base.n] + static_cast<uint64_t>(int64_t{op.offset});
      if (!is_among(row.memory, address)) return Error{format("insn {} accesses {}", insn, hex(address))};
    }
    if constexpr (std::is_same_v<T, CallHelper>) {
      size_t made = 0;
      for (const HelperCall &call : row.calls) made += is_made(call, regs);
      if (made != 1) return Error{format("insn {} makes {} of its calls", insn, made)};
    }
    return Ok{};
  }

  static bool is_among(const std::vector<Pointer> &objects, uint64_t address) {
    Pointer here = object_at(address);
    return std::any_of(objects.begin(), objects.end(), [&](const Pointer &p) {
      return p.same_object(here) && p.min_offset <= here.min_offset && here.max_offset <= p.max_offset &&
             (!p.offset || p.offset == here.offset) && here.min_offset % p.align == 0;
    });
  }

  // Every argument is what the call says.
  static bool is_made(const HelperCall &call, const Interpreter::Registers &regs) {
    for (size_t i = 0; i < call.args.size(); ++i) {
      const Argument &argument = call.args[i];
      uint64_t value = regs.value[i + 1];
      if (argument.value && value != *argument.value) return false;
      if (argument.pointers.empty()) continue;
      if (argument.pointers[0].space == Space::function) {
        // The interpreter's functions are their first instruction under a tag.
        if (static_cast<int32_t>(value) != argument.pointers[0].function) return false;
        continue;
      }
      if (!is_among(argument.pointers, value)) return false;
    }
    return true;
  }

  const Program &program_;
  const Facts &facts_;
  std::vector<int> chains_, last_;  // by depth: the chain, and the last instruction
};

}  // namespace

const Object &object() {
  static const Object kObject = make_object();
  return kObject;
}

Result<Program> make_program(const std::string &text, const std::string &event) {
  std::vector<std::string> names;
  for (const MapSpec &map : object().maps)
    names.push_back(map.name[0] == '.' ? map.name.substr(1) : map.name);
  TRY(Assembly assembly, assemble(text, names));
  Program program;
  program.name = "test";
  std::string note;
  TRY(Event parsed, parse_section(event, &note));
  program.event = parsed;
  program.insns = assembly.insns;
  program.subprogram_starts = assembly.subprogram_starts;
  program.subprogram_names = assembly.subprogram_names;
  return program;
}

Result<uint64_t> run_checked(const Program &program, const Claims &claims, const Facts &facts,
                             uint64_t seed) {
  World world(program, seed);
  Interpreter &interp = world.interp();
  FactCheck check(program, facts);
  interp.set_max_insns(facts.cost.insns);
  interp.on_insn([&](int insn, int frame, const Interpreter::Registers &regs) -> Result<Ok> {
    for (size_t n = 0; n < kRegCount; ++n) {
      const Claims::Register &claim = claims.before[static_cast<size_t>(insn)][n];
      if (claim.seen && claim.range && regs.known[n] && !claim.range->contains(regs.value[n]))
        return Error{format("insn {}: r{} = {} is outside the claimed {}", insn, n, hex(regs.value[n]),
                            to_string(*claim.range))};
    }
    return check.before(insn, frame, regs);
  });
  return interp.run(kCtxAddress, 0);
}

}  // namespace egpu::bpf::test
