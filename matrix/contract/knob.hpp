// Training settings a matrix can vary: one row a knob. To add one: a row in knob.cpp, and where it is more than an
// environment variable or what a model reads, its row in suites/worker/*knobs.cpp (the worker refuses a knob that
// nothing acts on). Value `preset` follows the knob `determinism`.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace reprobench {

// Every knob by name, each with the text of its value; complete once defaults are filled in.
using KnobValues = std::map<std::string, std::string>;

// Where a knob does something. One that acts on a GPU can only keep its default on the CPU.
enum class ActsOn { host, gpu };

// The numbers that a knob without a list of values takes; amounts are decimal, as 0.5.
enum class KnobNumbers { positive, from_zero, amounts };

struct Knob {
  std::string_view name;
  std::string_view default_value;
  std::vector<std::string_view> values;  // empty: any of `numbers`
  ActsOn acts_on;
  std::string_view summary;
  // Environment variables that must be set before the process loads LibTorch, for one value of the
  // knob.
  void (*environment)(std::string_view value, std::map<std::string, std::string>& variables);
  KnobNumbers numbers = KnobNumbers::positive;
};

std::span<const Knob> knobs();
const Knob* find_knob(std::string_view name);

// True if `value` is one the knob accepts.
bool accepts(const Knob& knob, std::string_view value);

// `chosen` with the default of every knob it leaves out.
KnobValues with_defaults(const KnobValues& chosen);

// Those of `values` that are not their knob's default: what a cell's identity is made of, so that a new knob gives no
// cell another name. A knob's default therefore never changes; a better one is a new value.
KnobValues without_defaults(const KnobValues& values);

// The variables all knobs of a cell ask for.
std::map<std::string, std::string> knob_environment(const KnobValues& values);

}  // namespace reprobench
