// The ends of a bisect over components: the components in which they differ, and mixes that have some components of the
// bad end in the good one.
#pragma once

#include <string>
#include <vector>

#include "matrix/inquiry/bisect/component_document.hpp"

namespace reprobench {

struct MixedStack {
  std::string stack;    // empty: it is not available
  std::string why_not;  // why it is not available, one sentence
};

class ComponentMixes {
 public:
  virtual ~ComponentMixes() = default;

  // The components that can be exchanged, in the order that all other calls use.
  virtual std::vector<std::string> names() const = 0;

  // Every component that differs, with its libraries of both sides.
  virtual std::vector<DifferingComponent> components() const = 0;

  // The good end with these components of the bad end.
  virtual MixedStack made_with(const std::vector<std::string>& from_bad) = 0;

  // The command that makes the mix again; empty if it exists.
  virtual std::string making(const std::vector<std::string>& from_bad) const = 0;

  // Removes mixes that were made here and are not among these stacks.
  virtual void keep_only(const std::vector<std::string>& stacks) = 0;
};

}  // namespace reprobench
