// The steps of a trace as a list, in little memory. A step takes about 1.2 kB as a value and a tenth of that packed.
//
// The list is in chunks. The first and the last one, and those that were asked for most recently, are there as values;
// the others are packed. Lists of up to kStepsPerChunk * kOpenChunks steps are never packed. A reference to a step
// holds until as many other chunks of its list were asked for. Several threads may not read one list.
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

class StepList {
 public:
  static const std::size_t kStepsPerChunk;
  static const std::size_t kOpenChunks;

  template <bool is_const>
  class Iterator {
   public:
    using List = std::conditional_t<is_const, const StepList, StepList>;
    using iterator_category = std::random_access_iterator_tag;
    using value_type = StepRecord;
    using difference_type = std::ptrdiff_t;
    using reference = std::conditional_t<is_const, const StepRecord&, StepRecord&>;
    using pointer = std::conditional_t<is_const, const StepRecord*, StepRecord*>;

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
  using value_type = StepRecord;

  StepList() = default;
  StepList(std::initializer_list<StepRecord> steps) {
    for (const StepRecord& step : steps) push_back(step);
  }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const StepRecord& operator[](std::size_t i) const;
  StepRecord& operator[](std::size_t i);      // the step may be changed
  const StepRecord& at(std::size_t i) const;  // throws std::out_of_range
  const StepRecord& front() const { return (*this)[0]; }
  const StepRecord& back() const { return (*this)[size_ - 1]; }
  StepRecord& front() { return (*this)[0]; }
  StepRecord& back() { return (*this)[size_ - 1]; }
  const_iterator begin() const { return {this, 0}; }
  const_iterator end() const { return {this, size_}; }
  iterator begin() { return {this, 0}; }
  iterator end() { return {this, size_}; }

  void push_back(StepRecord step);
  StepRecord& emplace_back() { return push_back({}), back(); }
  void pop_back() { resize(size_ - 1); }
  void resize(std::size_t size);  // shorter, or longer by steps without content
  void clear() { resize(0); }
  void erase(const_iterator first, const_iterator last);
  void erase(const_iterator position) { erase(position, position + 1); }

  std::size_t open_steps() const;  // how many are there as values

 private:
  struct Chunk {
    std::vector<StepRecord> steps;  // empty: packed
    std::string packed;             // of the steps as they were; empty: never packed, or changed since
  };

  Chunk& opened(std::size_t number) const;
  void close_oldest() const;

  mutable std::vector<Chunk> chunks_;
  mutable std::deque<std::size_t> open_;  // between the first and the last chunk, the oldest first
  std::size_t size_ = 0;
};

}  // namespace reprobench
