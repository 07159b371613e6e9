#include "matrix/spec/scalar.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>

#include "matrix/base/digits.hpp"
#include "matrix/spec/checkout.hpp"

namespace reprobench {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};

constexpr Unit kTimeUnits[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"m", 60e9}, {"h", 3600e9}};
constexpr Unit kSizeUnits[] = {{"B", 1},        {"kB", 1e3},        {"MB", 1e6},          {"GB", 1e9},
                               {"KiB", 1024.0}, {"MiB", 1048576.0}, {"GiB", 1073741824.0}};
constexpr double kLongestDurationNs = 7 * 24 * 3600e9;

template <std::size_t N>
std::optional<double> factor_of(const Unit (&units)[N], std::string_view name) {
  for (const Unit& unit : units) {
    if (unit.name == name) return unit.factor;
  }
  return std::nullopt;
}

bool is_scalar_or_reported(const std::string& what, const YamlNode& node, const std::string& wanted, Scope& scope) {
  if (node.is_scalar() || node.refused) return node.is_scalar() && !node.refused;
  scope.diagnostics.error(node.mark, "RB019", fmt::format("`{}` must be {}, got {}", what, wanted, shown(node)));
  return false;
}

void wrong_type(const std::string& what, const YamlNode& node, const std::string& wanted, Scope& scope,
                const std::string& hint = "") {
  scope.diagnostics.error(node.mark, "RB019", fmt::format("`{}` must be {}, got {}", what, wanted, shown(node)), hint);
}

// The length of the number (JSON's grammar) at the start of `text`; 0 if there is none.
std::size_t number_length(std::string_view text) {
  std::size_t at = !text.empty() && text[0] == '-' ? 1 : 0;
  const auto digits = [&] {
    const std::size_t start = at;
    while (at < text.size() && is_digit(text[at])) ++at;
    return at - start;
  };
  const std::size_t first = at;
  const std::size_t whole = digits();
  if (whole == 0 || (whole > 1 && text[first] == '0')) return 0;
  if (at < text.size() && text[at] == '.') {
    ++at;
    if (digits() == 0) return 0;
  }
  const std::size_t before_exponent = at;
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    if (at < text.size() && (text[at] == '-' || text[at] == '+')) ++at;
    if (digits() == 0) at = before_exponent;
  }
  return at;
}

// `text` is a number already. std::from_chars for double came late to standard libraries, and it leaves the value
// unset where it is out of range; strtod says infinity.
double to_double(std::string_view text) { return std::strtod(std::string(text).c_str(), nullptr); }

}  // namespace

std::optional<double> time_unit_ns(std::string_view unit) { return factor_of(kTimeUnits, unit); }
std::optional<double> size_unit_bytes(std::string_view unit) { return factor_of(kSizeUnits, unit); }

std::optional<double> parse_number(std::string_view text) {
  if (text.empty() || number_length(text) != text.size()) return std::nullopt;
  return to_double(text);
}

std::optional<Quantity> parse_quantity(std::string_view text) {
  const std::size_t length = number_length(text);
  if (length == 0) return std::nullopt;
  return Quantity{to_double(text.substr(0, length)), std::string(text.substr(length))};
}

std::optional<std::string> read_text(const std::string& what, const YamlNode& node, Scope& scope) {
  if (!is_scalar_or_reported(what, node, "text", scope)) return std::nullopt;
  return node.text;
}

bool is_name(std::string_view text) {
  const auto allowed = [](char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' || c == '_' || c == '-';
  };
  return !text.empty() && text.size() <= 64 && std::all_of(text.begin(), text.end(), allowed) && text != "." &&
         text != ".." && text.front() != '-';
}

std::optional<std::string> read_name(const std::string& what, const YamlNode& node, Scope& scope) {
  if (!is_scalar_or_reported(what, node, "a name", scope)) return std::nullopt;
  if (is_name(node.text)) return node.text;
  const std::string text = node.text.substr(0, 80);
  if (!text.empty() && text.front() == '-') {
    scope.diagnostics.error(node.mark, "RB026", fmt::format("name \"{}\" must not start with a dash", text));
  } else {
    scope.diagnostics.error(node.mark, "RB026",
                            fmt::format("name \"{}\" must match [A-Za-z0-9._-]{{1,64}} and not be . or ..", text));
  }
  return std::nullopt;
}

std::vector<std::string> read_names(const std::string& what, const YamlNode& node, Scope& scope) {
  std::vector<std::string> names;
  if (!is_list_or_reported(what, node, "[a, b]", scope)) return names;
  for (const YamlNode& item : node.items) {
    if (auto name = read_name(what, item, scope)) names.push_back(std::move(*name));
  }
  return names;
}

std::optional<bool> read_flag(const std::string& what, const YamlNode& node, Scope& scope) {
  if (!is_scalar_or_reported(what, node, "true or false", scope)) return std::nullopt;
  if (!node.quoted && node.text == "true") return true;
  if (!node.quoted && node.text == "false") return false;
  wrong_type(what, node, "true or false", scope);
  return std::nullopt;
}

std::optional<std::int64_t> read_size(const std::string& what, const YamlNode& node, Scope& scope) {
  const auto quantity = node.is_scalar() ? parse_quantity(node.text) : std::nullopt;
  const auto unit = quantity ? size_unit_bytes(quantity->unit) : std::nullopt;
  if (unit && quantity->value * *unit >= 1 && quantity->value * *unit <= 0x1p50) {
    return static_cast<std::int64_t>(quantity->value * *unit);
  }
  scope.diagnostics.error(node.mark, "RB019",
                          fmt::format("`{}` must be a size such as 2GiB, got {}", what, shown(node)));
  return std::nullopt;
}

std::optional<std::int64_t> read_integer(const std::string& what, const YamlNode& node, Scope& scope,
                                         std::int64_t lowest, std::int64_t highest) {
  if (!is_scalar_or_reported(what, node, "a whole number", scope)) return std::nullopt;
  const std::string& text = node.text;
  const std::size_t sign = !text.empty() && text[0] == '-' ? 1 : 0;
  const bool digits = is_all_digits(std::string_view(text).substr(sign));
  const bool leading_zero = digits && text[sign] == '0' && text.size() > 1;
  if (node.quoted || !digits || leading_zero) {
    wrong_type(what, node, "a whole number", scope);
    return std::nullopt;
  }
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || value < lowest || value > highest) {
    scope.diagnostics.error(node.mark, "RB021",
                            fmt::format("`{}` must be from {} to {}, got {}", what, lowest, highest, shown(node)));
    return std::nullopt;
  }
  return value;
}

std::optional<std::chrono::milliseconds> read_duration(const std::string& what, const YamlNode& node, Scope& scope) {
  const std::string wanted = "a duration such as 90s or 10m";
  if (!is_scalar_or_reported(what, node, wanted, scope)) return std::nullopt;
  const auto quantity = parse_quantity(node.text);
  const auto factor = quantity ? time_unit_ns(quantity->unit) : std::nullopt;
  if (!quantity || (node.quoted && !factor)) {
    wrong_type(what, node, wanted, scope);
    return std::nullopt;
  }
  if (!factor) {
    const std::string problem = quantity->unit.empty() ? "has no unit" : "has the unknown unit " + quantity->unit;
    scope.diagnostics.error(node.mark, "RB020", fmt::format("`{}` {}: {}", what, problem, shown(node)),
                            "write 90s or 10m; units are ns, us, ms, s, m, h");
    return std::nullopt;
  }
  const double ns = quantity->value * *factor;
  std::string problem;
  if (!(ns > 0)) {
    problem = "must be more than zero";
  } else if (ns > kLongestDurationNs) {
    problem = "must be at most 168h";
  } else if (std::fmod(ns, 1e6) != 0) {
    problem = "must be a whole number of milliseconds";
  } else {
    return std::chrono::milliseconds(static_cast<std::int64_t>(ns / 1e6));
  }
  scope.diagnostics.error(node.mark, "RB021", fmt::format("`{}` {}, got {}", what, problem, shown(node)));
  return std::nullopt;
}

std::optional<std::string> read_version(const std::string& what, const YamlNode& node, Scope& scope) {
  if (!is_scalar_or_reported(what, node, "a version such as \"12.8\"", scope)) return std::nullopt;
  const std::string& text = node.text;
  if (!node.quoted) {
    const auto number = parse_number(text);
    const std::string why = number ? fmt::format("; unquoted it reads as the number {}", *number) : "";
    scope.diagnostics.error(node.mark, "RB022", fmt::format("version {} must be quoted{}", text.substr(0, 64), why));
    return std::nullopt;
  }
  const auto allowed = [](char c) { return is_digit(c) || (c >= 'a' && c <= 'z') || c == '.' || c == '+' || c == '-'; };
  if (!text.empty() && is_digit(text[0]) && text.size() <= 64 && std::all_of(text.begin(), text.end(), allowed)) {
    return text;
  }
  wrong_type(what, node, "a version such as \"12.8\"", scope);
  return std::nullopt;
}

std::optional<std::string> read_relative_path(const std::string& what, const YamlNode& node, Scope& scope) {
  if (!is_scalar_or_reported(what, node, "a path", scope)) return std::nullopt;
  const std::string& text = node.text;
  const std::string padded = "/" + text + "/";
  std::string problem;
  if (text.empty()) {
    problem = "is empty";
  } else if (text.front() == '/' || text.front() == '~') {
    problem = "is absolute";
  } else if (padded.find("/../") != std::string::npos) {
    problem = "leaves the file's folder";
  } else if (const auto named = std::filesystem::path(node.mark.file).parent_path() / text; !leads_out(named).empty()) {
    problem = "leaves it: " + leads_out(named);
  } else {
    return text;
  }
  scope.diagnostics.error(node.mark, "RB027", fmt::format("path \"{}\" of `{}` {}", text.substr(0, 80), what, problem),
                          "write a path below the file's folder");
  return std::nullopt;
}

std::optional<std::string> read_word(const std::string& what, const YamlNode& node, Scope& scope,
                                     const std::vector<std::string>& words) {
  const std::string wanted = words.size() == 1 ? words.front() : "one of " + fmt::format("{}", fmt::join(words, ", "));
  if (!is_scalar_or_reported(what, node, wanted, scope)) return std::nullopt;
  if (std::find(words.begin(), words.end(), node.text) != words.end()) return node.text;
  wrong_type(what, node, wanted, scope, did_you_mean(node.text, words));
  return std::nullopt;
}

}  // namespace reprobench
