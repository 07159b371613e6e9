// Floating-point numbers in JSON without loss.
//
// JSON has no NaN and no infinity, and nlohmann/json writes both as null. Here they are the words
// "nan", "inf" and "-inf", so a missing value and a NaN stay different things. A value whose exact
// bits matter travels as an exact float:
//   {"value": 2.3025851, "bits": "40135d8e"}      8 hex digits for fp32, 16 for fp64
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace reprobench {

// A JSON number, or one of the three words.
nlohmann::json json_number(double value);

// Inverse of json_number; nothing for null or any other JSON value.
std::optional<double> number_from_json(const nlohmann::json& json);

nlohmann::json exact_float(float value);
nlohmann::json exact_float(double value);

// The value of an exact float, from its bits; nothing if the document is malformed or bits and value disagree.
std::optional<double> exact_float_from_json(const nlohmann::json& json);

std::string hex32(std::uint32_t value);  // 8 lower-case digits
std::string hex64(std::uint64_t value);  // 16 lower-case digits
std::string hex_of_bytes(std::string_view bytes);
std::optional<std::uint64_t> parse_hex(std::string_view digits);

}  // namespace reprobench
