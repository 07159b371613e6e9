// A list that many cells share; to copy it is to copy a pointer. It is read like any list and cannot be changed: a
// different list is made from a vector.
#pragma once

#include <initializer_list>
#include <memory>
#include <utility>
#include <vector>

namespace reprobench {

template <class T>
class SharedList {
 public:
  using value_type = T;

  SharedList() = default;
  SharedList(std::vector<T> items)  // implicit: a vector is a list that nobody shares yet
      : items_(items.empty() ? nullptr : std::make_shared<const std::vector<T>>(std::move(items))) {}
  SharedList(std::initializer_list<T> items) : SharedList(std::vector<T>(items)) {}

  const std::vector<T>& items() const {
    static const std::vector<T> kNone;
    return items_ == nullptr ? kNone : *items_;
  }
  auto begin() const { return items().begin(); }
  auto end() const { return items().end(); }
  std::size_t size() const { return items().size(); }
  bool empty() const { return items_ == nullptr; }
  const T& operator[](std::size_t i) const { return items()[i]; }

 private:
  std::shared_ptr<const std::vector<T>> items_;  // null: empty
};

}  // namespace reprobench
