#include "matrix/plan/cell.hpp"

namespace reprobench {

std::string_view knob_of(const Cell& cell, const std::string& name) {
  const auto chosen = cell.request.knobs.find(name);
  if (chosen != cell.request.knobs.end()) return chosen->second;
  const Knob* knob = find_knob(name);
  return knob == nullptr ? std::string_view() : knob->default_value;
}

KnobValues every_knob(const KnobValues& chosen) {
  static const KnobValues kDefaults = with_defaults({});
  KnobValues values = kDefaults;  // a tree is copied without a comparison
  for (const auto& [name, value] : chosen) values[name] = value;
  return values;
}

}  // namespace reprobench
