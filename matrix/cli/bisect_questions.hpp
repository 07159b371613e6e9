// What a bisect asks of each stack: its bits, or its time against the good end's. Answers that are known from an
// earlier call, or from before a kill, come from the journal.
#pragma once

#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "matrix/cli/bisected_stacks.hpp"
#include "matrix/inquiry/bisect/bisect_document.hpp"
#include "matrix/inquiry/bisect/bisect_journal.hpp"
#include "matrix/inquiry/bisect/sequential_ratio.hpp"
#include "matrix/inquiry/replays.hpp"

namespace reprobench {

// What both questions work on; all of it outlives them.
struct BisectScene {
  const std::vector<std::string>& axis;
  const CellRequest& request;  // of no stack yet
  BisectedStacks& stacks;
  BisectJournal& journal;
  Announce announce;
  bool is_of_components = false;  // the stacks between the ends are hybrids of them: several run one torch
};

class BitsQuestion {
 public:
  explicit BitsQuestion(const BisectScene& scene) : scene_(scene) {}

  // `subject`: one of the request's calls; of a training anything. Throws ReplayInterrupted and StoreError.
  PointAnswer answer(const std::string& subject, std::size_t point) {
    return answer_of_stack(subject, scene_.axis[point]);
  }
  PointAnswer answer_of_stack(const std::string& subject, const std::string& stack);

  // What was seen of the stack, now or earlier, counts no more: it is run again when it is asked about.
  void forget(const std::string& stack);

  // Completes what is said of a change between two stacks that were seen.
  void describe(const std::string& subject, StackChange& change);

  // What the workers of two stacks had loaded that is not the same; runs them if they were not seen yet.
  std::vector<SideDifference> components_between(const std::string& before, const std::string& after);

  // What its worker had loaded; null: it cannot be run.
  const Fingerprint* fingerprint(const std::string& stack);

  int stacks_run() const { return static_cast<int>(run_.size()); }

 private:
  struct Observed {
    const StackObservation* observation = nullptr;
    std::string why_not;
  };
  Observed observe(const std::string& stack);
  std::string same_torch(const StackObservation& observation) const;
  ObservedBits bits(const std::string& subject, const std::string& stack);

  BisectScene scene_;
  std::map<std::string, StackObservation> seen_;
  std::map<std::string, std::string> failed_;  // stack to the reason
  std::set<std::string> forgotten_;
  std::set<std::string> run_;
};

// The time of one fresh process.
struct StackTime {
  double time_ns = 0;
  std::string workload_digest;
};

// A stack could not be timed; the text says why, in one sentence.
class NoTime : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Runs the request on the stack once, without digests of tensors, and returns the median of its step times. Throws
// NoTime, ReplayInterrupted and StoreError.
StackTime time_on(const BisectScene& scene, const std::string& stack);

class SpeedQuestion {
 public:
  SpeedQuestion(const BisectScene& scene, SequentialPlan plan) : scene_(scene), plan_(std::move(plan)) {}

  PointAnswer answer(std::size_t point, bool is_confirmation) {
    return answer_of_stack(scene_.axis[point], is_confirmation);
  }
  PointAnswer answer_of_stack(const std::string& stack, bool is_confirmation);

  int stacks_run() const { return static_cast<int>(run_.size()); }

 private:
  double time_ns(const std::string& stack, std::string& workload_digest);
  std::pair<double, double> pair(const PairKey& key, int index);

  BisectScene scene_;
  SequentialPlan plan_;
  std::set<std::string> run_;
};

}  // namespace reprobench
