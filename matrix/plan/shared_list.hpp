// A list that many cells have alike: a copy of it is a pointer. Read as any list; whoever wants another one makes it
// from a vector.
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
