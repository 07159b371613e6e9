#include "matrix/verdict/environment.hpp"

#include <cstdlib>

#include <fmt/format.h>

namespace reprobench {
namespace {

// "12.8" and "12.8.1" agree, "12.8" and "12.9" do not: the shorter version speaks for all that begin with it. A local
// label
// ("+cu128") is compared only where both sides have one.
bool versions_agree(std::string a, std::string b) {
  const auto label = [](std::string& version) {
    const auto plus = version.find('+');
    const std::string text = plus == std::string::npos ? "" : version.substr(plus);
    if (plus != std::string::npos) version.resize(plus);
    return text;
  };
  const std::string label_a = label(a);
  const std::string label_b = label(b);
  if (!label_a.empty() && !label_b.empty() && label_a != label_b) return false;
  const std::string& shorter = a.size() < b.size() ? a : b;
  const std::string& longer = a.size() < b.size() ? b : a;
  return longer.compare(0, shorter.size(), shorter) == 0 &&
         (longer.size() == shorter.size() || longer[shorter.size()] == '.');
}

// "mkl" or "generic" names a provider, not a version.
bool is_version(const std::string& text) { return !text.empty() && text.front() >= '0' && text.front() <= '9'; }

// NVIDIA promises that a library built against an older minor of these runs with a newer one of the same major;
// official wheels do so (torch 2.9.0 was built against cuDNN 9.8 and carries 9.10).
bool is_older_minor_allowed(const ComponentVersion& component) {
  if (component.name != "cuda" && component.name != "cudnn" && component.name != "nccl") return false;
  const auto major = [](const std::string& version) { return std::atoi(version.c_str()); };
  const auto minor = [](const std::string& version) {
    const auto dot = version.find('.');
    return dot == std::string::npos ? 0 : std::atoi(version.c_str() + dot + 1);
  };
  return major(component.compiled) == major(component.loaded) && minor(component.compiled) <= minor(component.loaded);
}

const Fingerprint* first_fingerprint(const RunRecord& run, const std::string& stack) {
  for (std::size_t i = 0; i < run.plan.cells.size() && i < run.cells.size(); ++i) {
    if (run.plan.cells[i].cell.request.stack != stack) continue;
    for (const AttemptRecord& attempt : run.cells[i].attempts) {
      if (attempt.end == AttemptEnd::completed && attempt.result) return &attempt.result->fingerprint;
    }
  }
  return nullptr;
}

}  // namespace

std::vector<std::string> version_findings(const std::map<std::string, std::string>& declared,
                                          const Fingerprint& fingerprint) {
  std::vector<std::string> findings;
  for (const ComponentVersion& component : fingerprint.components) {
    if (is_version(component.compiled) && is_version(component.loaded) && !is_older_minor_allowed(component) &&
        !versions_agree(component.compiled, component.loaded)) {
      findings.push_back(fmt::format("{}: compiled against {}, loaded {} from {}", component.name, component.compiled,
                                     component.loaded, component.path));
    }
    const auto wanted = declared.find(component.name);
    if (wanted != declared.end() && !component.loaded.empty() && !versions_agree(wanted->second, component.loaded)) {
      findings.push_back(fmt::format("{}: the stack declares {}, loaded {} from {}", component.name, wanted->second,
                                     component.loaded, component.path));
    }
  }
  return findings;
}

std::vector<StackEnvironment> environments_of(const RunRecord& run) {
  std::vector<StackEnvironment> environments;
  for (const auto& [stack, declared] : run.plan.declared) {
    StackEnvironment environment{stack, declared, std::nullopt, {}};
    if (const Fingerprint* fingerprint = first_fingerprint(run, stack)) {
      environment.fingerprint = *fingerprint;
      environment.findings = version_findings(declared, *fingerprint);
    }
    environments.push_back(std::move(environment));
  }
  return environments;
}

}  // namespace reprobench
