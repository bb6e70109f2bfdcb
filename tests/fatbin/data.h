// The checked-in images of data/, and small fatbins put together by hand.
#pragma once
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

inline std::vector<uint8_t> read_data(const std::string &name) {
  std::ifstream in(std::string(EGPU_SOURCE_DIR) + "/tests/fatbin/data/" + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

template <class T>
void store(std::vector<uint8_t> &bytes, size_t offset, T value) {
  std::memcpy(bytes.data() + offset, &value, sizeof(T));
}

// A fatbin with one uncompressed PTX entry of an sm_90 module.
inline std::vector<uint8_t> small_fatbin(const std::string &text) {
  size_t padded = (text.size() + 8) / 8 * 8;
  std::vector<uint8_t> bytes(16 + 64 + padded);
  store<uint32_t>(bytes, 0, 0xBA55ED50);
  store<uint16_t>(bytes, 4, 1);
  store<uint16_t>(bytes, 6, 16);
  store<uint64_t>(bytes, 8, bytes.size() - 16);
  store<uint16_t>(bytes, 16, 1);
  store<uint16_t>(bytes, 18, 0x0101);
  store<uint32_t>(bytes, 20, 64);
  store<uint64_t>(bytes, 24, padded);
  store<uint32_t>(bytes, 16 + 0x1c, 90);
  store<uint64_t>(bytes, 16 + 0x28, 0x11);
  std::memcpy(bytes.data() + 80, text.data(), text.size());
  return bytes;
}
