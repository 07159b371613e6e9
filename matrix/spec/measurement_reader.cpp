#include "matrix/spec/measurement_reader.hpp"

#include <algorithm>

#include "matrix/contract/probe.hpp"
#include "matrix/spec/scalar.hpp"

namespace reprobench {
namespace {

// Operations whose unit the metric is of.
std::vector<std::string> operations_of(const MetricInfo& metric) {
  std::vector<std::string> names;
  for (std::string& name : probe_operation_names()) {
    if (metric.operation_unit == "any" || find_probe_operation(name)->unit == metric.operation_unit) {
      names.push_back(std::move(name));
    }
  }
  return names;
}

// `other_words` may stand there too, and are suggested as well.
std::optional<std::string> read_operation(const MetricInfo& metric, const YamlNode& node, Scope& scope,
                                          const std::vector<std::string>& other_words = {}) {
  auto name = read_name("operation", node, scope);
  if (!name) return std::nullopt;
  const ProbeOperation* operation = find_probe_operation(*name);
  const std::vector<std::string> fitting = operations_of(metric);
  if (operation == nullptr) {
    std::vector<std::string> known = fitting;
    known.insert(known.end(), other_words.begin(), other_words.end());
    scope.diagnostics.error(node.mark, "RB009", fmt::format("unknown operation `{}`", *name),
                            did_you_mean(*name, known));
    return std::nullopt;
  }
  if (std::find(fitting.begin(), fitting.end(), *name) == fitting.end()) {
    scope.diagnostics.error(node.mark, "RB020",
                            fmt::format("`{}` is measured in {}, not in {} as `{}` needs it", *name, operation->unit,
                                        metric.operation_unit, metric.name));
    return std::nullopt;
  }
  return name;
}

void read_label(MeasurementSelection& selection, const YamlEntry& entry, Scope& scope) {
  const auto labels = measurement_labels();
  if (std::find(labels.begin(), labels.end(), entry.key) == labels.end()) {
    std::vector<std::string> known{"operation"};
    known.insert(known.end(), labels.begin(), labels.end());
    scope.diagnostics.error(entry.key_mark, "RB009", fmt::format("unknown label `{}`", entry.key),
                            did_you_mean(entry.key, known));
    return;
  }
  if (auto value = read_name(entry.key, entry.value, scope)) selection.labels[entry.key] = std::move(*value);
}

}  // namespace

void read_of(const MetricInfo& metric, MeasurementSelection& selection, const YamlEntry& entry, Scope& scope) {
  if (metric.operation_unit.empty()) {
    scope.diagnostics.error(entry.key_mark, "RB009",
                            fmt::format("`{}` is no metric of a probe and takes no `of`", metric.name));
    return;
  }
  if (!entry.value.is_map()) {
    assign(selection.operation, read_operation(metric, entry.value, scope));
    return;
  }
  for (const YamlEntry& part : entry.value.entries) {
    if (part.value.refused) continue;
    if (part.key == "operation") {
      assign(selection.operation, read_operation(metric, part.value, scope));
    } else {
      read_label(selection, part, scope);
    }
  }
}

void read_to(const MetricInfo& metric, MeasurementSelection& selection, const YamlEntry& entry, Scope& scope) {
  if (!metric.is_share) {
    scope.diagnostics.error(entry.key_mark, "RB009", fmt::format("`{}` is no share and takes no `to`", metric.name));
    return;
  }
  const YamlNode& node = entry.value;
  if (node.is_scalar() && (node.text == kDataSheetPeak || node.text == kMeasuredPeak)) {
    selection.share_of = node.text;
  } else {
    assign(selection.share_of,
           read_operation(metric, node, scope, {std::string(kDataSheetPeak), std::string(kMeasuredPeak)}));
  }
}

}  // namespace reprobench
