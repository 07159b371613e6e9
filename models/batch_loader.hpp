// Makes the batches of a training ahead of it, in threads of its own, and hands them out in the order of steps. They
// have the same samples with the same bytes whatever the number of threads, because one thread makes a whole batch,
// which depends on its step alone. An error in making a batch is thrown when that batch is taken.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace reprobench {

// One batch on the host: the samples in their order, and for every field the bytes of all samples, one after the other.
struct LoadedBatch {
  std::vector<std::int64_t> samples;
  std::vector<std::vector<std::byte>> fields;
};

class BatchLoader {
 public:
  // Makes the batch of a step; called from several threads at once, each with a batch of its own to overwrite.
  using Make = std::function<void(std::int64_t step, LoadedBatch& batch)>;

  // Makes batches for the steps from `first` to `last`, `ahead` of them beyond the one in use. If there are no such
  // steps, no thread is started.
  BatchLoader(Make make, int threads, int ahead, std::int64_t first, std::int64_t last);
  // Waits for the batches that are being made and drops the rest; no thread is left.
  ~BatchLoader();
  BatchLoader(const BatchLoader&) = delete;
  BatchLoader& operator=(const BatchLoader&) = delete;

  std::int64_t next() const { return taken_ + 1; }

  // The batch of step next(), once it is made. It lasts until the next call. Throws the error of making it.
  const LoadedBatch& take();

 private:
  struct Slot {
    LoadedBatch batch;
    std::exception_ptr failure;
    bool is_made = false;
  };

  void work(const std::stop_token& stop);
  Slot& slot_of(std::int64_t step) { return slots_[static_cast<std::size_t>(step) % slots_.size()]; }
  std::int64_t end_of_room() const;

  const Make make_;
  const std::int64_t last_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::vector<Slot> slots_;            // one in use and those ahead; a thread owns a slot from begun_ until it is made
  std::int64_t begun_;                 // the last step that a thread took on
  std::int64_t taken_;                 // the last step that was handed out; written by take() alone
  std::vector<std::jthread> threads_;  // ended first
};

}  // namespace reprobench
