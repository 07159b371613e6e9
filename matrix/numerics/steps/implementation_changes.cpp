#include "matrix/numerics/steps/implementation_changes.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace reprobench {
namespace {

constexpr std::string_view kNotKnown = "not known";
constexpr std::string_view kOwnKernel = "aten ";

struct ToldSide {
  const StepImplementations* step = nullptr;  // null: there is no record
  std::string name;
  std::int64_t unknown = 0;  // operations

  bool tells() const { return step != nullptr && !step->operations.empty(); }
  bool is_whole() const { return tells() && step->left_out == 0; }
};

// By operation, shapes and type: all that computed it.
using Implementations = std::map<std::string, std::set<std::string>>;

Implementations implementations_of(const ToldSide& side) {
  Implementations all;
  if (!side.tells()) return all;
  for (const OperationImplementation& row : side.step->operations) {
    const std::string key = fmt::format("{} {} {}", row.operation, row.operands, row.dtype);
    all[key].insert(row.unknown.empty() ? row.implementation : std::string(kNotKnown));
  }
  return all;
}

bool is_not_known(const std::set<std::string>& implementations) {
  return implementations.contains(std::string(kNotKnown));
}

bool is_own(const std::string& text) { return text.empty() || text.starts_with(kOwnKernel); }

std::vector<std::string> incomplete(const ToldSide& side) {
  if (side.step == nullptr) {
    return {fmt::format("the {} side has no record of the library code that computed it", side.name)};
  }
  if (!side.tells()) {
    return {fmt::format("what computed the {} side is not known: {}", side.name, side.step->unknown)};
  }
  std::vector<std::string> sentences;
  if (side.step->left_out > 0) {
    sentences.push_back(fmt::format("the {} side's record leaves out {} rows", side.name, side.step->left_out));
  }
  if (side.unknown > 0) {
    sentences.push_back(fmt::format("of {} operation{} of the {} side it is not known what computed {}", side.unknown,
                                    side.unknown == 1 ? "" : "s", side.name, side.unknown == 1 ? "it" : "them"));
  }
  return sentences;
}

}  // namespace

std::optional<ImplementationChanges> implementation_changes(const CellResult& measured, const CellResult& expected) {
  if (!measured.implementations && !expected.implementations) return std::nullopt;
  const auto step_of = [](const CellResult& result) {
    return result.implementations ? &*result.implementations : nullptr;
  };
  std::array<ToldSide, 2> sides{ToldSide{step_of(measured), "measured"}, ToldSide{step_of(expected), "expected"}};
  std::map<std::string, std::array<std::set<std::string>, 2>> merged;
  for (std::size_t i = 0; i < sides.size(); ++i) {
    for (const auto& [key, implementations] : implementations_of(sides[i])) {
      merged[key][i] = implementations;
      if (is_not_known(implementations)) ++sides[i].unknown;
    }
  }
  ImplementationChanges changes;
  const bool both_tell = sides[0].tells() && sides[1].tells();
  for (const auto& [key, by_side] : merged) {
    const bool is_on_both = !by_side[0].empty() && !by_side[1].empty();
    if (is_on_both && !is_not_known(by_side[0]) && !is_not_known(by_side[1])) ++changes.compared;
    // If a record leaves rows out, it does not prove that it has no such operation.
    const bool may_be_left_out =
        (by_side[0].empty() && !sides[0].is_whole()) || (by_side[1].empty() && !sides[1].is_whole());
    if (!both_tell || may_be_left_out || by_side[0] == by_side[1]) continue;
    changes.changed.push_back(
        {key, fmt::format("{}", fmt::join(by_side[0], ", ")), fmt::format("{}", fmt::join(by_side[1], ", "))});
  }
  std::stable_partition(changes.changed.begin(), changes.changed.end(), [](const SideDifference& change) {
    return !is_own(change.measured) || !is_own(change.expected);
  });
  for (const ToldSide& side : sides) {
    for (std::string& sentence : incomplete(side)) changes.incomplete.push_back(std::move(sentence));
  }
  return changes;
}

std::string change_text(const SideDifference& change) { return fmt::format("{}: {}", change.what, sides_text(change)); }

}  // namespace reprobench
