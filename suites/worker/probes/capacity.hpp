// Is the memory there, and does every address hold what was written to it, and to no other?
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace at {
class Tensor;
}
namespace c10 {
struct Device;
}

namespace reprobench {

struct CapacityFinding {
  std::int64_t verified_bytes = 0;
  std::int64_t wrong_words = 0;
  std::string first_wrong;  // a sentence; empty if none is wrong
};

// Blocks of 8-byte words, `bytes` in all, rounded down to whole blocks.
std::vector<at::Tensor> allocate_blocks(const c10::Device& device, std::int64_t bytes);

// Every word becomes its own index among all words, or the complement of that.
void write_addresses(std::vector<at::Tensor>& blocks, bool complemented);

// Reads all words back and compares them on the device.
CapacityFinding verify_addresses(const std::vector<at::Tensor>& blocks, bool complemented);

}  // namespace reprobench
