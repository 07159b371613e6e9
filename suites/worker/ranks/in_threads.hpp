// For tests: the ranks of an attempt as threads of this process.
#pragma once

#include <exception>
#include <functional>
#include <thread>
#include <vector>

namespace reprobench {

// Runs `work` once for each rank, all at once, and waits. The exception of the lowest rank that threw comes through.
inline void in_threads(int ranks, const std::function<void(int rank)>& work) {
  std::vector<std::exception_ptr> thrown(static_cast<std::size_t>(ranks));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        work(rank);
      } catch (...) {
        thrown[static_cast<std::size_t>(rank)] = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& one : thrown) {
    if (one) std::rethrow_exception(one);
  }
}

}  // namespace reprobench
