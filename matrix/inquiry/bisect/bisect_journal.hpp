// The observations of a bisect so far, in STORE/bisects/QUESTION.json. A bisect that was killed continues where it was,
// and no sample counts twice. Entries belong to a stack as it was. If its identity changes, its entries become
// worthless and are removed.
//
// The file (kept_document.hpp) is replaced as a whole after each entry, so that a kill leaves all entries, or all but
// the last. If two bisects of one question run at a time, the later one to write keeps its own entries. The other's are
// lost, never mixed.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "matrix/inquiry/bisect/observed_bits.hpp"
#include "matrix/inquiry/bisect/seen_check.hpp"

namespace reprobench {

// The stacks whose times a pair holds, and why it was taken.
struct PairKey {
  std::string stack;
  std::string identity;
  std::string reference;
  std::string reference_identity;
  bool is_confirmation = false;  // confirms an end, after the search

  bool operator==(const PairKey&) const = default;
};

struct TimedPair {
  PairKey key;
  int index = 0;
  double measured_ns = 0;
  double reference_ns = 0;
};

struct BisectRecord {
  std::string question;
  std::vector<StackObservation> observations;
  std::vector<TimedPair> pairs;
  std::vector<CheckObservation> checks;
};

template <>
struct Description<TimedPair> {
  static constexpr About about = About::part("timed_pair", "Times of two stacks, taken one after the other.");
  static void fields(auto& field, TimedPair& pair) {
    field("stack", pair.key.stack, rule::not_empty);
    field("identity", pair.key.identity, rule::hex(64));
    field("reference", pair.key.reference, rule::not_empty);
    field("reference_identity", pair.key.reference_identity, rule::hex(64));
    field("is_confirmation", pair.key.is_confirmation, "Of an end, after the search.");
    field("index", pair.index, rule::at_least(0));
    field("measured_ns", pair.measured_ns);
    field("reference_ns", pair.reference_ns);
    field.hold(pair.measured_ns > 0 && pair.reference_ns > 0, "has a time of zero or less");
  }
};

template <>
struct Description<BisectRecord> {
  static constexpr About about = About::document("bisect_record", "What a bisect has seen of each stack so far");
  static void fields(auto& field, BisectRecord& record) {
    field("question", record.question, rule::not_empty);
    field("observations", record.observations);
    field("pairs", record.pairs);
    field.optional("checks", record.checks, rule::not_empty_list);
  }
};

class BisectJournal {
 public:
  // `question` has everything that the observations depend on, except the stacks. With `again`, known observations do
  // not count. Throws StoreError if the file is damaged or of another question.
  BisectJournal(const std::filesystem::path& store, std::string question, bool again);

  const std::filesystem::path& file() const { return file_; }

  // Null if that stack, as it is now, was not observed.
  const StackObservation* find(const std::string& stack, const std::string& identity) const;
  std::optional<std::pair<double, double>> find_pair(const PairKey& key, int index) const;

  const CheckObservation* find_check(const std::string& stack, const std::string& identity, bool is_confirmation) const;

  // Entries are on the disk when these return. Throws StoreError.
  void keep(StackObservation observation);
  void keep_pair(const TimedPair& pair);
  void keep_check(const CheckObservation& observation);

 private:
  void write() const;

  std::filesystem::path file_;
  BisectRecord record_;
};

}  // namespace reprobench
