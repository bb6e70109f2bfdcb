// Arrays: their shapes, copies to and from them, and what is refused.
#include <numeric>

#include "tests/sim-driver/rows.h"

namespace egpu::sim {
namespace {

constexpr int kUnsigned8 = 1, kUnsigned32 = 3, kFloat = 0x20;

class Arrays : public CudaTest {
 protected:
  Handle array(const ArrayDescriptor &shape) {
    Handle made = nullptr;
    EXPECT_EQ(cu("cuArray3DCreate_v2", &made, &shape), 0);
    return made;
  }
  int create(const ArrayDescriptor &shape) {
    Handle made = nullptr;
    const int status = cu("cuArray3DCreate_v2", &made, &shape);
    if (status == 0) cu("cuArrayDestroy", made);
    return status;
  }
  int copy(const Copy3D &params) { return cu("cuMemcpy3D_v2", &params); }
};

TEST_F(Arrays, Shapes) {
  expect_all({
      {"one dimension", 0,
       [&] {
         return create({40, 0, 0, kFloat, 1, 0});
       }},
      {"two", 0,
       [&] {
         return create({40, 30, 0, kUnsigned8, 4, 0});
       }},
      {"three", 0,
       [&] {
         return create({40, 30, 20, kUnsigned32, 2, 0});
       }},
      {"layers", 0,
       [&] {
         return create({40, 30, 7, kFloat, 1, 1});
       }},
      {"layers of one dimension", 0,
       [&] {
         return create({40, 0, 7, kFloat, 1, 1});
       }},
      {"for surfaces", 0,
       [&] {
         return create({40, 30, 0, kFloat, 1, 2});
       }},
      {"a cubemap", 0,
       [&] {
         return create({32, 32, 6, kFloat, 1, 4});
       }},
      {"no width", 1,
       [&] {
         return create({0, 0, 0, kFloat, 1, 0});
       }},
      {"three channels", 1,
       [&] {
         return create({40, 0, 0, kFloat, 3, 0});
       }},
      {"depth without height", 1,
       [&] {
         return create({40, 0, 3, kFloat, 1, 0});
       }},
      {"a cubemap that is no cube", 1,
       [&] {
         return create({32, 16, 6, kFloat, 1, 4});
       }},
  });
  const Handle made = array({40, 30, 0, kUnsigned8, 4, 2});
  ArrayDescriptor shape{};
  ArrayDescriptor2D flat{};
  EXPECT_EQ(cu("cuArray3DGetDescriptor_v2", &shape, made), 0);
  EXPECT_EQ(cu("cuArrayGetDescriptor_v2", &flat, made), 0);
  EXPECT_EQ(shape.width, 40u);
  EXPECT_EQ(shape.height, 30u);
  EXPECT_EQ(shape.depth, 0u);
  EXPECT_EQ(shape.format, kUnsigned8);
  EXPECT_EQ(shape.channels, 4u);
  EXPECT_EQ(shape.flags, 2u);
  EXPECT_EQ(flat.width, 40u);
  EXPECT_EQ(flat.height, 30u);
  EXPECT_EQ(cu("cuArrayDestroy", made), 0);
}

// A box of a box, through an array: into it at one place, out of it from another.
TEST_F(Arrays, CopiesInThreeDimensions) {
  constexpr size_t kWidth = 8, kHeight = 5, kDepth = 3;
  std::vector<unsigned> from(kWidth * kHeight * kDepth), to(4 * 3 * 2, 0);
  std::iota(from.begin(), from.end(), 100u);
  const Handle box = array({kWidth, kHeight, kDepth, kUnsigned32, 1, 0});
  Copy3D in{}, out{};
  in.from_type = kMemoryHost;
  in.from_host = from.data();
  in.from_pitch = kWidth * 4;
  in.from_height = kHeight;
  in.to_type = kMemoryArray;
  in.to_array = box;
  in.width_bytes = kWidth * 4;
  in.height = kHeight;
  in.depth = kDepth;
  EXPECT_EQ(copy(in), 0);
  out.from_type = kMemoryArray;
  out.from_array = box;
  out.from_x_bytes = 3 * 4;
  out.from_y = 2;
  out.from_z = 1;
  out.to_type = kMemoryHost;
  out.to_host = to.data();
  out.to_pitch = 4 * 4;
  out.to_height = 3;
  out.width_bytes = 4 * 4;
  out.height = 3;
  out.depth = 2;
  EXPECT_EQ(copy(out), 0);
  for (size_t z = 0; z < 2; ++z)
    for (size_t y = 0; y < 3; ++y)
      for (size_t x = 0; x < 4; ++x)
        EXPECT_EQ(to[(z * 3 + y) * 4 + x], 100 + ((z + 1) * kHeight + y + 2) * kWidth + x + 3);

  const auto with = [](Copy3D params, auto change) {
    change(params);
    return cu("cuMemcpy3D_v2", static_cast<const Copy3D *>(&params));
  };
  expect_all({
      {"too wide", 1, [&] { return with(out, [](Copy3D &c) { c.from_x_bytes = 5 * 4; }); }},
      {"too high", 1, [&] { return with(out, [](Copy3D &c) { c.from_y = 3; }); }},
      {"too deep", 1, [&] { return with(out, [](Copy3D &c) { c.from_z = 2; }); }},
      {"parts of elements", 0, [&] { return with(out, [](Copy3D &c) { c.from_x_bytes = 2; }); }},
  });
  EXPECT_EQ(cu("cuArrayDestroy", box), 0);
}

TEST_F(Arrays, RowsAndStreams) {
  const Handle row = array({16, 0, 0, kUnsigned32, 1, 0}), other = array({16, 0, 0, kUnsigned32, 1, 0}),
               on = stream();
  const std::vector<unsigned> from{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
  const void *source = from.data();
  EXPECT_EQ(cu("cuMemcpyHtoA_v2", row, size_t{0}, source, size_t{64}), 0);
  EXPECT_EQ(cu("cuMemcpyAtoA_v2", other, size_t{8}, row, size_t{16}, size_t{8}), 0);
  const Address device = allocate(64);
  EXPECT_EQ(cu("cuMemcpyAtoD_v2", device, other, size_t{8}, size_t{8}), 0);
  EXPECT_EQ(read<uint64_t>(device), uint64_t{6} << 32 | 5);
  EXPECT_EQ(cu("cuMemcpyDtoA_v2", row, size_t{60}, device, size_t{4}), 0);
  unsigned got[16] = {};
  void *to = got;
  EXPECT_EQ(cu("cuMemcpyAtoHAsync_v2", to, row, size_t{0}, size_t{64}, on), 0);
  EXPECT_EQ(cu("cuStreamSynchronize", on), 0);
  EXPECT_EQ(got[14], 15u);
  EXPECT_EQ(got[15], 5u);
  EXPECT_EQ(cu("cuMemcpyHtoA_v2", row, size_t{4}, source, size_t{64}), 1);

  // As a node of a graph, and in two dimensions.
  const Handle plane = array({4, 4, 0, kUnsigned32, 1, 0});
  Copy2D flat{};
  flat.from_type = kMemoryHost;
  flat.from_host = source;
  flat.from_pitch = 16;
  flat.to_type = kMemoryArray;
  flat.to_array = plane;
  flat.width_bytes = 16;
  flat.height = 4;
  EXPECT_EQ(cu("cuMemcpy2D_v2", static_cast<const Copy2D *>(&flat)), 0);
  Copy3D params{};
  params.from_type = kMemoryArray;
  params.from_array = plane;
  params.from_y = 1;
  params.to_type = kMemoryDevice;
  params.to_device = device;
  params.to_pitch = 16;
  params.to_height = 3;
  params.width_bytes = 16;
  params.height = 3;
  params.depth = 1;
  Handle graph = nullptr, node = nullptr, exec = nullptr;
  EXPECT_EQ(cu("cuGraphCreate", &graph, 0u), 0);
  EXPECT_EQ(cu("cuGraphAddMemcpyNode", &node, graph, static_cast<const Handle *>(nullptr), size_t{0},
               static_cast<const Copy3D *>(&params), context),
            0);
  Copy3D kept{};
  EXPECT_EQ(cu("cuGraphMemcpyNodeGetParams", node, &kept), 0);
  EXPECT_EQ(kept.from_type, kMemoryArray);
  EXPECT_EQ(kept.from_array, plane);
  EXPECT_EQ(cu("cuGraphInstantiateWithFlags", &exec, graph, 0ull), 0);
  EXPECT_EQ(cu("cuGraphLaunch", exec, on), 0);
  EXPECT_EQ(cu("cuStreamSynchronize", on), 0);
  EXPECT_EQ(read<unsigned>(device), 5u);
  EXPECT_EQ(read<unsigned>(device + 44), 16u);
  for (Handle each : {row, other, plane}) EXPECT_EQ(cu("cuArrayDestroy", each), 0);
}

}  // namespace
}  // namespace egpu::sim
