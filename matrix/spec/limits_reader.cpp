#include "matrix/spec/limits_reader.hpp"

#include "matrix/spec/scalar.hpp"

namespace reprobench {
namespace {

using Limit = std::optional<std::chrono::milliseconds>;

template <Limit LimitOverrides::*member>
void read_limit(LimitOverrides& limits, const YamlEntry& entry, Scope& scope) {
  if (const auto value = read_duration(entry.key, entry.value, scope)) limits.*member = *value;
}

constexpr Field<LimitOverrides> kLimitFields[] = {
    {"total", kOptional, "Of an attempt.", &read_limit<&LimitOverrides::total>},
    {"first_heartbeat", kOptional, "From its start to its first step.", &read_limit<&LimitOverrides::first_heartbeat>},
    {"heartbeat_gap", kOptional, "From one step to the next.", &read_limit<&LimitOverrides::heartbeat_gap>},
    {"grace", kOptional, "From TERM to KILL.", &read_limit<&LimitOverrides::grace>},
};

}  // namespace

TimeLimits LimitOverrides::applied_to(TimeLimits limits) const {
  limits.first_heartbeat = first_heartbeat.value_or(limits.first_heartbeat);
  limits.heartbeat_gap = heartbeat_gap.value_or(limits.heartbeat_gap);
  limits.total = total.value_or(limits.total);
  limits.grace = grace.value_or(limits.grace);
  return limits;
}

void read_limits(LimitOverrides& limits, const YamlEntry& entry, Scope& scope) {
  if (is_map_or_reported(entry.key, entry.value, scope)) {
    read_fields<LimitOverrides>(limits, entry.value, kLimitFields, scope);
  }
}

void read_timeout(LimitOverrides& limits, const YamlEntry& entry, Scope& scope) {
  read_limit<&LimitOverrides::total>(limits, entry, scope);
}

void check_limits(const LimitOverrides& limits, const YamlNode& root, Scope& scope) {
  const YamlNode* section = root.find("limits");
  const YamlNode* timeout = root.find("timeout");
  const YamlNode* total = section ? section->find("total") : nullptr;
  if (timeout != nullptr && total != nullptr) {
    scope.diagnostics.error(total->mark, "RB039", "`total` and `timeout` are the same limit; one of them is enough");
  }
  if (!limits.grace || limits.applied_to({}).total >= *limits.grace) return;
  const YamlNode* grace = section->find("grace");
  scope.diagnostics.error(
      grace->mark, "RB021",
      fmt::format("`grace` {} is longer than the timeout {}", grace->text,
                  timeout ? timeout->text : (total ? total->text : std::string("10m (the default)"))));
}

std::vector<KeyTable> limit_keys() { return {key_table<LimitOverrides>("`limits`", kLimitFields)}; }

}  // namespace reprobench
