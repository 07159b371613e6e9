#include "matrix/plan/batch_fit.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "matrix/base/usage_error.hpp"

namespace reprobench {
namespace {

constexpr std::int64_t kProbesOfRound = 32;

std::int64_t micro_batches_of(const KnobValues& knobs) { return setting_in<&Settings::accumulate>(knobs); }

BatchNeed batch_need(std::int64_t batch_size, const KnobValues& knobs, const AttemptMemory& need) {
  return {batch_size, batch_size / micro_batches_of(knobs), at_most_bytes(need, knobs), need};
}

// Micro-batches grow; between `fits_` and `too_large_` nothing is known yet.
class Search {
 public:
  Search(KnobValues knobs, std::int64_t available_bytes)
      : knobs_(std::move(knobs)),
        micro_batches_(micro_batches_of(knobs_)),
        available_bytes_(available_bytes),
        too_large_(kLargestBatch / micro_batches_ + 1) {
    answer_.knobs = knobs_;
  }

  bool is_done() const { return too_large_ - fits_ <= 1 || !answer_.why_not.empty(); }

  // Doubling at first, and then evenly.
  std::vector<BatchQuestion> questions() const {
    std::vector<std::int64_t> sizes;
    if (fits_ == 0 && !answer_.too_large) {
      for (std::int64_t size = 1; size < too_large_ - 1; size *= 2) sizes.push_back(size);
      sizes.push_back(too_large_ - 1);
    } else {
      const std::int64_t count = std::min(too_large_ - fits_ - 1, kProbesOfRound);
      for (std::int64_t i = 1; i <= count; ++i) sizes.push_back(fits_ + (too_large_ - fits_) * i / (count + 1));
    }
    std::vector<BatchQuestion> questions;
    for (const std::int64_t size : sizes) questions.push_back({size * micro_batches_, knobs_});
    return questions;
  }

  void take(const BatchQuestion& question, const AttemptMemory& need) {
    if (!need.is_predicted()) answer_.why_not = need.why_not;
    const std::int64_t size = question.batch_size / micro_batches_;
    if (!answer_.why_not.empty() || size >= too_large_) return;  // what follows one that does not fit is no news
    const BatchNeed batch = batch_need(question.batch_size, knobs_, need);
    if (batch.at_most_bytes <= available_bytes_) {
      fits_ = size;
      answer_.largest = batch;
    } else {
      too_large_ = size;
      answer_.too_large = batch;
    }
  }

  LargestBatch answer() const {
    if (answer_.why_not.empty()) return answer_;
    return {knobs_, answer_.why_not, {}, {}};
  }

 private:
  KnobValues knobs_;
  std::int64_t micro_batches_;
  std::int64_t available_bytes_;
  std::int64_t fits_ = 0;
  std::int64_t too_large_;
  LargestBatch answer_;
};

// What takes less memory than `asked` and changes no bit of a training in fp32: blocks computed again, and tensors
// mapped one by one, without which a heap hides what the former saves.
std::vector<KnobValues> leaner(const KnobValues& asked) {
  std::vector<KnobValues> choices;
  KnobValues mapped = asked;
  set<&Settings::allocator>(mapped, Allocator::mapped);
  if (mapped != asked) choices.push_back(mapped);
  set<&Settings::gradient_checkpointing>(mapped, true);
  if (!setting_in<&Settings::gradient_checkpointing>(asked)) choices.push_back(mapped);
  return choices;
}

// The fewest micro-batches of each choice that fit.
std::vector<BatchWay> ways_to(const BatchFit& fit, const AskMemory& ask) {
  std::vector<KnobValues> choices{fit.asked.knobs};
  for (const LargestBatch& other : fit.others) choices.push_back(other.knobs);
  std::vector<BatchQuestion> questions;
  const std::int64_t asked_micro_batches = micro_batches_of(fit.asked.knobs);
  for (const KnobValues& knobs : choices) {
    for (std::int64_t count = asked_micro_batches; count <= fit.wished_batch; count += asked_micro_batches) {
      if (fit.wished_batch % count != 0) continue;
      BatchQuestion question{fit.wished_batch, knobs};
      if (count > 1) set<&Settings::accumulate>(question.knobs, count);
      questions.push_back(std::move(question));
    }
  }
  const std::vector<AttemptMemory> needs = ask(questions);
  std::vector<BatchWay> ways;
  KnobValues last_choice;
  for (std::size_t i = 0; i < questions.size(); ++i) {
    KnobValues choice = questions[i].knobs;
    set<&Settings::accumulate>(choice, 1);
    if (choice == last_choice || !needs.at(i).is_predicted()) continue;
    const BatchNeed batch = batch_need(fit.wished_batch, questions[i].knobs, needs[i]);
    if (batch.at_most_bytes > fit.available_bytes) continue;
    ways.push_back({questions[i].knobs, batch});
    last_choice = std::move(choice);
  }
  return ways;
}

}  // namespace

double largest_excess(const KnobValues& knobs) {
  return setting_in<&Settings::allocator>(knobs) == Allocator::mapped ? 0.1 : 0.5;
}

std::int64_t at_most_bytes(const AttemptMemory& need, const KnobValues& knobs) {
  return std::llround(static_cast<double>(need.total()) * (1 + largest_excess(knobs)));
}

std::vector<LargestBatch> largest_batches(const std::vector<KnobValues>& choices, std::int64_t available_bytes,
                                          const AskMemory& ask) {
  std::vector<Search> searches;
  for (const KnobValues& knobs : choices) searches.emplace_back(knobs, available_bytes);
  while (std::ranges::any_of(searches, [](const Search& search) { return !search.is_done(); })) {
    std::vector<BatchQuestion> questions;
    std::vector<Search*> askers;
    for (Search& search : searches) {
      if (search.is_done()) continue;
      for (BatchQuestion& question : search.questions()) {
        questions.push_back(std::move(question));
        askers.push_back(&search);
      }
    }
    const std::vector<AttemptMemory> needs = ask(questions);
    for (std::size_t i = 0; i < questions.size(); ++i) askers[i]->take(questions[i], needs.at(i));
  }
  std::vector<LargestBatch> answers;
  for (const Search& search : searches) answers.push_back(search.answer());
  return answers;
}

BatchFit fitted(BatchFit fit, const AskMemory& ask) {
  const std::int64_t micro_batches = micro_batches_of(fit.asked.knobs);
  if (fit.wished_batch % micro_batches != 0) {
    throw UsageError(
        fmt::format("a batch of {} makes no {} equal micro-batches (accumulate)", fit.wished_batch, micro_batches));
  }
  std::vector<KnobValues> choices = leaner(fit.asked.knobs);
  choices.insert(choices.begin(), fit.asked.knobs);
  std::vector<LargestBatch> answers = largest_batches(choices, fit.available_bytes, ask);
  fit.asked = answers.front();
  fit.others.assign(answers.begin() + 1, answers.end());
  if (fit.wished_batch == 0) return fit;
  const AttemptMemory need = ask({{fit.wished_batch, fit.asked.knobs}}).at(0);
  if (need.is_predicted()) {
    fit.wished = batch_need(fit.wished_batch, fit.asked.knobs, need);
    fit.wished_fits = fit.wished->at_most_bytes <= fit.available_bytes;
  }
  if (!fit.wished_fits) fit.ways = ways_to(fit, ask);
  return fit;
}

}  // namespace reprobench
