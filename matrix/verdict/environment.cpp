#include "matrix/verdict/environment.hpp"

#include "matrix/spec/version_agreement.hpp"

namespace reprobench {
namespace {

const Fingerprint* first_fingerprint(const RunRecord& run, const std::string& stack) {
  for (std::size_t i = 0; i < run.plan.cells.size() && i < run.cells.size(); ++i) {
    if (run.plan.cells[i].cell.request.stack != stack) continue;
    for (const AttemptRecord& attempt : run.cells[i].attempts) {
      if (attempt.end == AttemptEnd::completed && attempt.lead().result) return &attempt.lead().result->fingerprint;
    }
  }
  return nullptr;
}

}  // namespace

std::vector<StackEnvironment> environments_of(const RunRecord& run) {
  std::vector<StackEnvironment> environments;
  for (const auto& [stack, declared] : run.plan.declared) {
    StackEnvironment environment{stack, declared, std::nullopt, {}};
    if (const Fingerprint* fingerprint = first_fingerprint(run, stack)) {
      environment.fingerprint = *fingerprint;
      for (auto& disagreement : find_version_disagreements(declared, *fingerprint)) {
        environment.findings.push_back(std::move(disagreement.text));
      }
    }
    environments.push_back(std::move(environment));
  }
  return environments;
}

}  // namespace reprobench
