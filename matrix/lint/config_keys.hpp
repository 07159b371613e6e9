// Every key of a DeepSpeed configuration that is known here, in one table: what its value must be, whether a rule
// judges it, who may leave it "auto", and what replaced it. A new key is a row.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace reprobench {

enum class ValueType { flag, integer, number, text, list, section };

// What is said of a key's value beside its type.
enum class Standing {
  judged,      // rules use it
  unmodelled,  // DeepSpeed has it; what it does is not judged here
};

struct ConfigKey {
  std::string_view path;  // "zero_optimization.offload_optimizer.device"
  ValueType type;
  Standing standing = Standing::unmodelled;
  bool auto_filled = false;             // Hugging Face's Trainer or Accelerate puts a value in place of "auto"
  std::string_view default_value = {};  // as JSON; empty: DeepSpeed has none
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
  std::string_view words = {};        // the texts it may be, separated by blanks
  std::string_view replaced_by = {};  // of a deprecated key: what to write instead
  bool is_open = false;               // of a section: other keys are handed on to what it configures
};

std::span<const ConfigKey> config_keys();
const ConfigKey* find_config_key(std::string_view path);  // null if unknown

// The names that may stand in a section; "" is the top level.
std::vector<std::string> names_in(std::string_view section);

// The table as keys.md shows it.
std::string key_page();

}  // namespace reprobench
