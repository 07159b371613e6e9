// A DeepSpeed configuration by the paths of its keys, and what rules ask of it again and again.
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

// "zero_optimization.stage" of ("zero_optimization", "stage"); a name alone at the top level.
std::string joined_path(std::string_view section, std::string_view name);

class DeepSpeedConfig {
 public:
  explicit DeepSpeedConfig(JsonNode root) : root_(std::move(root)) {}

  const JsonNode& root() const { return root_; }

  // The value of a key; null if it is absent, or null itself, as DeepSpeed reads it.
  const JsonNode* find(std::string_view path) const;
  bool has(std::string_view path) const { return find(path) != nullptr; }
  bool is_auto(std::string_view path) const;

  // Where a key stands; where it is absent, the section it would stand in.
  Mark mark(std::string_view path) const;

  // The value, or DeepSpeed's default where the key is absent. Nothing where it cannot be known: "auto", another type,
  // a key without a default.
  std::optional<bool> flag(std::string_view path) const;
  std::optional<double> number(std::string_view path) const;
  std::optional<std::int64_t> integer(std::string_view path) const;
  std::optional<std::string> text(std::string_view path) const;

  // The value as it is written, or the default: "5e8".
  std::string written(std::string_view path) const;

  // Calls `visit` for every member of every object, in file order, with its path; a dot within a key is a slash there.
  void walk(const std::function<void(const std::string& path, const JsonMember& member)>& visit) const;

 private:
  JsonNode root_;
};

// What several rules need, worked out once. Nothing: it cannot be known, because the value is "auto" or no such value.
struct DeepSpeedSettings {
  std::optional<int> stage;
  std::optional<bool> fp16;
  std::optional<bool> bf16;
  std::string bf16_section;  // "bf16", or "bfloat16" where the old name is used
  std::optional<bool> amp;
  std::optional<std::string> offload_optimizer;  // "none", "cpu", "nvme"
  std::optional<std::string> offload_param;
  std::string optimizer_mark_path;  // where the offload of the optimizer is asked for
  std::string param_mark_path;
  std::string optimizer;  // of `optimizer.type`, in small letters; empty: the configuration names none

  bool zero_is(int wanted) const { return stage == wanted; }
  bool zero_is_on() const { return stage.has_value() && *stage > 0; }
  bool optimizer_is_offloaded() const { return offload_optimizer && *offload_optimizer != "none"; }
  bool param_is_offloaded() const { return offload_param && *offload_param != "none"; }
};

DeepSpeedSettings settings_of(const DeepSpeedConfig& config);

}  // namespace reprobench
