#include "matrix/cli/verbs/knob_options.hpp"

#include <fmt/format.h>

#include "matrix/base/usage_error.hpp"
#include "matrix/spec/nearest_name.hpp"

namespace reprobench {

KnobValues given_knobs(const std::vector<std::string>& options) {
  KnobValues values;
  std::vector<std::string> names;
  for (const Knob& knob : knobs()) names.emplace_back(knob.name);
  for (const std::string& option : options) {
    const auto equals = option.find('=');
    if (equals == std::string::npos) throw UsageError("--knob takes NAME=VALUE, got " + option);
    const std::string name = option.substr(0, equals);
    const std::string value = option.substr(equals + 1);
    const Knob* knob = find_knob(name);
    if (knob == nullptr) throw UsageError(unknown_name("knob", name, names));
    if (!accepts(*knob, value)) {
      const std::vector<std::string> words(knob->values.begin(), knob->values.end());
      throw UsageError(words.empty() ? fmt::format("knob `{}` takes a positive integer, got `{}`", name, value)
                                     : unknown_name(fmt::format("value of knob `{}`", name), value, words));
    }
    values[name] = value;
  }
  return values;
}

}  // namespace reprobench
