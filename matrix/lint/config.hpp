// A DeepSpeed configuration by the paths of its keys, with the values that many rules need.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "matrix/lint/config_keys.hpp"
#include "matrix/spec/files/json_node.hpp"

namespace reprobench {

inline constexpr std::string_view kZero = "zero_optimization";
inline constexpr std::string_view kStage = "zero_optimization.stage";
inline constexpr std::string_view kOffloadOptimizer = "zero_optimization.offload_optimizer";
inline constexpr std::string_view kOffloadParam = "zero_optimization.offload_param";

// "zero_optimization.stage" for ("zero_optimization", "stage"); only the name for the top level.
std::string joined_path(std::string_view section, std::string_view name);

class DeepSpeedConfig {
 public:
  explicit DeepSpeedConfig(JsonNode root) : root_(std::move(root)) {}

  const JsonNode& root() const { return root_; }

  // The value of a key. Null if it is absent, or null itself, which DeepSpeed treats alike.
  const JsonNode* find(std::string_view path) const;
  bool has(std::string_view path) const { return find(path) != nullptr; }
  bool is_auto(std::string_view path) const;

  // The place of a key or, if it is absent, of the section where it belongs.
  Mark mark(std::string_view path) const;

  // The value, or DeepSpeed's default if the key is absent. Nothing if it cannot be known: "auto", another type, a key
  // without a default.
  std::optional<bool> flag(std::string_view path) const;
  std::optional<double> number(std::string_view path) const;
  std::optional<std::int64_t> integer(std::string_view path) const;
  std::optional<std::string> text(std::string_view path) const;

  // The text of the value, or of the default: "5e8".
  std::string written(std::string_view path) const;

  // Calls `visit` for every member of every object, in file order, with its path. A dot in a key becomes a slash there.
  void walk(const std::function<void(const std::string& path, const JsonMember& member)>& visit) const;

 private:
  JsonNode root_;
};

// Values that several rules need, worked out once. Nothing if one cannot be known, because it is "auto" or no valid
// value.
struct DeepSpeedSettings {
  std::optional<int> stage;
  std::optional<bool> fp16;
  std::optional<bool> bf16;
  std::string bf16_section;  // "bf16", or "bfloat16" if the old name is used
  std::optional<bool> amp;
  std::optional<std::string> offload_optimizer;  // "none", "cpu", "nvme"
  std::optional<std::string> offload_param;
  std::string optimizer_mark_path;  // the key that asks for the offload of the optimizer
  std::string param_mark_path;
  std::string optimizer;  // `optimizer.type` in lower case; empty: the configuration names none

  bool zero_is(int wanted) const { return stage == wanted; }
  bool zero_is_on() const { return stage.has_value() && *stage > 0; }
  bool optimizer_is_offloaded() const { return offload_optimizer && *offload_optimizer != "none"; }
  bool param_is_offloaded() const { return offload_param && *offload_param != "none"; }
};

DeepSpeedSettings settings_of(const DeepSpeedConfig& config);

}  // namespace reprobench
