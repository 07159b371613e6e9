// Types a scalar's text. Each function returns the value, or reports what is wrong with it and returns nothing. `what`
// is the value's name in messages, usually the key.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "matrix/spec/schema.hpp"

namespace reprobench {

std::optional<std::string> read_text(const std::string& what, const YamlNode& node, Scope& scope);

// [A-Za-z0-9._-]{1,64}, not starting with a dash or dot-only (RB026). Names become parts of paths and arguments.
bool is_name(std::string_view text);
std::optional<std::string> read_name(const std::string& what, const YamlNode& node, Scope& scope);
std::vector<std::string> read_names(const std::string& what, const YamlNode& node, Scope& scope);

// true or false; no other spelling.
std::optional<bool> read_flag(const std::string& what, const YamlNode& node, Scope& scope);

// Decimal digits without sign, leading zero, underscore or exponent (RB019), within the range (RB021).
std::optional<std::int64_t> read_integer(const std::string& what, const YamlNode& node, Scope& scope,
                                         std::int64_t lowest, std::int64_t highest);

// 90s, 10m, 250ms: a whole number and ns, us, ms, s, m or h (RB019, RB020). It must be more than zero, at most seven
// days, and a whole number of milliseconds (RB021).
std::optional<std::chrono::milliseconds> read_duration(const std::string& what, const YamlNode& node, Scope& scope);

// 2GiB, 1.5MB: a number and a unit of size, from 1 B to 1 PiB, as bytes (RB019).
std::optional<std::int64_t> read_size(const std::string& what, const YamlNode& node, Scope& scope);

// "12.8": must be quoted, because 12.10 read as a number is 12.1 (RB022).
std::optional<std::string> read_version(const std::string& what, const YamlNode& node, Scope& scope);

// A path below the file's folder: relative, without `..` (RB027).
std::optional<std::string> read_relative_path(const std::string& what, const YamlNode& node, Scope& scope);

// One of a list of words (RB019 with the nearest).
std::optional<std::string> read_word(const std::string& what, const YamlNode& node, Scope& scope,
                                     const std::vector<std::string>& words);

// A number in JSON's grammar; infinite if it is larger than a double. Nothing if the text is no number.
std::optional<double> parse_number(std::string_view text);

// A number directly followed by a unit: `1.5GiB` is {1.5, "GiB"}. Nothing if the text does not start with a number.
struct Quantity {
  double value = 0;
  std::string unit;
};
std::optional<Quantity> parse_quantity(std::string_view text);

// The unit in ns for time units, in bytes for sizes; nothing for other units.
std::optional<double> time_unit_ns(std::string_view unit);
std::optional<double> size_unit_bytes(std::string_view unit);

}  // namespace reprobench
