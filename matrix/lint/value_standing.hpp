// Whether a value of the file is judged, and if not, why. The key rules report it, and the last line counts it.
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
  ignored,    // the caller takes responsibility for it
  malformed,  // its type is not that of its key
};

ValueStanding standing_of(std::string_view path, const JsonNode& value, const LintSituation& situation);

// True if a section around this key hands it on, or is itself unknown; then that section is named.
bool parent_answers(std::string_view path);

bool has_type(const JsonNode& node, ValueType type);

// How many values of the file were judged, and why the others were not. A list is one value, and an object is none. A
// value under a repeated key counts each time.
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
