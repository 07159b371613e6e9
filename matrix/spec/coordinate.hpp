// The coordinates a cell has, and what values each accepts.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "matrix/spec/schema.hpp"

namespace reprobench {

// suite, workload, stack, device, world_size and every knob.
const std::vector<std::string>& coordinate_names();
bool is_coordinate_name(std::string_view name);

// Those an axis or `include` may vary: all but suite and workload, which the suites bring.
const std::vector<std::string>& axis_names();

// A value of that coordinate as written, or reported: RB019, RB021 and RB026.
std::optional<std::string> read_coordinate_value(const std::string& name, const YamlNode& node, Scope& scope);

inline constexpr int kMaxWorldSize = 4096;

}  // namespace reprobench
