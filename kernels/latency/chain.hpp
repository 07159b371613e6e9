// A chain of pointers through memory in random order, for measuring how long one access takes: each has to end before
// the next can begin, and neither a prefetcher nor a cache line's neighbours help.
#pragma once

#include <cstdint>
#include <vector>

namespace reprobench {

// `nodes` nodes, one every `stride_words` 64-bit words. The word at a node is the index of the next node's word; the
// others are zero. One cycle through all nodes (Sattolo, "An algorithm to generate a random cyclic permutation", 1986),
// so a chase of `nodes` steps visits each once and ends where it began. The same for the same arguments everywhere.
std::vector<std::uint64_t> make_chain(std::uint64_t nodes, std::uint64_t stride_words, std::uint32_t seed);

// Where `steps` steps from `start` lead: the CPU twin of the kernel.
std::uint64_t walk_chain(const std::vector<std::uint64_t>& chain, std::uint64_t start, std::uint64_t steps);

}  // namespace reprobench
