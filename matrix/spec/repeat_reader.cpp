#include "matrix/spec/repeat_reader.hpp"

#include <fmt/format.h>

#include "matrix/spec/scalar.hpp"
#include "matrix/spec/suite_spec.hpp"

namespace reprobench {
namespace {

void read_count(std::optional<int>& count, const YamlEntry& entry, Scope& scope) {
  if (const auto value = read_integer(entry.key, entry.value, scope, 1, kMostRepeats)) {
    count = static_cast<int>(*value);
  }
}

}  // namespace

void read_repeat(RepeatsStated& repeats, const YamlEntry& entry, Scope& scope) {
  read_count(repeats.repeat, entry, scope);
}

void read_max_repeat(RepeatsStated& repeats, const YamlEntry& entry, Scope& scope) {
  read_count(repeats.max_repeat, entry, scope);
}

void check_repeats(const RepeatsStated& repeats, const YamlNode& root, Scope& scope) {
  if (!repeats.max_repeat) return;
  const Mark& mark = root.find("max_repeat")->mark;
  if (root.find("repeat") == nullptr) {
    scope.diagnostics.error(mark, "RB036", "`max_repeat` without `repeat`", "say how often at least, too: `repeat: 7`");
  } else if (repeats.repeat && *repeats.max_repeat < *repeats.repeat) {
    scope.diagnostics.error(
        mark, "RB036", fmt::format("`max_repeat` {} is less than `repeat` {}", *repeats.max_repeat, *repeats.repeat));
  }
}

}  // namespace reprobench
