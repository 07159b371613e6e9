#include "matrix/spec/knob_reader.hpp"

#include "matrix/spec/coordinate.hpp"

namespace reprobench {

void read_knobs(KnobValues& values, const YamlEntry& entry, Scope& scope) {
  if (!is_map_or_reported(entry.key, entry.value, scope)) return;
  std::vector<std::string> known;
  for (const Knob& knob : knobs()) known.emplace_back(knob.name);
  for (const YamlEntry& knob : entry.value.entries) {
    if (find_knob(knob.key) == nullptr) {
      scope.diagnostics.error(knob.key_mark, "RB009", fmt::format("unknown knob `{}`", knob.key),
                              did_you_mean(knob.key, known));
    } else if (auto value = read_coordinate_value(knob.key, knob.value, scope)) {
      values[knob.key] = std::move(*value);
    }
  }
}

}  // namespace reprobench
