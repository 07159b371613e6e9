#include "matrix/verdict/environment.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "matrix/spec/version_agreement.hpp"
#include "matrix/verdict/loaded_libraries.hpp"

namespace reprobench {
namespace {

// What the attempts of a stack told of what they loaded. A process tells its fingerprint when it ends; one that crashes
// has only said, as it began, which torch it is.
struct Told {
  const Fingerprint* by_completed = nullptr;
  const Fingerprint* by_failed = nullptr;
  std::string torch;
  bool began = false;
};

void hear(const AttemptRecord& attempt, Told& told) {
  told.began = true;
  if (attempt.end == AttemptEnd::store) return;  // its files are not what they were
  const RankRecord& lead = attempt.lead();
  const bool is_completed = attempt.end == AttemptEnd::completed;
  const Fingerprint*& place = is_completed ? told.by_completed : told.by_failed;
  if (place == nullptr && lead.result) place = &lead.result->fingerprint;
  if (told.torch.empty()) told.torch = lead.torch;
}

Told told_of(const RunRecord& run, const std::string& stack) {
  Told told;
  for (std::size_t i = 0; i < run.plan.cells.size() && i < run.cells.size(); ++i) {
    if (run.plan.cells[i].cell.request.stack != stack) continue;
    for (const AttemptRecord& attempt : run.cells[i].attempts) hear(attempt, told);
  }
  return told;
}

// Of all its cells, each sentence once.
void add_wrong_libraries(const RunRecord& run, StackEnvironment& environment) {
  for (std::size_t i = 0; i < run.plan.cells.size() && i < run.cells.size(); ++i) {
    const Cell& cell = run.plan.cells[i].cell;
    if (cell.request.stack != environment.stack) continue;
    std::vector<const AttemptRecord*> attempts;
    for (const AttemptRecord& attempt : run.cells[i].attempts) attempts.push_back(&attempt);
    for (std::string& sentence : wrong_libraries(run.plan, cell, attempts)) {
      if (std::ranges::find(environment.findings, sentence) != environment.findings.end()) continue;
      environment.findings.push_back(std::move(sentence));
    }
  }
}

std::string unknown_parts(const std::string& torch) {
  return torch.empty()
             ? "not known what was loaded: every attempt ended before it said so"
             : fmt::format("not known what was loaded beside torch {}: every attempt ended before it said so", torch);
}

}  // namespace

std::vector<StackEnvironment> environments_of(const RunRecord& run) {
  std::vector<StackEnvironment> environments;
  for (const auto& [stack, declared] : run.plan.declared) {
    StackEnvironment environment{stack, declared, std::nullopt, {}, {}};
    const Told told = told_of(run, stack);
    const Fingerprint* whole = told.by_completed != nullptr ? told.by_completed : told.by_failed;
    Fingerprint torch_alone;
    torch_alone.components = {{"torch", "", told.torch, ""}};
    for (auto& disagreement : find_version_disagreements(declared, whole != nullptr ? *whole : torch_alone)) {
      environment.findings.push_back(std::move(disagreement.text));
    }
    if (whole != nullptr) {
      environment.fingerprint = *whole;
    } else if (told.began) {
      environment.torch_loaded = told.torch;
      environment.findings.push_back(unknown_parts(told.torch));
    }
    add_wrong_libraries(run, environment);
    environments.push_back(std::move(environment));
  }
  return environments;
}

}  // namespace reprobench
