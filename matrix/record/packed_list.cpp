#include "matrix/record/packed_list.hpp"

#include <stdexcept>
#include <utility>

#include "matrix/record/packed_records.hpp"

namespace reprobench {
namespace {

std::size_t weight_of(const StepRecord&) { return 1; }
std::size_t weight_of(const TensorsRecord& record) { return 1 + record.tensors.size(); }

}  // namespace

template <class Record>
const Record& PackedList<Record>::operator[](std::size_t i) const {
  return opened(i / kRecordsPerChunk).records[i % kRecordsPerChunk];
}

template <class Record>
Record& PackedList<Record>::operator[](std::size_t i) {
  Chunk& chunk = opened(i / kRecordsPerChunk);
  chunk.packed.clear();
  return chunk.records[i % kRecordsPerChunk];
}

template <class Record>
const Record& PackedList<Record>::at(std::size_t i) const {
  if (i >= size_) throw std::out_of_range("no such record");
  return (*this)[i];
}

template <class Record>
void PackedList<Record>::push_back(Record record) {
  if (size_ % kRecordsPerChunk == 0) {
    const std::size_t before = chunks_.size();
    chunks_.emplace_back();
    if (before > 1) keep_open(before - 1);
  }
  Chunk& last = opened(chunks_.size() - 1);
  last.packed.clear();
  last.records.push_back(std::move(record));
  ++size_;
}

template <class Record>
void PackedList<Record>::resize(std::size_t size) {
  while (size_ < size) push_back({});
  if (size_ == size) return;
  const std::size_t chunks = (size + kRecordsPerChunk - 1) / kRecordsPerChunk;
  if (chunks > 0) {
    Chunk& last = opened(chunks - 1);
    last.packed.clear();
    last.records.resize(size - (chunks - 1) * kRecordsPerChunk);
  }
  chunks_.resize(chunks);
  std::erase_if(open_, [&](const OpenChunk& open) {
    const bool is_gone = open.number + 1 >= chunks;
    if (is_gone) open_weight_ -= open.weight;
    return is_gone;
  });
  size_ = size;
}

template <class Record>
void PackedList<Record>::erase(const_iterator first, const_iterator last) {
  PackedList kept;
  for (const_iterator i = begin(); i != first; ++i) kept.push_back(*i);
  for (const_iterator i = last; i != end(); ++i) kept.push_back(*i);
  *this = std::move(kept);
}

template <class Record>
std::size_t PackedList<Record>::open_records() const {
  std::size_t count = 0;
  for (const Chunk& chunk : chunks_) count += chunk.records.size();
  return count;
}

template <class Record>
typename PackedList<Record>::Chunk& PackedList<Record>::opened(std::size_t number) const {
  Chunk& chunk = chunks_[number];
  if (!chunk.records.empty() || chunk.packed.empty()) return chunk;
  chunk.records = unpacked<Record>(chunk.packed);
  keep_open(number);
  return chunk;
}

// For now: the oldest ones are packed in its place. It is the newest itself, so it stays.
template <class Record>
void PackedList<Record>::keep_open(std::size_t number) const {
  std::size_t weight = 0;
  for (const Record& record : chunks_[number].records) weight += weight_of(record);
  open_.push_back({number, weight});
  open_weight_ += weight;
  while (open_.size() > kOpenChunks && open_weight_ > kOpenWeight) {
    Chunk& oldest = chunks_[open_.front().number];
    open_weight_ -= open_.front().weight;
    open_.pop_front();
    if (oldest.packed.empty()) oldest.packed = reprobench::packed(std::span<const Record>(oldest.records));
    std::vector<Record>().swap(oldest.records);
  }
}

template class PackedList<StepRecord>;
template class PackedList<TensorsRecord>;

}  // namespace reprobench
