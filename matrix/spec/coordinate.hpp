// The coordinates of a cell, and the values that each accepts.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "matrix/spec/schema.hpp"

namespace reprobench {

// suite, workload, stack, device, world_size and every knob.
const std::vector<std::string>& coordinate_names();
bool is_coordinate_name(std::string_view name);

// The coordinates that an axis or `include` may vary: all but suite and workload, which come from the suites.
const std::vector<std::string>& axis_names();

// A value of that coordinate as it is written, or an error: RB019, RB021 and RB026.
std::optional<std::string> read_coordinate_value(const std::string& name, const YamlNode& node, Scope& scope);

inline constexpr int kMaxWorldSize = 4096;

}  // namespace reprobench
