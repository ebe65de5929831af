// Single frames for the kernel of tests/blco/frame_lanes_kernel.cu.
#pragma once

#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "blco/frame_lanes.hpp"
#include "kernels/cuda/device_memory.hpp"
#include "tests/blco/frame_values.hpp"
#include "tests/sass/launch_files.hpp"

namespace blco::testing {

// The parameters of decode_one_frame, as they lie in constant memory.
struct FrameArguments {
  FrameLanes frame;
  FrameCoding coding = FrameCoding::differences;
  std::uint64_t* values = nullptr;
};

// Every frame lies in memory of its own, as large as the format promises: its bytes and 8 readable ones.
inline nlohmann::json record_frames(const std::string& folder) {
  constexpr std::uint64_t base = 1000;
  std::vector<cuda::DeviceBuffer> memory;
  std::ofstream truth(folder + "/frames.truth", std::ios::binary);
  nlohmann::json runs = nlohmann::json::array();
  const auto all = frame_test_values();
  for (std::size_t at = 0; at < all.size(); ++at) {
    const FrameCoding coding = at % 2 == 0 ? FrameCoding::differences : FrameCoding::plain;
    std::vector<std::byte> bytes;
    const FrameShape shape = encode_frame(all[at].values, coding, base, bytes);
    bytes.resize(bytes.size() + 8);
    auto* frame = memory.emplace_back(bytes.size(), "a frame").as<std::byte>();
    std::memcpy(frame, bytes.data(), bytes.size());
    auto* values = memory.emplace_back(frame_entries * sizeof(std::uint64_t), "its values").as<std::uint64_t>();
    runs.push_back({{"name", all[at].name},
                    {"width", shape.width},
                    {"exceptions", shape.exceptions},
                    {"arguments", hex(FrameArguments{{frame, shape, base}, coding, values})},
                    {"values", reinterpret_cast<std::uintptr_t>(values)},
                    {"count", all[at].values.size()}});
    write_numbers(truth, std::span<const std::uint64_t>(all[at].values));
  }
  return {{"ranges", write_device_memory(folder + "/frames.device")}, {"runs", runs}};
}

}  // namespace blco::testing
