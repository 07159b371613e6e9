// Whether a value of the file is judged, and if not, why: what the key rules report and the last line counts.
#pragma once

#include <cstdint>
#include <string_view>

#include "matrix/lint/config.hpp"
#include "matrix/lint/situation.hpp"

namespace reprobench {

enum class ValueStanding {
  judged,
  automatic,   // "auto"
  unmodelled,  // known to DeepSpeed, or handed on by a section to what it configures; not judged
  unknown,
  ignored,    // the caller answers for it
  malformed,  // of another type than its key has
};

ValueStanding standing_of(std::string_view path, const JsonNode& value, const LintSituation& situation);

// True if a section around this key hands it on, or is itself unknown: then that one is named.
bool parent_answers(std::string_view path);

bool has_type(const JsonNode& node, ValueType type);

// How many values of the file were judged, and why the others were not. A list is one value, an object is none, a value
// under a key that is repeated counts as often as it is there.
struct LintCoverage {
  std::int64_t values = 0;
  std::int64_t judged = 0;
  std::int64_t automatic = 0;
  std::int64_t unmodelled = 0;
  std::int64_t unknown = 0;
  std::int64_t ignored = 0;
  std::int64_t malformed = 0;
};

LintCoverage coverage_of_values(const DeepSpeedConfig& config, const LintSituation& situation);

}  // namespace reprobench
