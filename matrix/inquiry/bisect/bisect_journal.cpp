#include "matrix/inquiry/bisect/bisect_journal.hpp"

#include <algorithm>

#include "matrix/base/sha256.hpp"
#include "matrix/contract/document/reader.hpp"
#include "matrix/contract/document/writer.hpp"
#include "matrix/exec/kept_document.hpp"
#include "matrix/record/run_directory.hpp"

namespace reprobench {
namespace {

constexpr std::int64_t kLargestJournalBytes = 256 << 20;

BisectRecord record_in(const std::filesystem::path& file) {
  const KeptDocument kept = read_kept_document(file, kLargestJournalBytes);
  if (kept.is_damaged) throw StoreError(file.string() + " is not what was written; remove it");
  try {
    return read_document<BisectRecord>(kept.value);
  } catch (const ContractError& error) {
    throw StoreError(file.string() + ": " + error.what() + "; remove it");
  }
}

}  // namespace

BisectJournal::BisectJournal(const std::filesystem::path& store, std::string question, bool again)
    : file_(store / "bisects" / (sha256_of_text(question).substr(0, 16) + ".json")) {
  if (!again && std::filesystem::exists(file_)) record_ = record_in(file_);
  if (!record_.question.empty() && record_.question != question) {
    throw StoreError(file_.string() + " is of another question; remove it");
  }
  record_.question = std::move(question);
}

const StackObservation* BisectJournal::find(const std::string& stack, const std::string& identity) const {
  const auto found = std::ranges::find_if(record_.observations, [&](const StackObservation& observation) {
    return observation.stack == stack && observation.identity == identity;
  });
  return found == record_.observations.end() ? nullptr : &*found;
}

std::optional<std::pair<double, double>> BisectJournal::find_pair(const PairKey& key, int index) const {
  const auto found = std::ranges::find_if(
      record_.pairs, [&](const TimedPair& pair) { return pair.key == key && pair.index == index; });
  if (found == record_.pairs.end()) return std::nullopt;
  return std::pair(found->measured_ns, found->reference_ns);
}

const CheckObservation* BisectJournal::find_check(const std::string& stack, const std::string& identity,
                                                  bool is_confirmation) const {
  const auto found = std::ranges::find_if(record_.checks, [&](const CheckObservation& observation) {
    return observation.stack == stack && observation.identity == identity &&
           observation.is_confirmation == is_confirmation;
  });
  return found == record_.checks.end() ? nullptr : &*found;
}

void BisectJournal::keep(StackObservation observation) {
  std::erase_if(record_.observations,
                [&](const StackObservation& earlier) { return earlier.stack == observation.stack; });
  record_.observations.push_back(std::move(observation));
  write();
}

void BisectJournal::keep_pair(const TimedPair& pair) {
  std::erase_if(record_.pairs, [&](const TimedPair& earlier) {
    const bool is_same = earlier.key == pair.key && earlier.index == pair.index;
    const bool is_of_another_build =
        (earlier.key.stack == pair.key.stack && earlier.key.identity != pair.key.identity) ||
        (earlier.key.reference == pair.key.reference && earlier.key.reference_identity != pair.key.reference_identity);
    return is_same || is_of_another_build;
  });
  record_.pairs.push_back(pair);
  write();
}

void BisectJournal::keep_check(const CheckObservation& observation) {
  std::erase_if(record_.checks, [&](const CheckObservation& earlier) {
    return earlier.stack == observation.stack &&
           (earlier.is_confirmation == observation.is_confirmation || earlier.identity != observation.identity);
  });
  record_.checks.push_back(observation);
  write();
}

void BisectJournal::write() const {
  std::filesystem::create_directories(file_.parent_path());
  if (!keep_document(file_, written(record_))) throw StoreError(file_.string() + " cannot be written");
}

}  // namespace reprobench
