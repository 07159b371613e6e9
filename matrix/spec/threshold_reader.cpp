#include "matrix/spec/threshold_reader.hpp"

#include <algorithm>
#include <cmath>

#include "matrix/spec/measurement_reader.hpp"
#include "matrix/spec/scalar.hpp"
#include "matrix/spec/selection_reader.hpp"

namespace reprobench {
namespace {

struct BoundKind {
  const char* key;
  Bound::Kind kind;
};
constexpr BoundKind kBoundKinds[] = {{"max", Bound::Kind::max},
                                     {"min", Bound::Kind::min},
                                     {"equal", Bound::Kind::equal},
                                     {"max_regression", Bound::Kind::max_regression}};

// How a limit of a metric's unit is written. `to_unit` gives the factor of a suffix, nothing for one it does not know.
struct LimitNotation {
  std::string_view unit;
  const char* example;
  std::optional<double> (*to_unit)(std::string_view suffix);
  bool may_be_negative;
};

std::optional<double> no_suffix(std::string_view suffix) { return suffix.empty() ? std::optional(1.0) : std::nullopt; }
std::optional<double> fraction_or_percent(std::string_view suffix) {
  if (suffix == "%") return 0.01;
  return no_suffix(suffix);
}
std::optional<double> bandwidth(std::string_view suffix) {
  if (suffix == "TB/s") return 1000.0;
  return suffix == "GB/s" ? std::optional(1.0) : std::nullopt;
}
std::optional<double> flop_rate(std::string_view suffix) {
  if (suffix == "GFLOP/s") return 0.001;
  return suffix == "TFLOP/s" ? std::optional(1.0) : std::nullopt;
}
std::optional<double> energy(std::string_view suffix) {
  if (suffix == "mJ") return 0.001;
  return suffix == "J" ? std::optional(1.0) : std::nullopt;
}
std::optional<double> percent(std::string_view suffix) { return suffix == "%" ? std::optional(0.01) : std::nullopt; }

constexpr LimitNotation kNotations[] = {
    {"ns", "5ms", &time_unit_ns, false},
    {"bytes", "512MiB", &size_unit_bytes, false},
    {"1/s", "1000", &no_suffix, false},
    {"rel", "1e-5", &fraction_or_percent, false},
    {"count", "0", &no_suffix, false},
    {"step", "1", &no_suffix, false},
    {"loss", "2.5", &no_suffix, true},
    {"GB/s", "300GB/s", &bandwidth, false},
    {"TFLOP/s", "100TFLOP/s", &flop_rate, false},
    {"J", "20J", &energy, false},
};
constexpr LimitNotation kRegressionNotation = {"", "5%", &percent, false};

const LimitNotation& notation_of(const MetricInfo& metric, Bound::Kind kind) {
  if (kind == Bound::Kind::max_regression) return kRegressionNotation;
  for (const LimitNotation& notation : kNotations) {
    if (notation.unit == metric.unit) return notation;
  }
  static constexpr LimitNotation kPlain = {"", "1", &no_suffix, true};
  return kPlain;
}

bool spells_non_finite(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) text.erase(0, 1);
  if (!text.empty() && text[0] == '.') text.erase(0, 1);
  return text == "nan" || text == "inf" || text == "infinity";
}

// A bare number where 5 could mean 5 % or five times.
bool is_ambiguous_ratio(const LimitNotation& notation, const Quantity& quantity) {
  if (!quantity.unit.empty()) return false;
  return notation.to_unit == &percent || (notation.to_unit == &fraction_or_percent && quantity.value >= 1);
}

std::optional<double> read_limit(const MetricInfo& metric, Bound::Kind kind, const YamlEntry& entry, Scope& scope) {
  const LimitNotation& notation = notation_of(metric, kind);
  const YamlNode& node = entry.value;
  const auto refuse = [&](const char* code, const std::string& what) {
    scope.diagnostics.error(node.mark, code, fmt::format("`{}` {}, got {}", entry.key, what, shown(node)),
                            fmt::format("write for example {}", notation.example));
    return std::nullopt;
  };
  if (!node.is_scalar()) return refuse("RB019", "must be a number");
  if (spells_non_finite(node.text)) return refuse("RB034", "must be finite");
  const auto quantity = parse_quantity(node.text);
  if (!quantity || (quantity->value == 0 && std::signbit(quantity->value))) return refuse("RB019", "must be a number");
  if (!std::isfinite(quantity->value)) return refuse("RB034", "must be finite");
  if (is_ambiguous_ratio(notation, *quantity)) return refuse("RB038", "needs an explicit %");
  const auto factor = notation.to_unit(quantity->unit);
  if (!factor) {
    return refuse("RB020", fmt::format("of `{}` must be in {}", metric.name,
                                       notation.to_unit == &percent ? "percent" : std::string(metric.unit)));
  }
  if (quantity->value < 0 && !notation.may_be_negative) return refuse("RB037", "must not be negative");
  return quantity->value * *factor;
}

// One rule while it is read: what its keys said before they are put together.
struct RuleDraft {
  ThresholdRule rule;
  const MetricInfo* metric = nullptr;
  std::optional<double> max;
  std::optional<double> min;
  int bounds = 0;
};

template <std::size_t index>
void read_bound(RuleDraft& draft, const YamlEntry& entry, Scope& scope) {
  const Bound::Kind kind = kBoundKinds[index].kind;
  ++draft.bounds;
  const auto limit = read_limit(*draft.metric, kind, entry, scope);
  if (!limit) return;
  if (kind == Bound::Kind::max) draft.max = limit;
  if (kind == Bound::Kind::min) draft.min = limit;
  Bound bound;
  bound.kind = kind;
  bound.limit = *limit;
  bound.text = entry.key + ": " + entry.value.text;
  draft.rule.bound = std::move(bound);
}

// [0.31, 0.52]: both ends are within.
void read_band(RuleDraft& draft, const YamlEntry& entry, Scope& scope) {
  ++draft.bounds;
  const YamlNode& node = entry.value;
  if (!is_list_or_reported(entry.key, node, "[0.31, 0.52]", scope)) return;
  if (node.items.size() != 2) {
    scope.diagnostics.error(node.mark, "RB018", fmt::format("`band` has {} ends", node.items.size()),
                            "write for example [0.31, 0.52]");
    return;
  }
  const auto end = [&](std::size_t index) {
    return read_limit(*draft.metric, Bound::Kind::band, {entry.key, entry.key_mark, node.items[index]}, scope);
  };
  const auto low = end(0);
  const auto high = end(1);
  if (!low || !high) return;
  if (*low > *high) {
    scope.diagnostics.error(node.mark, "RB036", fmt::format("the band begins at {} and ends at {}", *low, *high));
    return;
  }
  Bound bound;
  bound.kind = Bound::Kind::band;
  bound.limit = *high;
  bound.text = fmt::format("band: [{}, {}]", node.items[0].text, node.items[1].text);
  bound.low = low;
  draft.rule.bound = std::move(bound);
}

void read_gate(RuleDraft& draft, const YamlEntry& entry, Scope& scope) {
  const auto word = read_word(entry.key, entry.value, scope, {"armed", "record_only"});
  if (word) draft.rule.gate = *word == "armed" ? Gate::armed : Gate::record_only;
}

void read_vs(RuleDraft&, const YamlEntry& entry, Scope& scope) {
  read_word(entry.key, entry.value, scope, {"reference"});
}

constexpr Field<RuleDraft> kRuleFields[] = {
    {kBoundKinds[0].key, kOptional, "Measured at most this, in the metric's unit.", &read_bound<0>},
    {kBoundKinds[1].key, kOptional, "Measured at least this.", &read_bound<1>},
    {kBoundKinds[2].key, kOptional, "Measured exactly this.", &read_bound<2>},
    {kBoundKinds[3].key, kOptional, "Worse than the reference by at most so many percent.", &read_bound<3>},
    {"band", kOptional, "Measured from the first of two values to the second: `[0.31, 0.52]`.", &read_band},
    {"vs", kOptional,
     "Always `reference`: of a metric that is a distance to it (`numerics.loss_rel`) with any limit, of one that "
     "compares "
     "nothing (`throughput.step_time`) with `max_regression`, of others not at all.",
     &read_vs},
    {"gate", kOptional, "`armed` decides; `record_only` is shown and decides nothing.", &read_gate},
    {"of", kOptional, "Of a probe: the operation, alone or with labels.",
     [](RuleDraft& draft, const YamlEntry& entry, Scope& scope) {
       read_of(*draft.metric, draft.rule.of, entry, scope);
     }},
    {"to", kOptional, "Of a share: `peak`, `measured_peak` or another operation.",
     [](RuleDraft& draft, const YamlEntry& entry, Scope& scope) {
       read_to(*draft.metric, draft.rule.of, entry, scope);
     }},
    {"where", kOptional, "The cells; without it all.",
     [](RuleDraft& draft, const YamlEntry& entry, Scope& scope) {
       draft.rule.where = read_selector(entry.value, scope);
     }},
};

// A ratio has two sides, and what compares already has none; verdict/check.cpp holds the same of what reaches it.
void check_sort_of_bound(const RuleDraft& draft, const YamlNode& map, Scope& scope) {
  const YamlNode* regression = map.find("max_regression");
  const YamlNode* vs = map.find("vs");
  const MetricInfo& metric = *draft.metric;
  const auto refuse = [&](const YamlNode& node, const std::string& what, const char* hint) {
    scope.diagnostics.error(node.mark, "RB035", fmt::format("`{}` {}", metric.name, what), hint);
  };
  if (metric.compared != Compared::not_yet && regression != nullptr) {
    refuse(*regression, "compares already and has no regression", "bound it by `max`, `min` or `equal`");
  } else if (metric.compared == Compared::not_yet && regression != nullptr && vs == nullptr) {
    scope.diagnostics.error(regression->mark, "RB035", "`max_regression` is relative to nothing",
                            "add `vs: reference`");
  }
  if (vs == nullptr || draft.bounds == 0) return;
  if (metric.compared == Compared::with_others) {
    refuse(*vs, "is not held against the reference", "leave out `vs`");
  } else if (metric.compared == Compared::not_yet && regression == nullptr) {
    refuse(*vs, "against the reference is a ratio, which takes no limit",
           "write `max_regression: 5%`, or leave out `vs`");
  }
}

bool holds_always(const MetricInfo& metric, const Bound& bound) {
  const bool below_all = bound.kind == Bound::Kind::band ? *bound.low <= metric.least : bound.limit <= metric.least;
  const bool above_all = bound.limit >= metric.most;
  switch (bound.kind) {
    case Bound::Kind::max:
      return above_all;
    case Bound::Kind::min:
      return below_all;
    case Bound::Kind::band:
      return below_all && above_all;
    case Bound::Kind::equal:
    case Bound::Kind::max_regression:
      break;
  }
  return false;
}

// A bound that nothing can break, or that good values alone can break, looks like a check and is none.
void check_that_it_can_fail(const RuleDraft& draft, Scope& scope) {
  if (draft.bounds != 1 || !draft.rule.bound) return;
  const MetricInfo& metric = *draft.metric;
  const Bound& bound = *draft.rule.bound;
  const bool is_lower_better = metric.better == Better::lower;
  const auto refuse = [&](const char* what) {
    scope.diagnostics.error(draft.rule.mark, "RB046", fmt::format("`{}` of `{}` {}", bound.text, metric.name, what),
                            is_lower_better ? "lower is better: bound it by `max`, or from both sides by `band`"
                                            : "higher is better: bound it by `min`, or from both sides by `band`");
  };
  if (holds_always(metric, bound)) return refuse("can never fail");
  if (bound.kind == (is_lower_better ? Bound::Kind::min : Bound::Kind::max)) refuse("only fails what is good");
}

void check_bounds(const RuleDraft& draft, const YamlNode& map, Scope& scope) {
  const Mark& mark = draft.rule.mark;
  if (draft.min && draft.max && *draft.min > *draft.max) {
    scope.diagnostics.error(mark, "RB036", fmt::format("min {} is larger than max {}", *draft.min, *draft.max));
  } else if (draft.bounds > 1) {
    scope.diagnostics.error(mark, "RB039", "a rule has more than one bound", "one bound a rule");
  }
  if (draft.bounds == 0 && map.find("gate") == nullptr) {
    scope.diagnostics.error(mark, "RB018", "a rule needs a bound (max, min, equal, max_regression, band) or a `gate`");
  }
  const std::size_t found = scope.diagnostics.size();
  check_sort_of_bound(draft, map, scope);
  if (scope.diagnostics.size() == found) check_that_it_can_fail(draft, scope);
  if (draft.metric->is_share && draft.bounds > 0 && map.find("to") == nullptr) {
    scope.diagnostics.error(mark, "RB018", fmt::format("`{}` is a share of something", draft.rule.metric),
                            "add `to: peak`, `to: measured_peak` or an operation");
  }
  if (draft.bounds == 0 && map.find("vs") != nullptr) {
    scope.diagnostics.error(map.find("vs")->mark, "RB018", "`vs` belongs to a bound, and this rule has none");
  }
}

// Bounds have units, which differ between the metrics of a family.
void check_family(const YamlNode& map, const std::string& family, Scope& scope) {
  for (const YamlEntry& entry : map.entries) {
    if (entry.key == "gate" || entry.key == "where") continue;
    scope.diagnostics.error(
        entry.key_mark, "RB018",
        fmt::format("`{}` stands for several metrics, which have no `{}` in common", family, entry.key),
        "give it a `gate` and a `where`, and bounds to each metric by its name");
  }
  if (map.find("gate") == nullptr)
    scope.diagnostics.error(map.mark, "RB018", fmt::format("a rule of `{}` needs a `gate`", family));
}

// `name` is that of the metric, or of a family to which it belongs.
void read_rule(const MetricInfo& metric, const std::string& name, const YamlNode& node,
               std::vector<ThresholdRule>& rules, Scope& scope) {
  if (!is_map_or_reported(name, node, scope)) return;
  RuleDraft draft;
  draft.metric = &metric;
  draft.rule.metric = name;
  draft.rule.mark = node.mark;
  draft.rule.dimension = metric.dimension;
  read_fields<RuleDraft>(draft, node, kRuleFields, scope, {"RB033", "bound"});
  if (is_family(name)) {
    check_family(node, name, scope);
  } else {
    check_bounds(draft, node, scope);
  }
  if (draft.rule.bound) draft.rule.bound->vs_reference = node.find("vs") != nullptr;
  rules.push_back(std::move(draft.rule));
}

// The later of two bounds for the same cells makes the earlier one dead text.
void check_contradictions(const std::vector<ThresholdRule>& rules, Scope& scope) {
  for (std::size_t later = 0; later < rules.size(); ++later) {
    for (std::size_t earlier = 0; earlier < later; ++earlier) {
      const bool both_bound = rules[earlier].bound && rules[later].bound;
      if (!both_bound || rules[earlier].where.text() != rules[later].where.text()) continue;
      if (rules[earlier].of != rules[later].of) continue;
      scope.diagnostics.error(rules[later].mark, "RB039",
                              fmt::format("contradicts the rule at {}:{}: same metric, same cells",
                                          rules[earlier].mark.line, rules[earlier].mark.column));
      break;
    }
  }
}

// The first one, if it is the name of a family.
const MetricInfo* find_metric(const std::string& name, const YamlEntry& entry, Scope& scope) {
  std::vector<std::string> known;
  for (const MetricInfo& metric : scope.vocabulary->metrics) {
    if (covers(name, metric.name)) return &metric;
    known.emplace_back(metric.name);
  }
  scope.diagnostics.error(entry.key_mark, "RB032", fmt::format("unknown metric `{}`", name), did_you_mean(name, known));
  return nullptr;
}

}  // namespace

std::vector<ThresholdRule> read_thresholds(const YamlNode& node, Scope& scope) {
  std::vector<ThresholdRule> all;
  if (!is_map_or_reported("thresholds", node, scope)) return all;
  for (const YamlEntry& entry : node.entries) {
    const MetricInfo* metric = find_metric(entry.key, entry, scope);
    if (metric == nullptr || entry.value.refused) continue;
    std::vector<ThresholdRule> rules;
    if (entry.value.is_sequence()) {
      for (const YamlNode& item : entry.value.items) read_rule(*metric, entry.key, item, rules, scope);
      check_contradictions(rules, scope);
    } else {
      read_rule(*metric, entry.key, entry.value, rules, scope);
    }
    all.insert(all.end(), rules.begin(), rules.end());
  }
  return all;
}

std::vector<KeyTable> threshold_keys() {
  return {key_table<RuleDraft>(
      "A rule of `thresholds`, by metric or, with a `gate` alone, family (`throughput.*`): a map, or a list of them",
      kRuleFields)};
}

}  // namespace reprobench
