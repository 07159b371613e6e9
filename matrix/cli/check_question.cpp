#include "matrix/cli/check_question.hpp"

#include <fmt/format.h>

#include "matrix/base/plain_text.hpp"
#include "matrix/cli/early_judge.hpp"
#include "matrix/cli/host_memory.hpp"
#include "matrix/cli/run_diagnoses.hpp"
#include "matrix/cli/stored_runs.hpp"
#include "matrix/contract/version.hpp"
#include "matrix/exec/gpu/gpu_telemetry.hpp"
#include "matrix/exec/interrupt.hpp"
#include "matrix/exec/local_launcher.hpp"
#include "matrix/host/detect_host.hpp"
#include "matrix/provision/sha256.hpp"
#include "matrix/record/run_identity.hpp"
#include "matrix/verdict/judge.hpp"

namespace reprobench {
namespace {

constexpr double kDiagnoseForS = 1800;  // as of a run

RunInfo info_of_now() {
  RunInfo info;
  info.run_id = new_run_id();
  info.started_utc = utc_now("%Y-%m-%dT%H:%M:%SZ");
  info.reprobench_version = kProjectVersion;
  return info;
}

// As a run executes: noise that leaves the check open adds repeats up to the next planned look.
std::vector<CellRecord> executed(const Plan& plan, const std::map<std::string, WorkerCommand>& workers,
                                 const Project& project, RunDirectory& run, std::int64_t available_bytes,
                                 const InterruptHandler& interrupts) {
  NvmlTelemetry telemetry;
  ExecutionOptions options;
  options.interrupt = &interrupts.count();
  options.available_bytes = available_bytes;
  options.telemetry = &telemetry;
  options.read_anew = read_anew;
  EarlyJudge judge(plan, run.folder().string());
  ExecutionObserver observer;
  observer.open_for_noise = [&](const std::vector<const CellRecord*>& compared) {
    std::vector<std::string> ids;
    for (const CellVerdict& cell : judge.open_for_noise(compared)) ids.push_back(cell.cell_id);
    return ids;
  };
  LocalLauncher launcher(project.shepherd());
  const MonotonicClock clock;
  return execute(plan, workers, launcher, clock, run, options, observer);
}

// Whether the cell that is asked got as far as its check, and one that it is held against completed its work.
bool is_judged(const CellVerdict& cell, bool is_asked) {
  if (is_asked) return !cell.checks.empty() && cell.checks.front().reason != "incomplete_repeats";
  return cell.outcome == Outcome::recorded || cell.outcome == Outcome::inconclusive;
}

}  // namespace

CheckedCell stored_check(const std::filesystem::path& store, const std::string& run, const std::string& cell,
                         const std::string& check) {
  const auto folder = find_judged_run(std::filesystem::absolute(store), run);
  const std::vector<std::string> changed = changed_since_judged(folder.string());
  if (!changed.empty())
    throw UsageError(fmt::format("the run {} is not as it was judged: {}", folder.string(), changed.front()));
  const RunVerdict verdict = load_verdict(folder);
  return checked_cell(verdict, load_run(folder.string()).plan, cell_named(verdict, cell), check);
}

PointAnswer CheckQuestion::answer_of_stack(const std::string& stack, bool is_confirmation) {
  Observed observed = observe(stack, is_confirmation);
  if (!observed.observation) return {PointState::untestable, observed.why_not, ""};
  const CheckObservation& observation = seen_[stack] = std::move(*observed.observation);
  return answer_of(checked_, observation, scene_.is_of_components);
}

std::string CheckQuestion::why_untestable(const std::string& stack) {
  const std::string& why_not = scene_.stacks.at(stack).why_not;
  if (!why_not.empty()) return why_not;
  for (const std::string& fixed : fixed_stacks(checked_)) {
    const std::string& of_reference = scene_.stacks.at(fixed).why_not;
    if (!of_reference.empty()) return fmt::format("its reference is on {}: {}", fixed, of_reference);
  }
  return "";
}

// Of another build of the stack, or of one that it is held against, an observation says nothing.
std::string CheckQuestion::identity_of(const std::string& stack) {
  std::string text = scene_.stacks.at(stack).identity;
  for (const std::string& fixed : fixed_stacks(checked_)) text += "\n" + scene_.stacks.at(fixed).identity;
  return sha256_of_text(text);
}

CheckQuestion::Observed CheckQuestion::observe(const std::string& stack, bool is_confirmation) {
  if (std::string why_not = why_untestable(stack); !why_not.empty()) return {std::nullopt, std::move(why_not)};
  const std::string identity = identity_of(stack);
  if (const CheckObservation* known = scene_.journal.find_check(stack, identity, is_confirmation)) {
    scene_.announce(fmt::format("{} is known from an earlier call", stack));
    return {*known, ""};
  }
  scene_.announce(fmt::format("running the cell on {}", stack));
  run_.insert(stack);
  Observed observed = run_on(stack);
  if (!observed.observation) return observed;
  observed.observation->stack = stack;
  observed.observation->identity = identity;
  observed.observation->is_confirmation = is_confirmation;
  scene_.journal.keep_check(*observed.observation);
  return observed;
}

Plan CheckQuestion::plan_on(const std::string& stack, std::map<std::string, WorkerCommand>& workers) {
  Plan plan;
  plan.matrix = "bisect";
  plan.host = detect_host();
  plan.cells = cells_on(checked_, stack);
  const StackCatalog catalog = project_.catalog();
  for (const PlannedCell& planned : plan.cells) {
    const std::string& name = planned.cell.request.stack;
    const BisectedStack& here = scene_.stacks.at(name);
    workers[name] = here.worker;
    if (here.installed) plan.installed.emplace(name, *here.installed);
    plan.declared.try_emplace(name, catalog.stacks.at(name).components);
  }
  resolve(plan.cells, catalog, project_.facts(), plan.host);
  return plan;
}

CheckQuestion::Observed CheckQuestion::run_on(const std::string& stack) {
  std::map<std::string, WorkerCommand> workers;
  RunRecord record;
  record.plan = plan_on(stack, workers);
  const HostMemory memory = fit_into_host_memory(record.plan, workers);
  for (const PlannedCell& planned : record.plan.cells) {
    if (planned.skip) return {std::nullopt, fmt::format("{}: {}", planned.cell.slug, planned.skip->reason)};
  }
  record.info = info_of_now();
  Observed observed;
  {
    RunDirectory run = RunDirectory::create(project_.store(), project_.store() / "replays" / record.info.run_id,
                                            record.info, record.plan);
    record.folder = run.folder();
    const InterruptHandler interrupts;
    record.cells = executed(record.plan, workers, project_, run, memory.available_bytes, interrupts);
    if (interrupts.count() == 0) diagnose_run(project_, workers, kDiagnoseForS, terminal_, run, record);
    const bool is_interrupted = interrupts.count() > 0 || record.info.interrupted;
    if (is_interrupted) throw ReplayInterrupted(interrupts.was_terminated() || record.info.terminated);
    record.seal = run.finish(record.info);
    observed = judged(record);
  }
  std::error_code ignored;  // what is left behind is only disk space, under a name that says what it is
  if (observed.observation) std::filesystem::remove_all(record.folder, ignored);
  return observed;
}

CheckQuestion::Observed CheckQuestion::judged(const RunRecord& record) {
  CheckObservation observation;
  for (std::size_t i = 0; i < record.cells.size(); ++i) {
    for (const AttemptRecord& attempt : record.cells[i].attempts) {
      if (!attempt.lead().result) continue;
      const Fingerprint& loaded = attempt.lead().result->fingerprint;
      std::string foreign = scene_.stacks.foreign_library(record.plan.cells[i].cell.request.stack, loaded);
      if (!foreign.empty()) return {std::nullopt, std::move(foreign)};
      if (i == 0) observation.fingerprint = loaded;
    }
  }
  const RunVerdict run = judge(record);
  for (const CellVerdict& cell : run.cells) {
    if (is_judged(cell, /*is_asked=*/&cell == &run.cells.front())) continue;
    const std::string logs = cell.log_folder.empty() ? record.folder : record.folder + "/" + cell.log_folder;
    return {std::nullopt, fmt::format("{}: {}; the logs are in {}", cell.slug, plain_line(cell.sentence), logs)};
  }
  const CellVerdict& cell = run.cells.front();
  observation.outcome = cell.outcome;
  observation.cell_reason = cell.reason;
  observation.why = plain_line(cell.sentence);
  observation.check = cell.checks.front();
  observation.check.sentence = plain_line(observation.check.sentence);
  return {std::move(observation), ""};
}

void CheckQuestion::describe(StackChange& change) const {
  const CheckObservation& before = seen_.at(change.before);
  const CheckObservation& after = seen_.at(change.after);
  change.check = CheckChange{before.check, after.check};
  change.judgement = fmt::format("{}; before {}", after.check.sentence, before.check.sentence);
  change.components = components_between(change.before, change.after);
}

const Fingerprint* CheckQuestion::fingerprint(const std::string& stack) const {
  const auto seen = seen_.find(stack);
  return seen == seen_.end() ? nullptr : &seen->second.fingerprint;
}

std::vector<SideDifference> CheckQuestion::components_between(const std::string& before,
                                                              const std::string& after) const {
  std::vector<SideDifference> components;
  const auto here = seen_.find(after);
  const auto there = seen_.find(before);
  if (here == seen_.end() || there == seen_.end()) return components;
  for (const auto& [part, difference] : fingerprint_differences(here->second.fingerprint, there->second.fingerprint)) {
    components.push_back(difference);
  }
  return components;
}

}  // namespace reprobench
