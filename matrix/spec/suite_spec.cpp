#include "matrix/spec/suite_spec.hpp"

#include <algorithm>

#include "matrix/contract/probe.hpp"
#include "matrix/spec/coordinate.hpp"
#include "matrix/spec/knob_reader.hpp"
#include "matrix/spec/limits_reader.hpp"
#include "matrix/spec/scalar.hpp"
#include "matrix/spec/schema.hpp"
#include "matrix/spec/threshold_reader.hpp"
#include "matrix/spec/yaml_reader.hpp"

namespace reprobench {
namespace {

using Entry = YamlEntry;

struct SuiteDraft {
  SuiteSpec suite;
  LimitOverrides limits;
};

void read_model(WorkloadRequest& workload, const Entry& entry, Scope& scope) {
  auto name = read_name(entry.key, entry.value, scope);
  if (!name) return;
  const auto& models = scope.vocabulary->models;
  if (!models.empty() && std::find(models.begin(), models.end(), *name) == models.end()) {
    scope.diagnostics.error(entry.value.mark, "RB009", fmt::format("unknown model `{}`", *name),
                            did_you_mean(*name, models));
  }
  workload.model = std::move(*name);
}

template <std::int64_t WorkloadRequest::*member>
void read_count(WorkloadRequest& workload, const Entry& entry, Scope& scope) {
  assign(workload.*member, read_integer(entry.key, entry.value, scope, 1, kMostSteps));
}

void report_unknown(const char* what, const YamlNode& node, const std::vector<std::string>& known, Scope& scope) {
  scope.diagnostics.error(node.mark, "RB009", fmt::format("unknown {} `{}`", what, node.text),
                          did_you_mean(node.text, known));
}

void read_probe(WorkloadRequest& workload, const Entry& entry, Scope& scope) {
  auto name = read_name(entry.key, entry.value, scope);
  if (!name) return;
  if (find_probe(*name) == nullptr) report_unknown("probe", entry.value, probe_names(), scope);
  workload.probe = std::move(*name);
}

// Presets of models are known to the workers only; those of probes are in the contract.
void check_probe_preset(const WorkloadRequest& workload, const YamlNode& map, Scope& scope) {
  const ProbeInfo* probe = find_probe(workload.probe);
  if (probe == nullptr || workload.preset.empty()) return;
  const std::vector<std::string> presets(probe->presets.begin(), probe->presets.end());
  if (std::find(presets.begin(), presets.end(), workload.preset) != presets.end()) return;
  report_unknown("preset", *map.find("preset"), presets, scope);
}

void read_preset(WorkloadRequest& workload, const Entry& entry, Scope& scope) {
  assign(workload.preset, read_name(entry.key, entry.value, scope));
}

constexpr Field<WorkloadRequest> kProbeFields[] = {
    {"probe", kRequired, &read_probe},
    {"preset", kRequired, &read_preset},
    {"samples", kRequired,
     [](WorkloadRequest& workload, const Entry& entry, Scope& scope) {
       assign(workload.samples, read_integer(entry.key, entry.value, scope, 1, kMostSamples));
     }},
};

constexpr Field<WorkloadRequest> kWorkloadFields[] = {
    {"model", kRequired, &read_model},
    {"preset", kRequired, &read_preset},
    {"steps", kRequired, &read_count<&WorkloadRequest::steps>},
    {"batch_size", kRequired, &read_count<&WorkloadRequest::batch_size>},
};

void read_workloads(SuiteDraft& draft, const Entry& entry, Scope& scope) {
  if (!is_list_or_reported(entry.key, entry.value, "[{model: mlp, preset: default, steps: 200, batch_size: 32}]",
                           scope)) {
    return;
  }
  if (entry.value.items.empty()) scope.diagnostics.error(entry.value.mark, "RB023", "`workloads` has no entry");
  for (const YamlNode& item : entry.value.items) {
    if (!is_map_or_reported("workloads", item, scope)) continue;
    WorkloadRequest workload;
    if (item.find("probe") != nullptr) {
      read_fields<WorkloadRequest>(workload, item, kProbeFields, scope);
      check_probe_preset(workload, item, scope);
    } else {
      read_fields<WorkloadRequest>(workload, item, kWorkloadFields, scope);
    }
    draft.suite.workloads.push_back(std::move(workload));
  }
}

template <bool SuiteSpec::*member>
void read_flag_into(SuiteDraft& draft, const Entry& entry, Scope& scope) {
  assign(draft.suite.*member, read_flag(entry.key, entry.value, scope));
}

constexpr Field<SuiteDraft> kSuiteFields[] = {
    {"schema", kRequired, &read_schema_version<SuiteDraft>},
    {"name", kRequired,
     [](SuiteDraft& draft, const Entry& entry, Scope& scope) {
       assign(draft.suite.name, read_name(entry.key, entry.value, scope));
     }},
    {"description", kOptional,
     [](SuiteDraft& draft, const Entry& entry, Scope& scope) {
       assign(draft.suite.description, read_text(entry.key, entry.value, scope));
     }},
    {"workloads", kRequired, &read_workloads},
    {"knobs", kOptional,
     [](SuiteDraft& draft, const Entry& entry, Scope& scope) { read_knobs(draft.suite.knobs, entry, scope); }},
    {"trace", kOptional,
     [](SuiteDraft& draft, const Entry& entry, Scope& scope) {
       if (const auto word = read_word(entry.key, entry.value, scope, {"step", "tensor"})) {
         draft.suite.trace = *from_word<TraceLevel>(*word);
       }
     }},
    {"repeat", kOptional,
     [](SuiteDraft& draft, const Entry& entry, Scope& scope) {
       if (const auto value = read_integer(entry.key, entry.value, scope, 1, kMostRepeats)) {
         draft.suite.repeat = static_cast<int>(*value);
       }
     }},
    {"poison_last_repeat", kOptional, &read_flag_into<&SuiteSpec::poison_last_repeat>},
    {"exclusive", kOptional, &read_flag_into<&SuiteSpec::exclusive>},
    {"limits", kOptional,
     [](SuiteDraft& draft, const Entry& entry, Scope& scope) { read_limits(draft.limits, entry, scope); }},
    {"timeout", kOptional,
     [](SuiteDraft& draft, const Entry& entry, Scope& scope) { read_timeout(draft.limits, entry, scope); }},
    {"thresholds", kOptional,
     [](SuiteDraft& draft, const Entry& entry, Scope& scope) {
       draft.suite.thresholds = read_thresholds(entry.value, scope);
     }},
};

}  // namespace

SuiteSpec parse_suite(const std::string& text, const std::string& file, const Vocabulary& vocabulary) {
  Diagnostics diagnostics;
  Scope scope{diagnostics, &vocabulary};
  const YamlNode root = read_yaml(text, file, {"a suite", "workloads"}, diagnostics);
  if (root.entries.empty()) diagnostics.throw_if_any();
  SuiteDraft draft;
  draft.suite.mark = root.mark;
  read_fields<SuiteDraft>(draft, root, kSuiteFields, scope);
  check_limits(draft.limits, root, scope);
  diagnostics.throw_if_any();
  draft.suite.limits = draft.limits.applied_to({});
  return std::move(draft.suite);
}

SuiteSpec load_suite(const std::string& path, const Vocabulary& vocabulary) {
  return parse_suite(read_yaml_file(path), path, vocabulary);
}

}  // namespace reprobench
