#include "matrix/inquiry/nccl_tests/nccl_tests_comparison.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "matrix/stats/robust.hpp"

namespace reprobench {
namespace {

constexpr double kConfidence = 0.95;

// What the files of a side measured of one row and placement, a value a file.
struct Series {
  NcclTestsTiming first;
  std::vector<double> time_us;
  std::vector<double> bus_gb_per_s;
};
// By the name of a row. A size is no key of its own: a file of several types has it several times.
using SideSeries = std::map<std::string, Series>;

SideSeries side_of(std::span<const NcclTestsFile> files) {
  SideSeries side;
  for (const NcclTestsFile& file : files) {
    for (const NcclTestsTiming& timing : file.timings) {
      if (!timing.time_us || timing.size_bytes == 0) continue;
      Series& series = side[timing.name()];
      if (series.time_us.empty()) series.first = timing;
      series.time_us.push_back(*timing.time_us);
      series.bus_gb_per_s.push_back(timing.bus_gb_per_s);
    }
  }
  return side;
}

// A copy of a file is no second measurement: two runs do not agree in every time to a picosecond.
bool are_same_times(const NcclTestsFile& a, const NcclTestsFile& b) {
  return std::ranges::equal(a.timings, b.timings, {}, &NcclTestsTiming::time_us, &NcclTestsTiming::time_us);
}

void refuse_copies(std::span<const NcclTestsFile> measured, std::span<const NcclTestsFile> reference,
                   std::vector<std::string>& undecided) {
  std::vector<const NcclTestsFile*> files;
  for (const auto side : {measured, reference}) {
    for (const NcclTestsFile& file : side) files.push_back(&file);
  }
  for (std::size_t i = 0; i < files.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (!are_same_times(*files[i], *files[j])) continue;
      undecided.push_back(
          fmt::format("{} has every time of {}: one measurement, given twice", files[i]->file, files[j]->file));
    }
  }
}

// Of one side NCCL may differ from the other's, as that is the question; among its own files nothing may.
void require_alike(const NcclTestsFile& file, const NcclTestsFile& first, bool is_same_side,
                   std::vector<std::string>& undecided) {
  const auto hold = [&](const std::string& what, const std::string& of_file, const std::string& of_first) {
    if (of_file == of_first) return;
    undecided.push_back(
        fmt::format("{} and {} differ in {}: {} and {}", file.file, first.file, what, of_file, of_first));
  };
  hold("operation", file.operation, first.operation);
  hold("ranks", fmt::to_string(file.ranks), fmt::to_string(first.ranks));
  hold("settings", file.settings, first.settings);
  hold("devices", file.devices, first.devices);
  if (is_same_side) hold("NCCL", fmt::to_string(file.nccl_version), fmt::to_string(first.nccl_version));
}

NcclTestsRatio ratio_of(const std::string& name, const Series& measured, const Series& reference, double margin) {
  NcclTestsRatio ratio;
  ratio.name = name;
  ratio.measured_us = median(measured.time_us);
  ratio.reference_us = median(reference.time_us);
  ratio.measured_gb_per_s = median(measured.bus_gb_per_s);
  ratio.reference_gb_per_s = median(reference.bus_gb_per_s);
  ratio.time = paired_ratio(measured.time_us, reference.time_us, kConfidence);
  if (!ratio.time) return ratio;
  const RatioVerdict verdict = judge_ratio(*ratio.time, margin);
  if (verdict == RatioVerdict::worse) ratio.status = CheckStatus::failed;
  if (verdict == RatioVerdict::equivalent || verdict == RatioVerdict::better) ratio.status = CheckStatus::passed;
  return ratio;
}

std::map<std::string, std::vector<Transfer>> transfers_of(const SideSeries& side) {
  std::map<std::string, std::vector<Transfer>> transfers;
  for (const auto& [name, series] : side) {
    transfers[name.substr(name.find(" B ") + 3)].push_back(
        {static_cast<double>(series.first.size_bytes), median(series.time_us) * 1e3});
  }
  return transfers;
}

std::vector<NcclTestsFits> fits_of(const SideSeries& measured, const SideSeries& reference) {
  const auto references = transfers_of(reference);
  std::vector<NcclTestsFits> fits;
  for (const auto& [name, transfers] : transfers_of(measured)) {
    const auto other = references.find(name);
    if (other == references.end()) continue;
    fits.push_back({name, fit_transfers(transfers), fit_transfers(other->second)});
  }
  return fits;
}

}  // namespace

CheckStatus NcclTestsComparison::status() const {
  const auto has = [&](CheckStatus status) {
    return std::ranges::any_of(ratios, [&](const NcclTestsRatio& ratio) { return ratio.status == status; });
  };
  if (has(CheckStatus::failed)) return CheckStatus::failed;
  if (ratios.empty() || !undecided.empty() || has(CheckStatus::inconclusive)) return CheckStatus::inconclusive;
  return CheckStatus::passed;
}

NcclTestsComparison compare_nccl_tests(std::span<const NcclTestsFile> measured,
                                       std::span<const NcclTestsFile> reference, double margin) {
  NcclTestsComparison out;
  if (measured.empty() || reference.empty()) return out;
  for (const NcclTestsFile& file : measured) require_alike(file, measured.front(), true, out.undecided);
  for (const NcclTestsFile& file : reference) require_alike(file, reference.front(), true, out.undecided);
  require_alike(measured.front(), reference.front(), false, out.undecided);
  refuse_copies(measured, reference, out.undecided);
  if (measured.size() != reference.size()) {
    out.undecided.push_back(fmt::format("{} files against {}: no pairs", measured.size(), reference.size()));
  }
  const bool is_comparable = out.undecided.empty();
  const SideSeries sides[] = {side_of(measured), side_of(reference)};
  for (const auto& [name, series] : sides[0]) {
    const auto other = sides[1].find(name);
    if (other == sides[1].end()) {
      out.undecided.push_back(name + ": only the measured side has it");
      continue;
    }
    out.ratios.push_back(ratio_of(name, series, other->second, margin));
    const bool is_whole = series.time_us.size() == measured.size() && other->second.time_us.size() == reference.size();
    // Pairs are by position, so a time that one file lacks would pair the others wrongly.
    if (is_comparable && is_whole) continue;
    out.ratios.back().time.reset();
    out.ratios.back().status = CheckStatus::inconclusive;
    if (!is_whole) out.undecided.push_back(name + ": not each file has it once");
  }
  for (const auto& [name, series] : sides[1]) {
    if (!sides[0].contains(name)) out.undecided.push_back(name + ": only the reference side has it");
  }
  const auto order = [&](const NcclTestsRatio& a, const NcclTestsRatio& b) {
    return sides[0].at(a.name).first.size_bytes < sides[0].at(b.name).first.size_bytes;
  };
  std::ranges::stable_sort(out.ratios, order);
  const int needed = fewest_pairs(kConfidence);
  if (is_comparable && static_cast<int>(measured.size()) < needed) {
    out.undecided.push_back(fmt::format("{} pair{} of files, and an interval needs {}: recorded, not judged",
                                        measured.size(), measured.size() == 1 ? "" : "s", needed));
  }
  out.fits = fits_of(sides[0], sides[1]);
  return out;
}

}  // namespace reprobench
