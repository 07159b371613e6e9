// What a bisect over components needs to know of its ends: in which components they differ, and the good end with some
// of the bad one's.
#pragma once

#include <string>
#include <vector>

#include "matrix/inquiry/bisect/component_document.hpp"

namespace reprobench {

struct MixedStack {
  std::string stack;    // empty: it cannot be had
  std::string why_not;  // and why, one sentence
};

class ComponentMixes {
 public:
  virtual ~ComponentMixes() = default;

  // Those that can be exchanged, in order; the order of all that is asked later.
  virtual std::vector<std::string> names() const = 0;

  // Every one that differs, with its libraries of both sides.
  virtual std::vector<DifferingComponent> components() const = 0;

  // The good end with these of the bad end.
  virtual MixedStack made_with(const std::vector<std::string>& from_bad) = 0;

  // The command that makes it again; empty: it is there.
  virtual std::string making(const std::vector<std::string>& from_bad) const = 0;

  // What was made and is not among these stacks is not needed any more.
  virtual void keep_only(const std::vector<std::string>& stacks) = 0;
};

}  // namespace reprobench
