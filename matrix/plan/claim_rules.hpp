// What the rules over claims share: the claims in one form, the wheels that they can mean, and what a rule tells.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "matrix/plan/stack_claims.hpp"

namespace reprobench {

using WheelRows = std::vector<WheelFacts>;

std::string claimed_cuda(const std::string& text);  // "cu128" and "12.8" are "12.8"
std::string wheel_name(const WheelFacts& row);      // "torch 2.9 cu128"

// Each text once.
template <class Row, class Text>
std::string joined(const std::vector<Row>& rows, Text text_of) {
  std::vector<std::string> texts;
  for (const Row& row : rows) {
    const std::string text = text_of(row);
    if (std::ranges::find(texts, text) == texts.end()) texts.push_back(text);
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

// What the claims say, in one form.
struct StatedClaims {
  StackClaims of;
  std::string channel = "wheel";

  explicit StatedClaims(const StackClaims& claims);
  bool has(const std::string& name) const { return of.contains(name); }
  const std::string& operator[](const std::string& name) const { return of.at(name); }
};

// A finding that is still being put together.
class ToldClaim {
 public:
  ToldClaim(const char* rule, Holds holds, std::string sentence) {
    finding_.rule = rule;
    finding_.holds = holds;
    finding_.sentence = std::move(sentence);
  }
  ToldClaim& by(const Evidence& evidence);
  ToldClaim& by(const WheelRows& rows) {
    for (const WheelFacts& row : rows) by(row.evidence);
    return *this;
  }
  ToldClaim& instead(std::string text) {
    finding_.instead = std::move(text);
    return *this;
  }
  operator ClaimFinding() const { return finding_; }

 private:
  ClaimFinding finding_;
};

// A fact with fewer parts than the claim does not know the claim's last parts, so the answer is `unknown`.
Holds is_claimed(const std::string& claim, const std::string& fact);
Holds held(Within match);
Holds at_least(const std::string& claim, const std::string& least);
bool all_are(const std::vector<Holds>& answers, Holds wanted);
Holds with_each(const std::vector<Holds>& answers);  // of a host, with each of several wheels
Holds in_any(const std::vector<Holds>& answers);     // of a component, in any of several wheels

// A property that a wheel has on any host.
struct WheelComponent {
  const char* name;
  const char* shown;
  std::string (*fact)(const WheelFacts& row);  // as sentences say it; empty: not verified
  Holds (*holds)(const std::string& claim, const WheelFacts& row);
};

std::span<const WheelComponent> wheel_components();

// The wheels that claims can mean: by torch and CUDA first, then by what is in them.
struct ClaimedWheels {
  WheelRows line;           // of the release
  WheelRows with_cuda;      // of these with the claimed CUDA; all where none is claimed
  WheelRows meant;          // of these without a component that contradicts
  bool is_together = true;  // some wheel has all that each component has somewhere
};

ClaimedWheels wheels_meant(const StatedClaims& claims, const CompatFacts& facts);

// Whether the index offered this release, or one that it names.
bool is_release(const std::string& torch, const CompatFacts& facts);

// The wheels that driver, GPU and glibc are held against.
const WheelRows& rows_of_host(const ClaimedWheels& wheels);

// The rules, each in the order in which it is asked.
void check_channel(const StatedClaims& claims, const CompatFacts& facts, std::vector<ClaimFinding>& findings);
void check_wheels(const StatedClaims& claims, const ClaimedWheels& wheels, const CompatFacts& facts,
                  std::vector<ClaimFinding>& findings);
void check_libraries(const StatedClaims& claims, const CompatFacts& facts, std::vector<ClaimFinding>& findings);
void check_companions(const StatedClaims& claims, const CompatFacts& facts, std::vector<ClaimFinding>& findings);
void check_host(const StatedClaims& claims, const ClaimedWheels& wheels, const CompatFacts& facts,
                std::vector<ClaimFinding>& findings);

}  // namespace reprobench
