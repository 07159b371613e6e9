// What a bisect asks of each stack if it is about a check that failed in a run: the cell, run anew on that stack with
// all that the check holds it against, as a run does it and judged as a run is. Runs of an earlier call, or from before
// a kill, come from the journal.
#pragma once

#include <map>
#include <set>
#include <string>

#include "matrix/cli/bisect_questions.hpp"
#include "matrix/cli/project.hpp"
#include "matrix/cli/text/terminal.hpp"
#include "matrix/evidence/run_record.hpp"
#include "matrix/inquiry/bisect/checked_cell.hpp"

namespace reprobench {

// The check of a stored run; `run` as find_run() takes it. Throws UsageError for what cannot be asked again, and for a
// run whose files are no longer those that were judged; StoreError and UnfinishedRun.
CheckedCell stored_check(const std::filesystem::path& store, const std::string& run, const std::string& cell,
                         const std::string& check);

class CheckQuestion {
 public:
  // All arguments must outlive this object.
  CheckQuestion(const Project& project, const Terminal& terminal, const BisectScene& scene, const CheckedCell& checked)
      : project_(project), terminal_(terminal), scene_(scene), checked_(checked) {}

  // Throws ReplayInterrupted and StoreError.
  PointAnswer answer_of_stack(const std::string& stack, bool is_confirmation);

  // Completes what is said of a change between two stacks that were seen.
  void describe(StackChange& change) const;

  // What the workers of two stacks that were seen had loaded that is not the same.
  std::vector<SideDifference> components_between(const std::string& before, const std::string& after) const;

  // What its worker had loaded; null: it was not seen.
  const Fingerprint* fingerprint(const std::string& stack) const;

  int stacks_run() const { return static_cast<int>(run_.size()); }

 private:
  struct Observed {
    std::optional<CheckObservation> observation;
    std::string why_not;
  };
  Observed observe(const std::string& stack, bool is_confirmation);
  std::string identity_of(const std::string& stack);
  std::string why_untestable(const std::string& stack);
  Plan plan_on(const std::string& stack, std::map<std::string, WorkerCommand>& workers);
  Observed run_on(const std::string& stack);
  Observed judged(const RunRecord& record);

  const Project& project_;
  const Terminal& terminal_;
  BisectScene scene_;
  const CheckedCell& checked_;
  std::map<std::string, CheckObservation> seen_;
  std::set<std::string> run_;
};

}  // namespace reprobench
