// Every key of a DeepSpeed configuration that is known here, in one table: the type of its value, whether a rule judges
// it, which tools may fill "auto" for it, and its replacement. To add a key, add a row.
#pragma once

#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace reprobench {

enum class ValueType { flag, integer, number, text, list, section };

// How a key's value is treated, besides its type.
enum class Standing {
  judged,      // rules use it
  unmodelled,  // DeepSpeed has it; its effect is not judged here
};

struct ConfigKey {
  std::string_view path;  // "zero_optimization.offload_optimizer.device"
  ValueType type;
  Standing standing = Standing::unmodelled;
  bool auto_filled = false;             // Hugging Face's Trainer or Accelerate replaces "auto" by a value
  std::string_view default_value = {};  // as JSON; empty: DeepSpeed has none
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
  std::string_view words = {};        // the texts that are allowed, separated by blanks
  std::string_view replaced_by = {};  // for a deprecated key: its replacement
  bool is_open = false;               // for a section: other keys are handed on to what it configures
};

std::span<const ConfigKey> config_keys();
const ConfigKey* find_config_key(std::string_view path);  // null if unknown

// The names that may be in a section; "" is the top level.
std::vector<std::string> names_in(std::string_view section);

// The table in the form of keys.md.
std::string key_page();

}  // namespace reprobench
