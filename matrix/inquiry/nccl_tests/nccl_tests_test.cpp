// Files as nccl-tests writes them, and what each way to make one look better comes to.
#include "matrix/inquiry/nccl_tests/nccl_tests.hpp"

#include <filesystem>

#include <fmt/format.h>

#include "ci/catch.hpp"
#include "ci/thrown.hpp"
#include "matrix/inquiry/nccl_tests/nccl_tests_operation.hpp"
#include "matrix/spec/files/input_text.hpp"

namespace reprobench {
namespace {

using Catch::Contains;

std::string sample(const std::string& name = "all_reduce_8_ranks") {
  const auto path =
      std::filesystem::path(REPROBENCH_SOURCE_ROOT) / "matrix/inquiry/nccl_tests/testdata" / (name + ".json");
  return read_input_file(path.string(), 1 << 20);
}

// The first `from` after `after`, replaced.
std::string edited(std::string text, const std::string& from, const std::string& to, const std::string& after = "") {
  const std::size_t begin = text.find(from, text.find(after));
  REQUIRE(begin != std::string::npos);
  return text.replace(begin, from.size(), to);
}

// Every value of a key, whatever it is.
std::string with_every(std::string text, const std::string& key, const std::string& value) {
  const std::string quoted = "\"" + key + "\":";
  std::size_t at = 0;
  while ((at = text.find(quoted, at)) != std::string::npos) {
    at += quoted.size();
    text.replace(at, text.find_first_of(",}", at) - at, value);
  }
  return text;
}

NcclTestsFile read(const std::string& text) { return read_nccl_tests(text, "a.json"); }

std::string refusal(const std::string& text) {
  return message_of<SpecError>([&] { read(text); });
}

void check_undecided(const std::string& text, const std::string& why) {
  CAPTURE(why);
  const NcclTestsFile file = read(text);
  CHECK(file.status() == CheckStatus::inconclusive);
  REQUIRE_FALSE(file.undecided.empty());
  CHECK_THAT(file.undecided.front(), Contains(why));
}

TEST_CASE("a file of nccl-tests whose results were checked and right passes", "[nccl_tests]") {
  const NcclTestsFile file = read(sample());
  CHECK(file.status() == CheckStatus::passed);
  CHECK(file.operation == "all_reduce");
  CHECK(file.ranks == 8);
  CHECK(file.nccl_version == 22705);
  REQUIRE(file.timings.size() == 18);
  CHECK(file.timings.back().name() == "134217728 B float sum root -1 in place");
  // 128 MiB in 511.41 us, and 7/4 of that.
  CHECK(file.timings.back().algorithm_gb_per_s == Approx(134217728 / *file.timings.back().time_us / 1e3));
  CHECK(file.timings.back().bus_gb_per_s == Approx(1.75 * file.timings.back().algorithm_gb_per_s));
}

TEST_CASE("ranks are those of all processes, one device of which is listed", "[nccl_tests]") {
  const NcclTestsFile file = read(sample("all_gather_2_processes"));
  CHECK(file.ranks == 8);
  CHECK(file.status() == CheckStatus::passed);
  // A list of all GPUs means the same.
  std::string all;
  for (int rank = 1; rank < 8; ++rank) {
    all += fmt::format(R"(,{{"rank":{},"group":0,"device_info":"NVIDIA H100 80GB HBM3"}})", rank);
  }
  CHECK(read(edited(sample(), "]},\"results\"", all + "]},\"results\"")).status() == CheckStatus::passed);
  CHECK(read(sample("hypercube_8_ranks")).status() == CheckStatus::passed);
}

TEST_CASE("the formulas are those of nccl-tests", "[nccl_tests]") {
  struct Expected {
    const char* program;
    int size_copies;
    int moved_copies;
    double factor;
  };
  for (const Expected& expected : {Expected{"./all_reduce_perf", 1, 1, 1.5},
                                   {"all_gather_perf", 4, 4, 0.75},
                                   {"/b/reduce_scatter_perf_mpi", 4, 4, 0.75},
                                   {"alltoall_perf", 4, 4, 0.75},
                                   {"gather_perf", 4, 4, 0.75},
                                   {"scatter_perf", 4, 4, 0.75},
                                   {"broadcast_perf", 1, 1, 1},
                                   {"reduce_perf", 1, 1, 1},
                                   {"sendrecv_perf", 1, 1, 1},
                                   {"hypercube_perf", 4, 3, 1}}) {
    CAPTURE(expected.program);
    const NcclTestsOperation* operation = find_nccl_tests_operation(expected.program);
    REQUIRE(operation != nullptr);
    CHECK(operation->size_copies(4) == expected.size_copies);
    CHECK(operation->moved_copies(4) == expected.moved_copies);
    CHECK(operation->bus_factor(4) == expected.factor);
  }
  CHECK(find_nccl_tests_operation("alltoallv_perf") == nullptr);
  CHECK(find_nccl_tests_operation("my_perf") == nullptr);
}

TEST_CASE("a row whose figures contradict each other is refused at its place", "[nccl_tests]") {
  const std::string text = sample();
  const std::string large = "\"size\":134217728";
  CHECK_THAT(refusal(edited(text, "\"time\":5", "\"time\":4", large)), Contains("RB043") && Contains("alg_bw"));
  CHECK_THAT(refusal(edited(text, "\"bus_bw\":4", "\"bus_bw\":5", large)),
             Contains("a.json:1:") && Contains("RB043") && Contains("bus_bw"));
  CHECK_THAT(refusal(edited(text, "\"alg_bw\":2", "\"alg_bw\":3", large)), Contains("RB043") && Contains("alg_bw"));
  CHECK_THAT(refusal(edited(text, "\"count\":33554432", "\"count\":33554431", large)), Contains("RB043"));
  CHECK_THAT(refusal(edited(text, "\"ngpus\":8", "\"ngpus\":4")), Contains("RB043"));
  CHECK_THAT(refusal(edited(text, "all_reduce_perf", "reduce_perf")), Contains("RB043"));
  CHECK_THAT(refusal(edited(text, "\"type\":\"float\"", "\"type\":\"half\"")), Contains("RB043"));
  // The last digit that is written is one too many.
  CHECK_THAT(refusal(edited(text, "\"alg_bw\":0.000571", "\"alg_bw\":0.000573")), Contains("RB043"));
}

TEST_CASE("wrong elements fail a file, also where the summary hides them", "[nccl_tests]") {
  const std::string wrong = edited(sample(), "\"nwrong\":0.000000", "\"nwrong\":3.000000", "\"size\":4096");
  const NcclTestsFile file = read(wrong);
  CHECK(file.status() == CheckStatus::failed);
  REQUIRE(file.failures.size() == 1);
  CHECK_THAT(file.failures.front(),
             Contains("a.json:1:") && Contains("4096 B float sum root -1 out of place: 3 wrong"));
  CHECK(read(edited(sample(), "{\"count\":0,", "{\"count\":1,")).status() == CheckStatus::failed);
  CHECK(read(edited(sample(), "\"okay\":\"true\"", "\"okay\":\"false\"")).status() == CheckStatus::failed);
  CHECK(read(edited(sample(), "\"okay\":\"unchecked\"", "\"okay\":\"false\"")).status() == CheckStatus::failed);
  // Failed wins over inconclusive.
  CHECK(read(edited(wrong, "\"nwrong\":0.000000", "\"nwrong\":null")).status() == CheckStatus::failed);
  CHECK_THAT(refusal(edited(sample(), "\"nwrong\":0.000000", "\"nwrong\":5,\"nwrong\":0.000000")), Contains("RB008"));
  CHECK_THAT(refusal(edited(sample(), "\"nwrong\":0.000000", "\"nwrong\":-1.000000")), Contains("RB019"));
  CHECK_THAT(refusal(edited(sample(), "\"nwrong\":0.000000", "\"nwrong\":0.500000")), Contains("RB019"));
}

TEST_CASE("results that were not checked are never a pass", "[nccl_tests]") {
  for (const char* none : {"\"nwrong\":null", "\"nwrong\":\"N/A\"", "\"unknown\":0"}) {
    check_undecided(edited(sample(), "\"nwrong\":0.000000", none, "\"size\":4096"),
                    "4096 B float sum root -1 out of "
                    "place: its results were not checked");
  }
  const std::string unchecked = with_every(edited(sample(), "\"validation\":1", "\"validation\":0"), "nwrong", "null");
  check_undecided(unchecked, "-c 0");
  CHECK_THAT(refusal(edited(sample(), "\"validation\":1", "\"validation\":0")), Contains("RB043"));
  // nccl-tests checks no alltoall in place.
  check_undecided(sample("alltoall_8_ranks"), "in place: its results were not checked");
}

TEST_CASE("a time that is missing, or another's, is no pass", "[nccl_tests]") {
  const std::string text = sample();
  const std::size_t at = text.find("\"time\":");
  const std::string time = text.substr(at, text.find(',', at) - at);
  check_undecided(edited(text, time, "\"time\":null"), "has no time");
  check_undecided(edited(text, time, "\"time\":\"nan\""), "has no time");
  check_undecided(edited(text, time + ",", ""), "has no time");
  check_undecided(edited(text, time, "\"cpu_time\":1.0"), "the time of launching alone");
  CHECK_THAT(refusal(edited(text, time, "\"time\":0.000000")), Contains("RB019"));
  CHECK_THAT(refusal(edited(text, time, "\"time\":-14.000000")), Contains("RB019"));
  CHECK_THAT(refusal(edited(text, time, "\"time\":inf")), Contains("RB005"));
}

TEST_CASE("rows and placements that are missing or there twice are no pass", "[nccl_tests]") {
  const std::string text = sample();
  const std::size_t begin = text.find("{\"size\":4096");
  const std::size_t end = text.find("{\"size\":32768");
  const std::string row = text.substr(begin, end - begin);
  check_undecided(edited(text, row, ""), "rows are missing or were changed");
  check_undecided(edited(text, row, row + row), "measured more than once");
  check_undecided(edited(text, "\"out_of_place\":", "\"nothing\":"), "out of place: was not measured");
  const std::size_t rows = text.find("\"results\":[") + 11;
  check_undecided(std::string(text).replace(rows, text.find("],\"out_of_bounds\"") - rows, ""), "it has no rows");
}

TEST_CASE("a file that ends early is refused, and one whose program gave up is no pass", "[nccl_tests]") {
  const std::string text = sample();
  CHECK_THAT(refusal(text.substr(0, text.size() / 2)), Contains("a.json:1:") && Contains("RB005"));
  CHECK_THAT(refusal(""), Contains("RB001"));
  check_undecided(edited(text, "\"out_of_bounds\"", "\"else\""), "did not finish");
  check_undecided(edited(text, "\"average_bus_bandwidth\"", "\"else\""), "did not finish");
  for (const char* key : {"args", "nccl_version", "config", "results", "devices", "ngpus", "validation", "count"}) {
    CAPTURE(key);
    CHECK_THAT(refusal(edited(text, "\"" + std::string(key) + "\":", "\"else\":")), Contains("RB018") && Contains(key));
  }
}

TEST_CASE("groups of different sizes leave open whose ranks the figures have", "[nccl_tests]") {
  const std::string second = R"(,{"rank":0,"group":1,"device_info":"x"},{"rank":8,"group":1,"device_info":"x"}]},)";
  check_undecided(edited(sample(), "]},\"results\"", second + "\"results\""), "different numbers of ranks");
}

}  // namespace
}  // namespace reprobench
