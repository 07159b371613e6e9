// `where` expressions: the cells that a rule is about.
//
// There are two spellings of the same thing:
//   where: {device: cpu, precision: [fp32, bf16]}            a map: all keys must match, a list means any of its values
//   where: "device == cpu and not (stack in (a, b))"         ==, !=, in, and, or, not, parentheses
// Names are the coordinates of a cell: suite, workload, stack, device, world_size, and every knob.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/container/flat_map.hpp>

#include "matrix/spec/spec_error.hpp"

namespace reprobench {

// The value of every coordinate of one cell by name. The map is flat, because a plan holds one for each cell, and the
// nodes of a tree would take twice the memory.
using Coordinates = boost::container::flat_map<std::string, std::string>;

// The value of a coordinate of one cell by its name; nothing if the cell has none of that name.
using CoordinateLookup = std::function<std::optional<std::string_view>(const std::string&)>;

// The lookup is valid as long as `cell`.
CoordinateLookup lookup_in(const Coordinates& cell);

class Selector {
 public:
  struct Term;  // defined in selector.cpp

  Selector() = default;  // selects everything

  // Throws SpecError at `mark` (plus the offset within the text) for a syntax error or an unknown name.
  static Selector parse(const std::string& text, const Mark& mark);

  // Selects cells of which every named coordinate has one of its values.
  static Selector all_of(const std::vector<std::pair<std::string, std::vector<std::string>>>& wanted);

  bool matches(const CoordinateLookup& cell) const;
  bool matches(const Coordinates& cell) const { return matches(lookup_in(cell)); }

  // Coordinates that must have one of the listed values wherever this matches. An index of many selectors is made of
  // them. It is incomplete: `or`, `not` and `!=` give none.
  std::vector<std::pair<std::string, std::vector<std::string>>> necessary() const;

  // Every coordinate that is compared, with the values that it is compared with, in the order of the text.
  std::vector<std::pair<std::string, std::vector<std::string>>> compared() const;

  bool selects_everything() const { return root_ == nullptr; }
  std::string text() const;  // the expression form; "" if it selects everything

 private:
  std::shared_ptr<const Term> root_;
};

}  // namespace reprobench
