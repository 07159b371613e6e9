// Reads `limits:` and its short form `timeout:`.
#pragma once

#include "matrix/spec/schema.hpp"
#include "matrix/spec/suite_spec.hpp"

namespace reprobench {

void read_limits(LimitOverrides& limits, const YamlEntry& entry, Scope& scope);

// Reads `timeout: 10m`, which is `limits: {total: 10m}`.
void read_timeout(LimitOverrides& limits, const YamlEntry& entry, Scope& scope);

// Checks that a file states the total once, and no grace longer than it (RB039, RB021).
void check_limits(const LimitOverrides& limits, const YamlNode& root, Scope& scope);

}  // namespace reprobench
