#include "matrix/spec/policy_spec.hpp"

#include "matrix/spec/scalar.hpp"
#include "matrix/spec/schema.hpp"
#include "matrix/spec/yaml_reader.hpp"

namespace reprobench {
namespace {

template <std::set<std::string> UntrustedPolicy::*member>
void read_allowed(UntrustedPolicy& policy, const YamlEntry& entry, Scope& scope) {
  const std::vector<std::string> names = read_names(entry.key, entry.value, scope);
  if (entry.value.is_sequence() && entry.value.items.empty()) {  // empty means all
    scope.diagnostics.error(entry.value.mark, "RB023", fmt::format("`{}` allows none", entry.key));
  }
  (policy.*member).insert(names.begin(), names.end());
}

template <int UntrustedPolicy::*member, std::int64_t highest>
void read_count(UntrustedPolicy& policy, const YamlEntry& entry, Scope& scope) {
  if (const auto value = read_integer(entry.key, entry.value, scope, 1, highest)) {
    policy.*member = static_cast<int>(*value);
  }
}

template <std::chrono::milliseconds UntrustedPolicy::*member>
void read_time(UntrustedPolicy& policy, const YamlEntry& entry, Scope& scope) {
  assign(policy.*member, read_duration(entry.key, entry.value, scope));
}

constexpr Field<UntrustedPolicy> kPolicyFields[] = {
    {"schema", kRequired, "Always 1.", &read_schema_version<UntrustedPolicy>},
    {"stacks", kOptional, "Names of the only stacks that run; all of them if it is not given.",
     &read_allowed<&UntrustedPolicy::stacks>},
    {"workloads", kOptional, "The only models and probes; all of them if it is not given.",
     &read_allowed<&UntrustedPolicy::workloads>},
    {"cells", kOptional, "How many may run, 1000 unless it says otherwise.",
     &read_count<&UntrustedPolicy::cells, 100'000>},
    {"repeats", kOptional, "Of a cell at most, with those that noise asks for; 100.",
     &read_count<&UntrustedPolicy::repeats, 1'000>},
    {"attempt", kOptional, "The longest `limits.total` of an attempt, 1h.", &read_time<&UntrustedPolicy::attempt>},
    {"run", kOptional, "After this nothing more is launched, and what did not run is undecided; 24h.",
     &read_time<&UntrustedPolicy::run>},
    {"attempt_disk", kOptional, "What the files of an attempt may take, 1GiB.",
     [](UntrustedPolicy& policy, const YamlEntry& entry, Scope& scope) {
       assign(policy.attempt_disk_bytes, read_size(entry.key, entry.value, scope));
     }},
};

}  // namespace

UntrustedPolicy parse_policy(const std::string& text, const std::string& file) {
  Diagnostics diagnostics;
  Scope scope{diagnostics};
  const YamlNode root = read_yaml(text, file, {"a policy", "schema"}, diagnostics);
  if (root.entries.empty()) diagnostics.throw_if_any();
  UntrustedPolicy policy;
  read_fields<UntrustedPolicy>(policy, root, kPolicyFields, scope);
  diagnostics.throw_if_any();
  return policy;
}

UntrustedPolicy load_policy(const std::string& path) { return parse_policy(read_yaml_file(path), path); }

std::vector<KeyTable> policy_keys() {
  return {key_table<UntrustedPolicy>("Policies of `run --untrusted`", kPolicyFields)};
}

}  // namespace reprobench
