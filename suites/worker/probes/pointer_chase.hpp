// Latency of memory: loads each of which needs the result of the one before, along one cycle through all lines of a
// block in random order, so that no prefetcher knows the next.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace reprobench {

inline constexpr std::size_t kChaseLineBytes = 64;

// A permutation of `lines` that is one cycle (Sattolo's algorithm), drawn by Philox: the same on every stack.
std::vector<std::uint32_t> single_cycle(std::uint64_t seed, std::size_t lines);

// A block of host memory with the cycle in it: the first word of every line is the index of the next line.
class ChaseBlock {
 public:
  ChaseBlock(std::uint64_t seed, std::size_t bytes);

  std::size_t lines() const { return lines_; }

  // Walks `steps` loads from line `from` and returns the line it came to.
  std::uint32_t walk(std::uint32_t from, std::size_t steps) const;

 private:
  struct alignas(kChaseLineBytes) Line {
    std::uint32_t next = 0;
    std::uint32_t unused[kChaseLineBytes / sizeof(std::uint32_t) - 1] = {};
  };
  std::size_t lines_;
  std::vector<Line> block_;
};

}  // namespace reprobench
