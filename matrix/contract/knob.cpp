#include "matrix/contract/knob.hpp"

#include <stdexcept>

#include "matrix/base/contract_error.hpp"
#include "matrix/base/digits.hpp"

namespace reprobench {
namespace {

bool is_positive_integer(std::string_view text) {
  return text.size() <= 9 && is_all_digits(text) && text.front() != '0';
}

// "0", "0.5", "1.0": digits with at most one point between them.
bool is_amount(std::string_view text) {
  const auto is_digits = [](std::string_view part) { return part.size() <= 9 && is_all_digits(part); };
  const std::size_t point = text.find('.');
  const std::string_view whole = text.substr(0, point);
  if (!is_digits(whole) || (whole.size() > 1 && whole.front() == '0')) return false;
  return point == std::string_view::npos || is_digits(text.substr(point + 1));
}

}  // namespace

const Knob* find_knob(std::string_view name) {
  const auto all = knobs();
  const auto found = std::ranges::lower_bound(all, name, {}, &Knob::name);
  return found == all.end() || found->name != name ? nullptr : &*found;
}

const Knob& detail::knob_read_by(void (*read)(const Knob&, std::string_view, Settings&)) {
  for (const Knob& knob : knobs()) {
    if (knob.setting.read == read) return knob;
  }
  throw std::logic_error("a member of Settings belongs to no knob");
}

void detail::refuse_value(const Knob& knob, const std::string& value) {
  throw ContractError("knob `" + std::string(knob.name) + "` does not take `" + value + "`");
}

bool accepts(const Knob& knob, std::string_view value) {
  if (knob.values.empty()) {
    if (knob.numbers == KnobNumbers::amounts) return is_amount(value);
    return is_positive_integer(value) || (value == "0" && knob.numbers == KnobNumbers::from_zero);
  }
  return std::find(knob.values.begin(), knob.values.end(), value) != knob.values.end();
}

KnobValues with_defaults(const KnobValues& chosen) {
  KnobValues values = chosen;
  for (const Knob& knob : knobs()) {
    values.emplace(std::string(knob.name), std::string(knob.default_value));
  }
  return values;
}

KnobValues without_defaults(const KnobValues& values) {
  KnobValues chosen;
  for (const auto& [name, value] : values) {
    const Knob* knob = find_knob(name);
    if (knob == nullptr || knob->default_value != value) chosen.emplace(name, value);
  }
  return chosen;
}

std::map<std::string, std::string> knob_environment(const KnobValues& values) {
  std::map<std::string, std::string> variables;
  for (const auto& [name, value] : values) {
    const Knob* knob = find_knob(name);
    if (knob != nullptr && knob->environment != nullptr) knob->environment(value, variables);
  }
  return variables;
}

Settings settings_of(const KnobValues& chosen) {
  Settings settings;
  for (const auto& [name, value] : chosen) {
    const Knob* knob = find_knob(name);
    if (knob == nullptr) throw ContractError("there is no knob `" + name + "`");
    if (!accepts(*knob, value)) detail::refuse_value(*knob, value);
    knob->setting.read(*knob, value, settings);
  }
  return settings;
}

}  // namespace reprobench
