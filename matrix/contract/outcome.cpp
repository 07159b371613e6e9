#include "matrix/contract/outcome.hpp"

#include <array>

namespace reprobench {
namespace {

// Index = enumerator. The static_asserts below hold the tables against the enums.
constexpr std::array<std::string_view, 7> kOutcomes = {"passed",  "failed",     "inconclusive", "errored",
                                                       "skipped", "unfinished", "recorded"};
constexpr std::array<std::string_view, 3> kCheckStatuses = {"passed", "failed", "inconclusive"};
constexpr std::array<std::string_view, 4> kDimensions = {"numerics", "throughput", "memory", "communication"};
struct EndRow {
  std::string_view word;
  Side side;
};
constexpr std::array<EndRow, 16> kEnds = {{{"completed", Side::none},
                                           {"nonzero", Side::product},
                                           {"crash", Side::product},
                                           {"cuda_oom", Side::product},
                                           {"host_oom", Side::product},
                                           {"worker_error", Side::product},
                                           {"contract", Side::product},
                                           {"leaked", Side::product},
                                           {"timeout", Side::product},
                                           {"hang", Side::product},
                                           {"launch", Side::infra},
                                           {"store", Side::infra},
                                           {"lost", Side::infra},
                                           {"interrupted", Side::user},
                                           {"xid", Side::product},
                                           {"gpu_hw", Side::infra}}};

static_assert(static_cast<std::size_t>(Outcome::recorded) + 1 == kOutcomes.size());
static_assert(static_cast<std::size_t>(CheckStatus::inconclusive) + 1 == kCheckStatuses.size());
static_assert(static_cast<std::size_t>(Dimension::communication) + 1 == kDimensions.size());
static_assert(static_cast<std::size_t>(AttemptEnd::gpu_hw) + 1 == kEnds.size());

template <class Enum, std::size_t N>
std::optional<Enum> find_word(const std::array<std::string_view, N>& words, std::string_view word) {
  for (std::size_t i = 0; i < N; ++i) {
    if (words[i] == word) return static_cast<Enum>(i);
  }
  return std::nullopt;
}

}  // namespace

Side side_of(AttemptEnd end) { return kEnds[static_cast<std::size_t>(end)].side; }

std::string_view to_string(Outcome outcome) { return kOutcomes[static_cast<std::size_t>(outcome)]; }
std::string_view to_string(CheckStatus status) { return kCheckStatuses[static_cast<std::size_t>(status)]; }
std::string_view to_string(Dimension dimension) { return kDimensions[static_cast<std::size_t>(dimension)]; }
std::string_view to_string(AttemptEnd end) { return kEnds[static_cast<std::size_t>(end)].word; }

std::optional<Outcome> outcome_from(std::string_view word) { return find_word<Outcome>(kOutcomes, word); }
std::optional<CheckStatus> check_status_from(std::string_view word) {
  return find_word<CheckStatus>(kCheckStatuses, word);
}
std::optional<Dimension> dimension_from(std::string_view word) { return find_word<Dimension>(kDimensions, word); }
std::optional<AttemptEnd> attempt_end_from(std::string_view word) {
  for (std::size_t i = 0; i < kEnds.size(); ++i) {
    if (kEnds[i].word == word) return static_cast<AttemptEnd>(i);
  }
  return std::nullopt;
}

}  // namespace reprobench
