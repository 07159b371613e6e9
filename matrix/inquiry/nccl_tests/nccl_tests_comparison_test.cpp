// Two sides of files: what is judged, what stays open, and what a copy of a file is worth.
#include "matrix/inquiry/nccl_tests/nccl_tests_comparison.hpp"

#include <filesystem>

#include "ci/catch.hpp"
#include "matrix/spec/files/input_text.hpp"

namespace reprobench {
namespace {

using Catch::Contains;
using Files = std::vector<NcclTestsFile>;

constexpr double kMargin_rel = 0.05;

NcclTestsFile sample_file() {
  const auto path =
      std::filesystem::path(REPROBENCH_SOURCE_ROOT) / "matrix/inquiry/nccl_tests/testdata/all_reduce_8_ranks.json";
  return read_nccl_tests(read_input_file(path.string(), 1 << 20), "a.json");
}

// Runs of one stack, each a little off the others; all times but those of small calls `factor` times as long.
Files runs(int count, double factor, double noise, std::int64_t from_bytes = 0) {
  Files files;
  for (int i = 0; i < count; ++i) {
    NcclTestsFile file = sample_file();
    file.file = "run " + std::to_string(i);
    const double run = 1 + noise * ((i * 7 % 5) - 2) / 2;
    for (NcclTestsTiming& timing : file.timings) {
      const double scale = run * (timing.size_bytes >= from_bytes ? factor : 1);
      timing.time_us = *timing.time_us * scale;
      timing.bus_gb_per_s /= scale;
    }
    files.push_back(file);
  }
  // Files 0 and 5 have the same scale; a run that agrees in every time would be a copy.
  for (std::size_t i = 0; i < files.size(); ++i) {
    for (NcclTestsTiming& timing : files[i].timings) *timing.time_us *= 1 + 1e-5 * (static_cast<double>(i) + factor);
  }
  return files;
}

void check_open(const NcclTestsComparison& comparison, const std::string& why) {
  CAPTURE(why);
  CHECK(comparison.status() == CheckStatus::inconclusive);
  for (const NcclTestsRatio& ratio : comparison.ratios) CHECK(ratio.status != CheckStatus::failed);
  REQUIRE_FALSE(comparison.undecided.empty());
  CHECK_THAT(comparison.undecided.front(), Contains(why));
}

TEST_CASE("six pairs judge each size and placement", "[nccl_tests]") {
  const NcclTestsComparison same = compare_nccl_tests(runs(6, 1.01, 0.02), runs(6, 1, 0.02), kMargin_rel);
  CHECK(same.status() == CheckStatus::passed);
  REQUIRE(same.ratios.size() == 18);
  CHECK(same.ratios.front().name == "8 B float sum root -1 in place");
  CHECK(same.ratios.back().name == "134217728 B float sum root -1 out of place");
  CHECK(same.ratios.back().time->ratio == Approx(1.01).epsilon(1e-3));
  CHECK(same.ratios.back().measured_us == Approx(1.01 * same.ratios.back().reference_us).epsilon(1e-3));
  CHECK(same.ratios.back().measured_gb_per_s == Approx(same.ratios.back().reference_gb_per_s / 1.01).epsilon(1e-3));

  const NcclTestsComparison slower = compare_nccl_tests(runs(6, 1.1, 0.02, 1 << 20), runs(6, 1, 0.02), kMargin_rel);
  CHECK(slower.status() == CheckStatus::failed);
  for (const NcclTestsRatio& ratio : slower.ratios) {
    CHECK(ratio.status == (ratio.measured_us > ratio.reference_us * 1.05 ? CheckStatus::failed : CheckStatus::passed));
  }
  CHECK(slower.ratios.front().status == CheckStatus::passed);
  CHECK(compare_nccl_tests(runs(6, 1, 0.02), runs(6, 1.1, 0.02), kMargin_rel).status() == CheckStatus::passed);
}

TEST_CASE("too few pairs are recorded, however large the difference", "[nccl_tests]") {
  for (const int count : {1, 2, 5}) {
    const NcclTestsComparison comparison = compare_nccl_tests(runs(count, 3, 0.02), runs(count, 1, 0.02), kMargin_rel);
    check_open(comparison, "an interval needs 6");
    CHECK(comparison.ratios.size() == 18);
  }
  check_open(compare_nccl_tests(runs(6, 1.01, 0.02), runs(7, 1, 0.02), kMargin_rel), "6 files against 7");
  CHECK(compare_nccl_tests({}, runs(6, 1, 0.02), kMargin_rel).status() == CheckStatus::inconclusive);
}

TEST_CASE("a file given twice is one measurement", "[nccl_tests]") {
  check_open(compare_nccl_tests(Files(6, sample_file()), runs(6, 1, 0.02), kMargin_rel), "given twice");
  Files measured = runs(6, 1.01, 0.02);
  const Files reference = runs(6, 1, 0.02);
  measured[3].timings = reference[1].timings;
  check_open(compare_nccl_tests(measured, reference, kMargin_rel), "given twice");
}

TEST_CASE("only what was measured alike is held against each other", "[nccl_tests]") {
  const Files reference = runs(6, 1, 0.02);
  const auto changed = [&](std::size_t which, auto change) {
    Files measured = runs(6, 3, 0.02);
    change(measured[which]);
    return compare_nccl_tests(measured, reference, kMargin_rel);
  };
  for (const std::size_t which : {std::size_t{0}, std::size_t{4}}) {
    check_open(changed(which, [](NcclTestsFile& file) { file.ranks = 4; }), "differ in ranks");
    check_open(changed(which, [](NcclTestsFile& file) { file.operation = "reduce"; }), "differ in operation");
    check_open(changed(which, [](NcclTestsFile& file) { file.settings = "iterations 1"; }), "differ in settings");
    check_open(changed(which, [](NcclTestsFile& file) { file.devices = "another GPU"; }), "differ in devices");
    check_open(changed(which, [](NcclTestsFile& file) { file.nccl_version = 22800; }), "differ in NCCL");
  }
  Files newer = runs(6, 1.01, 0.02);
  for (NcclTestsFile& file : newer) file.nccl_version = 22800;
  CHECK(compare_nccl_tests(newer, reference, kMargin_rel).status() == CheckStatus::passed);
}

TEST_CASE("a row that one side or one file lacks leaves the answer open", "[nccl_tests]") {
  const Files reference = runs(6, 1, 0.02);
  Files one_lacks = runs(6, 1.01, 0.02);
  one_lacks[2].timings.pop_back();
  check_open(compare_nccl_tests(one_lacks, reference, kMargin_rel), "not each file has it once");
  Files all_lack = runs(6, 1.01, 0.02);
  for (NcclTestsFile& file : all_lack) file.timings.pop_back();
  check_open(compare_nccl_tests(all_lack, reference, kMargin_rel), "only the reference side has it");
  check_open(compare_nccl_tests(reference, all_lack, kMargin_rel), "only the measured side has it");
}

TEST_CASE("the fit says whether startup or bandwidth differs", "[nccl_tests]") {
  const NcclTestsComparison comparison = compare_nccl_tests(runs(6, 2, 0, 1 << 20), runs(6, 1, 0), kMargin_rel);
  REQUIRE(comparison.fits.size() == 2);
  const NcclTestsFits& fits = comparison.fits.back();
  CHECK(fits.name == "float sum root -1 out of place");
  REQUIRE(fits.reference);
  CHECK(fits.reference->startup_ns == Approx(14'000).epsilon(0.01));
  CHECK(fits.reference->bandwidth_gb_per_s == Approx(270).epsilon(0.01));
  CHECK(fits.reference->worst_factor < 1.01);
  REQUIRE(fits.measured);
  CHECK(fits.measured->bandwidth_gb_per_s < 160);
  CHECK(fits.measured->worst_factor > fits.reference->worst_factor);
}

}  // namespace
}  // namespace reprobench
