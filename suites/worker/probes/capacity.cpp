#include "suites/worker/probes/capacity.hpp"

#include <ATen/core/Tensor.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>

namespace reprobench {
namespace {

constexpr std::int64_t kWordsPerBlock = std::int64_t{8} << 20;  // 64 MiB

at::Tensor addresses(const at::Tensor& block, std::size_t index, bool complemented) {
  const std::int64_t first = static_cast<std::int64_t>(index) * kWordsPerBlock;
  at::Tensor words = at::arange(first, first + kWordsPerBlock, block.options());
  return complemented ? words.bitwise_not_() : words;
}

}  // namespace

std::vector<at::Tensor> allocate_blocks(const c10::Device& device, std::int64_t bytes) {
  std::vector<at::Tensor> blocks;
  const auto options = at::TensorOptions(device).dtype(at::kLong);
  for (std::int64_t block = 0; block < bytes / (8 * kWordsPerBlock); ++block) {
    blocks.push_back(at::empty({kWordsPerBlock}, options));
  }
  return blocks;
}

void write_addresses(std::vector<at::Tensor>& blocks, bool complemented) {
  for (std::size_t i = 0; i < blocks.size(); ++i) blocks[i].copy_(addresses(blocks[i], i, complemented));
}

CapacityFinding verify_addresses(const std::vector<at::Tensor>& blocks, bool complemented) {
  CapacityFinding finding;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const at::Tensor expected = addresses(blocks[i], i, complemented);
    const at::Tensor differs = blocks[i].ne(expected);
    const std::int64_t wrong = differs.sum().item<std::int64_t>();
    finding.wrong_words += wrong;
    finding.verified_bytes += 8 * (kWordsPerBlock - wrong);
    if (wrong == 0 || !finding.first_wrong.empty()) continue;
    const std::int64_t at = differs.to(at::kByte).argmax().item<std::int64_t>();
    finding.first_wrong = "word " + std::to_string(static_cast<std::int64_t>(i) * kWordsPerBlock + at) + " holds " +
                          std::to_string(blocks[i][at].item<std::int64_t>()) + " instead of " +
                          std::to_string(expected[at].item<std::int64_t>());
  }
  return finding;
}

}  // namespace reprobench
