// LibTorch's own random numbers on a GPU, predicted: why two cards of different size draw different numbers from the
// same seed, and from which element on. (This project's numbers, kernels/philox, do not know the card.)
//
// LibTorch spreads a draw over a grid of threads that just fills the card and gives each thread a Philox4x32-10
// subsequence of its own; of its four numbers the first goes to the thread's first element, the second to the one a
// whole grid further on (ATen/native/cuda/DistributionTemplates.h). Up to one grid of elements every card agrees.
#pragma once

#include <cstdint>
#include <vector>

namespace reprobench {

// The threads of that grid, in which a draw of at least as many elements runs: 256 a block, as many blocks as fit at
// once.
std::int64_t random_grid_threads(int multiprocessors, int threads_per_multiprocessor);

// The numbers that `at::rand` of `count` fp32 elements gives on a card with that grid, as the first draw after seeding.
std::vector<float> predicted_uniform(std::uint64_t seed, std::int64_t grid_threads, std::int64_t count);

}  // namespace reprobench
