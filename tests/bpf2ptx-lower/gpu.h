// Runs compiled programs on the simulated GPU: one thread runs one body, which stands in the kernel or is
// called by it; maps are blocks of device memory in the layout that the agent gives them.
#pragma once
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "clang.h"
#include "egpu/bpf2ptx.h"
#include "lib/loader/map/hash.h"
#include "lib/loader/ptx/function.h"
#include "lib/loader/ptx/symbols.h"
#include "lib/sim/machine/machine.h"

namespace egpu::test {

constexpr uint32_t kShards = 4;

class Gpu {
 public:
  Gpu(const std::string &text, const std::string &flags, ptx::BodyForm form) : form_(form) {
    sim::DeviceConfig config;
    config.sm_count = kShards;
    machine_ = sim::Machine::create(config);
    auto object = compile_object("t", compile_text(text, flags), {});
    if (!object) {
      ADD_FAILURE() << object.error().message;
      return;
    }
    object_ = *std::move(object);
    for (const MapSpec &map : object_.maps) {
      uint64_t size_bytes = map::block_bytes(map.shape, map.sharded ? kShards : 1);
      uint64_t block = machine_->memory().allocate(size_bytes);
      std::memset(reinterpret_cast<void *>(block), 0, size_bytes);
      if (!map.initial.empty())
        std::memcpy(reinterpret_cast<void *>(block), map.initial.data(), map.initial.size());
      blocks_.push_back(block);
    }
    // %r1 is the global thread number.
    values_ = {{"egpu_kernel", "17"},
               {"egpu_site", "29"},
               {"egpu_launch_ns", "1000003"},
               {"egpu_active_mask", "0xffffffff"}};
    bindings_.constants = {{"egpu_ktime_offset", 0}, {"egpu_last_shard", kShards - 1}};
    for (size_t i = 0; i < blocks_.size(); ++i) {
      const MapSpec &map = object_.maps[i];
      bindings_.constants["egpu_map_" + std::to_string(i)] = blocks_[i];
      bindings_.constants["egpu_stride_" + std::to_string(i)] = map.sharded ? map::shard_bytes(map.shape) : 0;
    }
  }

  const CompiledObject &object() const { return object_; }

  /// The value of a symbol that is no constant of the session: a number, or %r1 (thread of the grid) for a
  /// .b32.
  void set(const std::string &symbol, const std::string &value) { values_[symbol] = value; }

  void run(uint32_t blocks, uint32_t threads, size_t program = 0) {
    if (object_.programs.size() <= program) return;
    auto text = kernel(object_.programs[program]);
    if (!text) {
      ADD_FAILURE() << text.error().message;
      return;
    }
    auto module = machine_->load(*text);
    if (!module) {
      ADD_FAILURE() << module.error().message << "\n" << *text;
      return;
    }
    sim::Launch launch;
    launch.module = *module;
    launch.kernel = "kernel";
    launch.grid = {blocks, 1, 1};
    launch.block = {threads, 1, 1};
    sim::Fault fault{};
    auto done = machine_->run(launch, &fault);
    EXPECT_TRUE(done) << done.error().message << fault.message;
  }

  int find(const std::string &name) const {
    for (size_t i = 0; i < object_.maps.size(); ++i)
      if (object_.maps[i].name == name) return static_cast<int>(i);
    ADD_FAILURE() << "no map " << name;
    std::abort();
  }
  const MapSpec &map(const std::string &name) const { return object_.maps[static_cast<size_t>(find(name))]; }
  uint8_t *block(const std::string &name) const {
    return reinterpret_cast<uint8_t *>(blocks_[static_cast<size_t>(find(name))]);
  }

  /// The u64 at `offset` of value `slot`, added over the shards.
  uint64_t sum(const std::string &name, uint64_t slot, uint64_t offset = 0) const {
    const MapSpec &spec = map(name);
    uint64_t total = 0;
    for (uint32_t s = 0; s < (spec.sharded ? kShards : 1); ++s) {
      uint64_t word;
      std::memcpy(&word,
                  block(name) + map::values_offset(spec.shape) + s * map::shard_bytes(spec.shape) +
                      slot * map::value_stride(spec.shape) + offset,
                  8);
      total += word;
    }
    return total;
  }

  uint32_t state(const std::string &name, uint64_t slot) const {
    uint32_t word;
    std::memcpy(&word, block(name) + map::hash_states_offset() + 4 * slot, 4);
    return word;
  }

  /// The slot of a key as a host reader finds it, -1 if there is none.
  int64_t find_slot(const std::string &name, const void *key) const {
    const map::Shape &shape = map(name).shape;
    const auto *bytes = static_cast<const uint8_t *>(key);
    uint32_t hash = map::hash_key(bytes, shape.key_size);
    uint64_t capacity = map::hash_capacity(shape), slot = map::hash_first_slot(hash, shape);
    for (uint64_t i = 0; i < capacity; ++i, slot = (slot + 1) % capacity) {
      uint32_t word = state(name, slot);
      if (word == map::kSlotEmpty) return -1;
      const uint8_t *there = block(name) + map::hash_keys_offset(shape) + slot * map::key_stride(shape);
      if (word == ((hash & ~map::kSlotStateMask) | map::kSlotFull) &&
          std::memcmp(there, bytes, shape.key_size) == 0)
        return static_cast<int64_t>(slot);
    }
    return -1;
  }

  uint64_t full_slots(const std::string &name) const {
    uint64_t count = 0;
    for (uint64_t i = 0; i < map::hash_capacity(map(name).shape); ++i)
      count += (state(name, i) & map::kSlotStateMask) == map::kSlotFull;
    return count;
  }

  map::HashHeader header(const std::string &name) const {
    map::HashHeader header;
    std::memcpy(&header, block(name), sizeof header);
    return header;
  }

 private:
  Result<std::string> kernel(const CompiledProgram &program) const {
    ptx::Probe probe;
    probe.name = program.name;
    probe.symbols = program.symbols;
    probe.writes_cookie = program.writes_cookie;
    TRY(ptx::Body body, ptx::Body::prepare(program.body));
    std::string text = ".version 7.8\n.target sm_90\n.address_size 64\n", call;
    if (form_ == ptx::BodyForm::called) {
      TRY(std::string function, ptx::function_definition(probe, 0, body, bindings_));
      text += function;
      call = ptx::function_call(probe, 0);
    }
    text +=
        ".visible .entry kernel()\n{\n\t.reg .b32 %r<4>;\n"
        "\tmov.u32 %r2, %ctaid.x;\n\tmov.u32 %r3, %ntid.x;\n\tmov.u32 %r1, %tid.x;\n"
        "\tmad.lo.u32 %r1, %r2, %r3, %r1;\n";
    for (const std::string &symbol : program.symbols) {
      if (ptx::is_constant(symbol)) {
        if (form_ == ptx::BodyForm::called) continue;
        TRY(std::string constant, ptx::define_constant(probe, symbol, symbol, bindings_));
        text += constant;
        continue;
      }
      std::string type = ptx::symbol_type(symbol);
      auto value = values_.find(symbol);
      text += "\t.reg ." + type + " " + symbol + ";\n\tmov." + type + " " + symbol + ", " +
              (value == values_.end() ? "0" : value->second) + ";\n";
    }
    return text + "\t{\n" + (call.empty() ? body.with_labels("label") + "\n" : call) + "\t}\n\tret;\n}\n";
  }

  ptx::BodyForm form_;
  std::unique_ptr<sim::Machine> machine_;
  CompiledObject object_;
  std::vector<uint64_t> blocks_;
  std::map<std::string, std::string> values_;
  ptx::Bindings bindings_;
};

}  // namespace egpu::test
