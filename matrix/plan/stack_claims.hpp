// Does a stack that someone claims exist? Components by name and version, as a question, a tag, a label or an
// environment states them, held against the facts. Pure, and no claim throws: what the facts do not know is `unknown`.
#pragma once

#include <array>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "matrix/contract/document/words.hpp"
#include "matrix/plan/compat_facts.hpp"

namespace reprobench {

enum class Holds { yes, no, depends, unknown };
template <>
struct Words<Holds> {
  static constexpr std::array<std::string_view, 4> table = {"yes", "no", "depends", "unknown"};
};

// What one rule found about its claims.
struct ClaimFinding {
  std::string rule;  // "wheel", "cudnn", "driver" ...
  Holds holds = Holds::unknown;
  std::string sentence;              // with the numbers
  std::string instead;               // what exists instead; empty where nothing has to
  std::vector<std::string> sources;  // keys of CompatFacts::sources
  std::string confidence;            // the weakest of the rows it rests on; empty where it rests on none
};

enum class StackExists { exists, contradicted, unknown };
template <>
struct Words<StackExists> {
  static constexpr std::array<std::string_view, 3> table = {"exists", "contradicted", "unknown"};
};

// Version by component. A component that no row of `claimable_components` names is answered `unknown`.
using StackClaims = std::map<std::string, std::string>;

struct ClaimableComponent {
  std::string_view name;
  std::string_view example;
  std::string_view text;
};
std::span<const ClaimableComponent> claimable_components();

// The ways to get torch: "wheel", which is meant if none is claimed, "zip", "docker", "conda", "ngc".
std::span<const std::string_view> torch_channels();

std::vector<ClaimFinding> check_stack_claims(const StackClaims& claims, const CompatFacts& facts);

// One `no` contradicts the whole; a stack exists if all hold; without a finding nothing is known.
StackExists overall_of(std::span<const ClaimFinding> findings);

// Defects of the claimed versions, and of the components in the wheels that fit the claims. A defect applies if it does
// with each of these wheels.
DefectsOfStack known_defects_of_claims(const StackClaims& claims, const CompatFacts& facts);

}  // namespace reprobench
