#include "matrix/plan/cell.hpp"

namespace reprobench {

KnobValues every_knob(const KnobValues& chosen) {
  static const KnobValues kDefaults = with_defaults({});
  KnobValues values = kDefaults;  // a tree is copied without a comparison
  for (const auto& [name, value] : chosen) values[name] = value;
  return values;
}

}  // namespace reprobench
