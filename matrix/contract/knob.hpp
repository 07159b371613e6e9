// Training settings that a matrix can vary, each with one row in knob_table.cpp. The row answers every question about
// the knob. To add a knob takes a member of Settings, a row, and the code that acts on it.
//
// A knob travels as text (KnobValues) and is used as a typed member of Settings. Code names a knob by that member:
//
//   setting_in<&Settings::accumulate>(request.knobs)       its value, or the default if nobody chose one
//   set<&Settings::precision>(request.knobs, Precision::fp64)
//   knob_for<&Settings::offload>().summary                 its row
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <vector>

#include "matrix/contract/settings.hpp"

namespace reprobench {

// Knobs by name, each with the text of its value; complete once defaults are filled in.
using KnobValues = std::map<std::string, std::string>;

// Where a knob acts. A knob that acts on a GPU can only keep its default on the CPU.
enum class ActsOn { host, gpu };

// The part of a worker that acts on it: the train loop, the models that read it, or LibTorch and the libraries below
// it. The latter are set by environment variables and by the worker's row (suites/worker/knobs/knob_row.hpp).
enum class ActsBy { library, loop, model };

// The numbers that a knob without a list of values takes. Amounts are decimal, such as 0.5.
enum class KnobNumbers { positive, from_zero, amounts };

// Whether the memory of an attempt can be predicted if the knob has another value than its default.
enum class MemoryEffect { unknown, none, counted };

// The thing that a knob shares out among ranks or replicas, if it does that.
enum class SharesOut { nothing, batch, state };

struct Knob;

// How the texts of a knob become its member of Settings, and back.
struct KnobSetting {
  void (*read)(const Knob& knob, std::string_view accepted, Settings& settings);
  std::string (*text)(const Knob& knob, const Settings& settings);
};

struct Knob {
  std::string_view name;
  // The behaviour of a stack when nobody asks. It never changes, because cells are named by the values that differ from
  // it (ADR 5); a better default is a new value.
  std::string_view default_value;
  std::vector<std::string_view> values = {};  // empty: any of `numbers`
  KnobNumbers numbers = KnobNumbers::positive;
  KnobSetting setting;
  ActsOn acts_on = ActsOn::host;
  ActsBy acts_by = ActsBy::library;
  // Adds the environment variables that a value needs before the process loads LibTorch.
  void (*environment)(std::string_view value, std::map<std::string, std::string>& variables) = nullptr;
  bool keeps_bits = false;  // every value gives the same bits, so a checkpoint can be resumed under another one
  bool must_agree = false;  // two runs under different values of it compute different numbers and are not compared
  SharesOut shares_out = SharesOut::nothing;
  MemoryEffect memory = MemoryEffect::unknown;
  // Values that change only the order in which numbers are added up, or the instructions that do it.
  std::vector<std::string_view> other_orders = {};
  std::string_view summary;
};

// All knobs, in the order of their names.
std::span<const Knob> knobs();
const Knob* find_knob(std::string_view name);

// True if `value` is one the knob accepts.
bool accepts(const Knob& knob, std::string_view value);

// `chosen`, with the default of every knob that it leaves out.
KnobValues with_defaults(const KnobValues& chosen);

// The entries of `values` that are not their knob's default. A cell's identity is made of these, so that a new knob
// gives no cell another name.
KnobValues without_defaults(const KnobValues& values);

// The environment variables that all knobs of a cell need.
std::map<std::string, std::string> knob_environment(const KnobValues& values);

// `chosen` as Settings, with the default of every other knob. Throws ContractError for a name or a value that no knob
// has.
Settings settings_of(const KnobValues& chosen);

namespace detail {

template <class T>
T value_from(const Knob& knob, std::string_view text) {
  if constexpr (std::is_same_v<T, bool>) {
    return text == "on";
  } else if constexpr (std::is_enum_v<T>) {
    return static_cast<T>(std::ranges::find(knob.values, text) - knob.values.begin());
  } else {
    T number{};
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number;
  }
}

template <class T>
std::string text_from(const Knob& knob, const T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    return value ? "on" : "off";
  } else if constexpr (std::is_enum_v<T>) {
    return std::string(knob.values.at(static_cast<std::size_t>(value)));
  } else {
    std::array<char, 64> text{};
    const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() ? std::string(text.data(), end) : std::string();
  }
}

template <auto Member>
void read_setting(const Knob& knob, std::string_view accepted, Settings& settings) {
  using T = std::remove_reference_t<decltype(settings.*Member)>;
  settings.*Member = value_from<T>(knob, accepted);
}

template <auto Member>
std::string setting_text(const Knob& knob, const Settings& settings) {
  return text_from(knob, settings.*Member);
}

[[noreturn]] void refuse_value(const Knob& knob, const std::string& value);

const Knob& knob_read_by(void (*read)(const Knob&, std::string_view, Settings&));

}  // namespace detail

template <auto Member>
using SettingType = std::remove_reference_t<decltype(std::declval<Settings&>().*Member)>;

// The row of the knob with that member.
template <auto Member>
const Knob& knob_for() {
  static const Knob& knob = detail::knob_read_by(&detail::read_setting<Member>);
  return knob;
}

template <auto Member>
std::string text_of(const SettingType<Member>& value) {
  return detail::text_from(knob_for<Member>(), value);
}

// "offload=optimizer"
template <auto Member>
std::string words_of(const Settings& settings) {
  const Knob& knob = knob_for<Member>();
  return std::string(knob.name) + "=" + detail::text_from(knob, settings.*Member);
}

// The value of one knob in a result or a request. Nothing if the knob is absent, or has a text that it does not accept.
template <auto Member>
std::optional<SettingType<Member>> said_of(const KnobValues& values) {
  const Knob& knob = knob_for<Member>();
  const auto found = values.find(std::string(knob.name));
  if (found == values.end() || !accepts(knob, found->second)) return std::nullopt;
  return detail::value_from<SettingType<Member>>(knob, found->second);
}

// The value of one knob in a request, where a knob that nobody chose has its default. Throws ContractError for a value
// that the knob does not accept.
template <auto Member>
SettingType<Member> setting_in(const KnobValues& chosen) {
  const Knob& knob = knob_for<Member>();
  const auto found = chosen.find(std::string(knob.name));
  if (found == chosen.end()) return Settings().*Member;
  if (!accepts(knob, found->second)) detail::refuse_value(knob, found->second);
  return detail::value_from<SettingType<Member>>(knob, found->second);
}

template <auto Member>
void set(KnobValues& values, const SettingType<Member>& value) {
  values[std::string(knob_for<Member>().name)] = text_of<Member>(value);
}

}  // namespace reprobench
