#include "matrix/spec/suite_spec.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "matrix/contract/device/device_class.hpp"
#include "matrix/contract/probe.hpp"
#include "matrix/spec/coordinate.hpp"
#include "matrix/spec/files/call_list.hpp"
#include "matrix/spec/files/own_files.hpp"
#include "matrix/spec/knob_reader.hpp"
#include "matrix/spec/limits_reader.hpp"
#include "matrix/spec/repeat_reader.hpp"
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
  RepeatsStated repeats;
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

// Checks the preset of a model whose presets an installed worker has described.
void check_model_preset(const WorkloadRequest& workload, const YamlNode& map, Scope& scope) {
  const auto described = scope.vocabulary->presets.find(workload.model);
  if (described == scope.vocabulary->presets.end() || workload.preset.empty()) return;
  const auto& presets = described->second;
  if (std::find(presets.begin(), presets.end(), workload.preset) != presets.end()) return;
  report_unknown("preset", *map.find("preset"), presets, scope);
}

void read_preset(WorkloadRequest& workload, const Entry& entry, Scope& scope) {
  assign(workload.preset, read_name(entry.key, entry.value, scope));
}

// Beside the folder of the suites, so that a list of one's own has the same form and another place.
void read_calls(WorkloadRequest& workload, const Entry& entry, Scope& scope) {
  const auto name = read_name(entry.key, entry.value, scope);
  if (!name) return;
  const auto suites = std::filesystem::path(entry.value.mark.file).parent_path();
  try {
    const CallList list = load_call_list((suites.parent_path() / "operators" / (*name + ".yaml")).string());
    give_calls(list, workload);
  } catch (const SpecError& error) {
    scope.diagnostics.add(error);
  }
}

// A list for a probe that takes none would be passed over without a word.
void check_calls(const WorkloadRequest& workload, const YamlNode& map, Scope& scope) {
  const YamlNode* given = map.find("calls");
  if (workload.probe == kOperatorsProbe && given == nullptr) {
    scope.diagnostics.error(map.mark, "RB018", "the probe `operators` needs `calls`");
  } else if (workload.probe != kOperatorsProbe && given != nullptr) {
    scope.diagnostics.error(given->mark, "RB009", fmt::format("the probe `{}` takes no `calls`", workload.probe));
  }
}

// Below the suite's own folder, so that the two go together.
template <auto file_member>
void read_own_file(WorkloadRequest& workload, const Entry& entry, Scope& scope) {
  const auto path = read_relative_path(entry.key, entry.value, scope);
  if (!path) return;
  workload.*file_member = (std::filesystem::path(entry.value.mark.file).parent_path() / *path).string();
}

// When the other keys are known.
void check_own_files(WorkloadRequest& workload, const YamlNode& map, Scope& scope) {
  for (const OwnFileKind& kind : own_file_kinds()) {
    const std::string path = std::exchange(workload.*kind.field.file, "");
    const bool is_incomplete =
        workload.is_probe() ? workload.samples == 0 : workload.model.empty() || workload.batch_size == 0;
    if (path.empty() || is_incomplete) continue;
    const Mark& mark = map.find(std::string(kind.field.name))->mark;
    if (kind.probe != workload.probe) {
      scope.diagnostics.error(mark, "RB009",
                              fmt::format("the probe `{}` takes no `{}`", workload.probe, kind.field.name));
      continue;
    }
    try {
      give_own_file(kind, kind.read(path), workload, mark, *scope.vocabulary, scope.diagnostics);
    } catch (const SpecError& error) {
      scope.diagnostics.add(error);
    }
  }
}

void check_resume_after(const WorkloadRequest& workload, const YamlNode& map, Scope& scope) {
  const YamlNode* given = map.find("resume_after");
  if (given == nullptr || workload.steps == 0 || workload.resume_after < workload.steps) return;
  scope.diagnostics.error(
      given->mark, "RB021",
      fmt::format("`resume_after` {} leaves none of the {} steps to resume", workload.resume_after, workload.steps));
}

void read_resume_world_size(WorkloadRequest& workload, const Entry& entry, Scope& scope) {
  assign(workload.resume_world_size, read_integer(entry.key, entry.value, scope, 1, kMaxWorldSize));
}

void check_resume_world_size(const WorkloadRequest& workload, const YamlNode& map, Scope& scope) {
  const YamlNode* given = map.find("resume_world_size");
  if (given == nullptr || map.find("resume_after") != nullptr || workload.resume_world_size == 0) return;
  scope.diagnostics.error(
      given->mark, "RB021",
      fmt::format("`resume_world_size` {} without `resume_after`: nothing is resumed", workload.resume_world_size));
}

constexpr Field<WorkloadRequest> kProbeFields[] = {
    {"probe", kRequired, "What is measured instead of a training: `reprobench list probes`.", &read_probe},
    {"preset", kRequired, "One of its sets of shapes.", &read_preset},
    {"samples", kRequired, "Timed repetitions a measurement.",
     [](WorkloadRequest& workload, const Entry& entry, Scope& scope) {
       assign(workload.samples, read_integer(entry.key, entry.value, scope, 1, kMostSamples));
     }},
    {"calls", kOptional, "Of the probe `operators`: a list in suites/operators, without `.yaml`.", &read_calls},
    {"package", kOptional,
     "Of the probe `package`: an AOTInductor package of your own, a file below the suite's folder, whose code "
     "runs with `--trust` alone. Without one its cells are skipped.",
     &read_own_file<&WorkloadRequest::package_file>},
};

constexpr Field<WorkloadRequest> kWorkloadFields[] = {
    {"model", kRequired, "A folder of models/.", &read_model},
    {"preset", kRequired, "One of its sizes.", &read_preset},
    {"steps", kRequired, "Training steps.", &read_count<&WorkloadRequest::steps>},
    {"batch_size", kRequired, "Samples a step.", &read_count<&WorkloadRequest::batch_size>},
    {"resume_after", kOptional,
     "Trained once more in two processes: stopped after so many steps, and resumed. All have to have the same bits "
     "(`numerics.resume_mismatches`), which needs `trace: tensor`.",
     &read_count<&WorkloadRequest::resume_after>},
    {"resume_world_size", kOptional,
     "Of `resume_after`: so many ranks go on; `accumulate` follows, so that all ranks do as many micro-batches.",
     &read_resume_world_size},
    {"data", kOptional,
     "Instructions of your own, a file below the suite's folder: records with `instruction`, `input`, `output` in JSON "
     "or JSON Lines.",
     &read_own_file<&WorkloadRequest::data_file>},
    {"weights", kOptional,
     "Weights of your own to begin with, below the suite's folder: a .safetensors file in the published naming, an "
     "index of several, or a folder with either.",
     &read_own_file<&WorkloadRequest::weights_file>},
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
      check_calls(workload, item, scope);
      check_own_files(workload, item, scope);
    } else {
      read_fields<WorkloadRequest>(workload, item, kWorkloadFields, scope);
      check_model_preset(workload, item, scope);
      check_resume_after(workload, item, scope);
      check_resume_world_size(workload, item, scope);
      check_own_files(workload, item, scope);
    }
    draft.suite.workloads.push_back(std::move(workload));
  }
}

template <bool SuiteSpec::*member>
void read_flag_into(SuiteDraft& draft, const Entry& entry, Scope& scope) {
  assign(draft.suite.*member, read_flag(entry.key, entry.value, scope));
}

constexpr Field<SuiteDraft> kSuiteFields[] = {
    {"schema", kRequired, "Always 1.", &read_schema_version<SuiteDraft>},
    {"name", kRequired, "As matrices name it; the file's name without `.yaml`.",
     [](SuiteDraft& draft, const Entry& entry, Scope& scope) {
       assign(draft.suite.name, read_name(entry.key, entry.value, scope));
     }},
    {"description", kOptional, "One sentence for people.",
     [](SuiteDraft& draft, const Entry& entry, Scope& scope) {
       assign(draft.suite.description, read_text(entry.key, entry.value, scope));
     }},
    {"workloads", kRequired, "What is run; see workloads and probes.", &read_workloads},
    {"knobs", kOptional, "Knobs of its cells, which axes may override.",
     [](SuiteDraft& draft, const Entry& entry, Scope& scope) { read_knobs(draft.suite.knobs, entry, scope); }},
    {"trace", kOptional,
     "`step`: a digest a step; `tensor`: one of every tensor, which costs time; `recent`: the same, on record for the "
     "last 64 steps and the steps 1, 2, 5, 10, 20 ...",
     [](SuiteDraft& draft, const Entry& entry, Scope& scope) {
       if (const auto word = read_word(entry.key, entry.value, scope, {"step", "recent", "tensor"})) {
         draft.suite.trace = *from_word<TraceLevel>(*word);
       }
     }},
    {"repeat", kOptional, "Fresh processes a cell.",
     [](SuiteDraft& draft, const Entry& entry, Scope& scope) { read_repeat(draft.repeats, entry, scope); }},
    {"max_repeat", kOptional, "As many at most: where noise leaves a ratio open they are doubled up to here.",
     [](SuiteDraft& draft, const Entry& entry, Scope& scope) { read_max_repeat(draft.repeats, entry, scope); }},
    {"world_size", kOptional, "Ranks of its cells, which an axis or `include` may override; without it 1.",
     [](SuiteDraft& draft, const Entry& entry, Scope& scope) {
       if (const auto value = read_integer(entry.key, entry.value, scope, 1, kMaxWorldSize)) {
         draft.suite.world_size = static_cast<int>(*value);
       }
     }},
    {"poison_last_repeat", kOptional, "Fill freed memory in the last repeat, so that reading it shows.",
     &read_flag_into<&SuiteSpec::poison_last_repeat>},
    {"exclusive", kOptional, "Its cells run alone on the host, for their times count.",
     &read_flag_into<&SuiteSpec::exclusive>},
    {"turns", kOptional,
     "Trainings on the CPU that are compared run in so many turns, now the one and now the other, so that a busy host "
     "slows both. Needs `exclusive`.",
     [](SuiteDraft& draft, const Entry& entry, Scope& scope) {
       if (const auto value = read_integer(entry.key, entry.value, scope, 2, kMostTurns)) {
         draft.suite.turns = static_cast<int>(*value);
       }
     }},
    {"limits", kOptional, "See limits.",
     [](SuiteDraft& draft, const Entry& entry, Scope& scope) { read_limits(draft.limits, entry, scope); }},
    {"timeout", kOptional, "The same as `limits: {total: ...}`.",
     [](SuiteDraft& draft, const Entry& entry, Scope& scope) { read_timeout(draft.limits, entry, scope); }},
    {"thresholds", kOptional, "Rules by metric; see thresholds.",
     [](SuiteDraft& draft, const Entry& entry, Scope& scope) {
       draft.suite.thresholds = read_thresholds(entry.value, scope);
     }},
};

// Turns are there for times. Cells that nobody times would only wait for each other.
void check_turns(const SuiteSpec& suite, const YamlNode& root, Scope& scope) {
  if (suite.turns == 0 || suite.exclusive) return;
  scope.diagnostics.error(root.find("turns")->mark, "RB036", "`turns` without `exclusive`",
                          "say that its times count, too: `exclusive: true`");
}

// Values that a coordinate can have in some matrix; nothing: any.
std::optional<std::vector<std::string>> possible_values(const std::string& coordinate, const SuiteSpec& suite,
                                                        const Vocabulary& vocabulary) {
  std::vector<std::string> values;
  if (coordinate == "suite") values = {suite.name};
  if (coordinate == "stack") values = vocabulary.stacks;
  if (coordinate == "workload") {
    for (const WorkloadRequest& workload : suite.workloads) values.push_back(workload.name());
  }
  if (const Knob* knob = find_knob(coordinate)) values.assign(knob->values.begin(), knob->values.end());
  return values.empty() ? std::nullopt : std::optional(values);
}

bool is_possible(const std::string& coordinate, const std::string& value, const std::vector<std::string>& values) {
  return std::any_of(values.begin(), values.end(), [&](const std::string& known) {
    // Workloads that a suite has twice are told apart by what follows the name: "mlp.base".
    return value == known || (coordinate == "workload" && value.starts_with(known + "."));
  });
}

// A rule of a suite need not select a cell of every matrix, but one that can select none of any is a typo that would
// disarm it without a word.
void check_selections(const SuiteSpec& suite, Scope& scope) {
  const auto report = [&](const ThresholdRule& rule, const std::string& name, const std::string& value,
                          const std::string& hint) {
    scope.diagnostics.error(rule.mark, "RB040",
                            fmt::format("rule selects no cell of any matrix: `{}` is never `{}`", name, value), hint);
  };
  for (const ThresholdRule& rule : suite.thresholds) {
    for (const auto& [name, compared] : rule.where.compared()) {
      const auto possible = possible_values(name, suite, *scope.vocabulary);
      for (const std::string& value : compared) {
        if (possible && !is_possible(name, value, *possible)) {
          report(rule, name, value, did_you_mean(value, *possible));
        }
        if (name == "device" && !DeviceClass::parse(value)) report(rule, name, value, "cpu, or a class such as sm_90");
      }
    }
  }
}

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
  check_repeats(draft.repeats, root, scope);
  check_turns(draft.suite, root, scope);
  check_selections(draft.suite, scope);
  diagnostics.throw_if_any();
  draft.suite.limits = draft.limits.applied_to({});
  draft.suite.repeat = draft.repeats.repeat.value_or(1);
  draft.suite.max_repeat = draft.repeats.max_repeat.value_or(draft.suite.repeat);
  return std::move(draft.suite);
}

SuiteSpec load_suite(const std::string& path, const Vocabulary& vocabulary) {
  return parse_suite(read_yaml_file(path), path, vocabulary);
}

std::vector<KeyTable> suite_keys() {
  return {key_table<SuiteDraft>("Suite files", kSuiteFields),
          key_table<WorkloadRequest>("An entry of `workloads`: a training", kWorkloadFields),
          key_table<WorkloadRequest>("An entry of `workloads`: a probe", kProbeFields)};
}

}  // namespace reprobench
