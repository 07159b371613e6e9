#include "models/batch_loader.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace reprobench {

BatchLoader::BatchLoader(Make make, int threads, int ahead, std::int64_t first, std::int64_t last)
    : make_(std::move(make)),
      last_(last),
      slots_(static_cast<std::size_t>(ahead) + 1),
      begun_(first - 1),
      taken_(first - 1) {
  const std::int64_t useful = std::min<std::int64_t>(threads, last - first + 1);
  for (std::int64_t i = 0; i < useful; ++i) {
    threads_.emplace_back([this](const std::stop_token& stop) { work(stop); });
  }
}

BatchLoader::~BatchLoader() = default;

// A batch in hand keeps its slot; of `ahead` more there is room.
std::int64_t BatchLoader::end_of_room() const {
  return std::min(last_, taken_ + static_cast<std::int64_t>(slots_.size()) - 1);
}

void BatchLoader::work(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (true) {
    const bool has_work = changed_.wait(lock, stop, [&] { return begun_ == last_ || begun_ < end_of_room(); });
    if (!has_work || stop.stop_requested() || begun_ == last_) return;
    const std::int64_t step = ++begun_;
    Slot& slot = slot_of(step);
    slot.is_made = false;
    slot.failure = nullptr;
    lock.unlock();
    try {
      make_(step, slot.batch);
    } catch (...) {
      slot.failure = std::current_exception();
    }
    lock.lock();
    slot.is_made = true;
    changed_.notify_all();
  }
}

const LoadedBatch& BatchLoader::take() {
  std::unique_lock lock(mutex_);
  if (taken_ == last_) throw std::logic_error("a batch beyond the last step");
  const std::int64_t step = taken_ + 1;
  changed_.wait(lock, [&] { return begun_ >= step && slot_of(step).is_made; });
  taken_ = step;
  changed_.notify_all();
  Slot& slot = slot_of(step);
  if (slot.failure) std::rethrow_exception(slot.failure);
  return slot.batch;
}

}  // namespace reprobench
