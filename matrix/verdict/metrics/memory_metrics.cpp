#include "matrix/verdict/metrics/memory_metrics.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

#include <fmt/format.h>

#include "matrix/verdict/metrics/over_ranks.hpp"

namespace reprobench {
namespace {

// Largest reading of the second half over that of the first. One low reading at the end hides nothing.
template <std::int64_t StepRecord::*bytes>
std::optional<double> growth_bytes(const AttemptRecord& attempt) {
  return total_of_ranks(attempt, [](const RankRecord& rank) -> std::optional<double> {
    std::vector<double> samples;
    for (const StepRecord& step : rank.trace->steps) {
      if (step.*bytes >= 0) samples.push_back(static_cast<double>(step.*bytes));
    }
    if (samples.size() < 4) return std::nullopt;
    // A reading is of the end of its step: of four, the second ends the first half.
    const auto middle = samples.begin() + static_cast<std::ptrdiff_t>((samples.size() + 1) / 2);
    return *std::max_element(middle, samples.end()) - *std::max_element(samples.begin(), middle);
  });
}

// The worker's own peak, and no less than its steps read.
template <std::int64_t CellResult::*peak, std::int64_t StepRecord::*bytes>
std::optional<double> peak_bytes(const AttemptRecord& attempt) {
  return total_of_ranks(attempt, [](const RankRecord& rank) -> std::optional<double> {
    std::int64_t largest = (*rank.result).*peak;
    if (largest <= 0) return std::nullopt;
    if (rank.trace) {
      for (const StepRecord& step : rank.trace->steps) largest = std::max(largest, step.*bytes);
    }
    return static_cast<double>(largest);
  });
}

}  // namespace

std::optional<double> peak_rss_bytes(const AttemptRecord& attempt) {
  return peak_bytes<&CellResult::peak_rss_bytes, &StepRecord::rss_bytes>(attempt);
}

std::optional<double> peak_anonymous_bytes(const AttemptRecord& attempt) {
  return peak_bytes<&CellResult::peak_anonymous_bytes, &StepRecord::anonymous_bytes>(attempt);
}

// The results write -1 for what a device does not have.
std::optional<double> device_peak_bytes(const AttemptRecord& attempt) {
  return largest_of_ranks(attempt, [](const RankRecord& rank) {
    const auto bytes = rank.result->peak_allocated_bytes;
    return bytes >= 0 ? std::optional<double>(static_cast<double>(bytes)) : std::nullopt;
  });
}

std::optional<double> rss_growth_bytes(const AttemptRecord& attempt) {
  return growth_bytes<&StepRecord::rss_bytes>(attempt);
}
std::optional<double> anonymous_growth_bytes(const AttemptRecord& attempt) {
  return growth_bytes<&StepRecord::anonymous_bytes>(attempt);
}

Measurement peak_anonymous_share(const CellEvidence& cell, const CellEvidence* reference) {
  Measurement largest;
  for (const AttemptRecord& attempt : cell.repeats) {
    const std::optional<double> bytes = peak_anonymous_bytes(attempt);
    if (!bytes) return no_value(fmt::format("repeat {} measured none", attempt.repeat));
    if (!largest.value || *bytes > *largest.value) largest = {bytes, std::nullopt, "", "", "", attempt.repeat};
  }
  std::optional<double> of_reference;
  for (const AttemptRecord& attempt : reference->repeats) {
    const std::optional<double> bytes = peak_anonymous_bytes(attempt);
    if (!bytes) return no_value(fmt::format("{} measured none", reference->slug));
    if (!of_reference || *bytes < *of_reference) of_reference = bytes;
  }
  largest.statement =
      fmt::format("{:.1f} MB, {} takes {:.1f} MB", *largest.value * 1e-6, reference->slug, *of_reference * 1e-6);
  largest.value = *largest.value / *of_reference;
  return largest;
}

}  // namespace reprobench
