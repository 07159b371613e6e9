// The records of a trace as a list, in little memory. A step takes about 1.2 kB as a value and a tenth of that packed;
// the tensors of a step of a small transformer take 0.25 MB, and 11 kB packed (packed_records.hpp).
//
// The list is in chunks. The first and the last one, and those that were asked for most recently, are there as values;
// the others are packed. How many these are depends on what their records weigh: short lists are never packed, and of
// records with 100,000 tensors each two chunks are open. A reference to a record holds until two other chunks of its
// list were asked for. Several threads may not read one list.
#pragma once

#include <cstddef>
#include <deque>
#include <initializer_list>
#include <iterator>
#include <string>
#include <type_traits>
#include <vector>

#include "matrix/contract/trace.hpp"

namespace reprobench {

template <class Record>
class PackedList {
 public:
  static constexpr std::size_t kRecordsPerChunk = std::is_same_v<Record, TensorsRecord> ? 4 : 1024;
  // Beside the first and the last chunk, so many stay open at least, and others up to this weight: a record counts as
  // one, and each of its tensors as one more.
  static constexpr std::size_t kOpenChunks = 2;
  static constexpr std::size_t kOpenWeight = std::is_same_v<Record, TensorsRecord> ? 16'000 : 8192;

  template <bool is_const>
  class Iterator {
   public:
    using List = std::conditional_t<is_const, const PackedList, PackedList>;
    using iterator_category = std::random_access_iterator_tag;
    using value_type = Record;
    using difference_type = std::ptrdiff_t;
    using reference = std::conditional_t<is_const, const Record&, Record&>;
    using pointer = std::conditional_t<is_const, const Record*, Record*>;

    Iterator() = default;
    Iterator(List* list, std::size_t index) : list_(list), index_(static_cast<difference_type>(index)) {}
    template <bool other_is_const>
    requires(is_const && !other_is_const) Iterator(const Iterator<other_is_const>& other)
        : list_(other.list_), index_(other.index_) {}

    reference operator*() const { return (*list_)[static_cast<std::size_t>(index_)]; }
    pointer operator->() const { return &**this; }
    reference operator[](difference_type n) const { return *(*this + n); }
    Iterator& operator+=(difference_type n) { return index_ += n, *this; }
    Iterator& operator-=(difference_type n) { return *this += -n; }
    Iterator& operator++() { return *this += 1; }
    Iterator& operator--() { return *this -= 1; }
    Iterator operator++(int) { return ++*this, *this - 1; }
    Iterator operator--(int) { return --*this, *this + 1; }
    friend Iterator operator+(Iterator a, difference_type n) { return a += n; }
    friend Iterator operator+(difference_type n, Iterator a) { return a += n; }
    friend Iterator operator-(Iterator a, difference_type n) { return a -= n; }
    friend difference_type operator-(const Iterator& a, const Iterator& b) { return a.index_ - b.index_; }
    friend bool operator==(const Iterator& a, const Iterator& b) { return a.index_ == b.index_; }
    friend auto operator<=>(const Iterator& a, const Iterator& b) { return a.index_ <=> b.index_; }

   private:
    template <bool>
    friend class Iterator;

    List* list_ = nullptr;
    difference_type index_ = 0;
  };
  using iterator = Iterator<false>;
  using const_iterator = Iterator<true>;
  using value_type = Record;

  PackedList() = default;
  PackedList(std::initializer_list<Record> records) {
    for (const Record& record : records) push_back(record);
  }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const Record& operator[](std::size_t i) const;
  Record& operator[](std::size_t i);      // the record may be changed
  const Record& at(std::size_t i) const;  // throws std::out_of_range
  const Record& front() const { return (*this)[0]; }
  const Record& back() const { return (*this)[size_ - 1]; }
  Record& front() { return (*this)[0]; }
  Record& back() { return (*this)[size_ - 1]; }
  const_iterator begin() const { return {this, 0}; }
  const_iterator end() const { return {this, size_}; }
  iterator begin() { return {this, 0}; }
  iterator end() { return {this, size_}; }

  void push_back(Record record);
  Record& emplace_back() { return push_back({}), back(); }
  void pop_back() { resize(size_ - 1); }
  void resize(std::size_t size);  // shorter, or longer by records without content
  void clear() { resize(0); }
  void erase(const_iterator first, const_iterator last);
  void erase(const_iterator position) { erase(position, position + 1); }

  std::size_t open_records() const;  // how many are there as values

 private:
  struct Chunk {
    std::vector<Record> records;  // empty: packed
    std::string packed;           // of the records as they were; empty: never packed, or changed since
  };

  struct OpenChunk {
    std::size_t number;
    std::size_t weight;  // when it was opened
  };

  Chunk& opened(std::size_t number) const;
  void keep_open(std::size_t number) const;

  mutable std::vector<Chunk> chunks_;
  mutable std::deque<OpenChunk> open_;  // between the first and the last chunk, the oldest first
  mutable std::size_t open_weight_ = 0;
  std::size_t size_ = 0;
};

extern template class PackedList<StepRecord>;
extern template class PackedList<TensorsRecord>;

using StepList = PackedList<StepRecord>;
using TensorsList = PackedList<TensorsRecord>;

}  // namespace reprobench
