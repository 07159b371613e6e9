#include "matrix/plan/cell.hpp"

#include <utility>
#include <vector>

namespace reprobench {

const KnobValues& every_knob(const KnobValues& chosen) {
  thread_local KnobValues values = with_defaults({});
  thread_local std::vector<std::pair<KnobValues::iterator, std::string>> replaced;  // with their defaults
  thread_local std::vector<KnobValues::iterator> added;
  if (&chosen == &values) return values;
  for (auto& [place, value] : replaced) place->second = std::move(value);
  for (const auto place : added) values.erase(place);
  replaced.clear();
  added.clear();
  for (const auto& [name, value] : chosen) {
    const auto [place, is_new] = values.try_emplace(name, value);
    if (is_new) {
      added.push_back(place);
    } else {
      replaced.emplace_back(place, std::exchange(place->second, value));
    }
  }
  return values;
}

}  // namespace reprobench
