// A chain of pointers through memory in random order, for measuring how long one access takes. Each access has to end
// before the next can begin, and neither a prefetcher nor the neighbours in a cache line help.
#pragma once

#include <cstdint>
#include <vector>

namespace reprobench {

// Makes a chain of `nodes` nodes, one every `stride_words` 64-bit words. The word at a node is the index of the next
// node's word; the others are zero. The chain is one cycle through all nodes (Sattolo, "An algorithm to generate a
// random cyclic permutation", 1986). So a chase of `nodes` steps visits each once and ends where it began. It is the
// same everywhere for the same arguments.
std::vector<std::uint64_t> make_chain(std::uint64_t nodes, std::uint64_t stride_words, std::uint32_t seed);

// The place to which `steps` steps from `start` lead: the CPU twin of the kernel.
std::uint64_t walk_chain(const std::vector<std::uint64_t>& chain, std::uint64_t start, std::uint64_t steps);

}  // namespace reprobench
