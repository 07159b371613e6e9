#include "matrix/record/step_list.hpp"

#include <stdexcept>
#include <utility>

#include "matrix/record/packed_steps.hpp"

namespace reprobench {

const std::size_t StepList::kStepsPerChunk = 1024;
const std::size_t StepList::kOpenChunks = 8;

const StepRecord& StepList::operator[](std::size_t i) const {
  return opened(i / kStepsPerChunk).steps[i % kStepsPerChunk];
}

StepRecord& StepList::operator[](std::size_t i) {
  Chunk& chunk = opened(i / kStepsPerChunk);
  chunk.packed.clear();
  return chunk.steps[i % kStepsPerChunk];
}

const StepRecord& StepList::at(std::size_t i) const {
  if (i >= size_) throw std::out_of_range("no such step");
  return (*this)[i];
}

void StepList::push_back(StepRecord step) {
  if (size_ % kStepsPerChunk == 0) {
    if (chunks_.size() > 1) open_.push_back(chunks_.size() - 1);
    chunks_.emplace_back();
    close_oldest();
  }
  Chunk& last = opened(chunks_.size() - 1);
  last.packed.clear();
  last.steps.push_back(std::move(step));
  ++size_;
}

void StepList::resize(std::size_t size) {
  while (size_ < size) push_back({});
  if (size_ == size) return;
  const std::size_t chunks = (size + kStepsPerChunk - 1) / kStepsPerChunk;
  if (chunks > 0) {
    Chunk& last = opened(chunks - 1);
    last.packed.clear();
    last.steps.resize(size - (chunks - 1) * kStepsPerChunk);
  }
  chunks_.resize(chunks);
  std::erase_if(open_, [&](std::size_t number) { return number + 1 >= chunks; });
  size_ = size;
}

void StepList::erase(const_iterator first, const_iterator last) {
  StepList kept;
  for (const_iterator i = begin(); i != first; ++i) kept.push_back(*i);
  for (const_iterator i = last; i != end(); ++i) kept.push_back(*i);
  *this = std::move(kept);
}

std::size_t StepList::open_steps() const {
  std::size_t count = 0;
  for (const Chunk& chunk : chunks_) count += chunk.steps.size();
  return count;
}

StepList::Chunk& StepList::opened(std::size_t number) const {
  Chunk& chunk = chunks_[number];
  if (!chunk.steps.empty() || chunk.packed.empty()) return chunk;
  chunk.steps = unpacked_steps(chunk.packed);
  open_.push_back(number);
  close_oldest();
  return chunk;
}

// The chunk that was asked for last is the newest, so it stays.
void StepList::close_oldest() const {
  while (open_.size() > kOpenChunks) {
    Chunk& oldest = chunks_[open_.front()];
    open_.pop_front();
    if (oldest.packed.empty()) oldest.packed = packed_steps(oldest.steps);
    std::vector<StepRecord>().swap(oldest.steps);
  }
}

}  // namespace reprobench
