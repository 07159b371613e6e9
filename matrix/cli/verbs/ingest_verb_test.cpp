// What `ingest` returns to the shell and shows.
#include "matrix/cli/verbs/verb_fixture.hpp"

namespace reprobench {
namespace {

using Catch::Contains;

std::string sample(const std::string& name) {
  return (std::filesystem::path(REPROBENCH_SOURCE_ROOT) / "matrix/inquiry/nccl_tests/testdata" / (name + ".json"))
      .string();
}

Said ingest(std::vector<std::string> words) { return said_by(&declare_ingest, "", std::move(words)); }

TEST_CASE("a checked file passes, an unchecked one is undecided, a wrong one fails", "[cli]") {
  const TemporaryFolder folder;
  const std::string good = sample("all_reduce_8_ranks");
  const Said said = ingest({good});
  CHECK(said.code == ExitCode::passed);
  CHECK_THAT(said.out,
             Contains("all_reduce on 8") && Contains("2.27.5") && Contains("134217728") && Contains("passed"));
  CHECK(ingest({good, sample("alltoall_8_ranks")}).code == ExitCode::undecided);
  std::string wrong = read_file(good);
  wrong.replace(wrong.find("\"nwrong\":0"), 10, "\"nwrong\":7");
  const std::string wrong_file = written_file(folder.path / "wrong.json", wrong);
  CHECK(ingest({sample("alltoall_8_ranks"), wrong_file, good}).code == ExitCode::failed);
}

TEST_CASE("the environment that nccl-tests writes into its file is not shown", "[cli]") {
  CHECK_THAT(read_file(sample("all_reduce_8_ranks")), Contains("do-not-show"));
  CHECK_THAT(ingest({sample("all_reduce_8_ranks")}).out, !Contains("do-not-show") && !Contains("API_TOKEN"));
}

TEST_CASE("one file a side is recorded, six a side are judged", "[cli]") {
  const TemporaryFolder folder;
  // Every figure of the sample with a time `scale` as long; the mean too.
  const auto scaled = [&](const std::string& name, double scale) {
    nlohmann::json document = nlohmann::json::parse(read_file(sample("all_reduce_8_ranks")));
    for (nlohmann::json& row : document["results"]) {
      for (const char* place : {"out_of_place", "in_place"}) {
        nlohmann::json& timing = row[place];
        // Bandwidths from the bytes: those of small sizes are written with few digits.
        const double time_us = timing["time"].get<double>() * scale;
        const double gb_per_s = row["size"].get<double>() / time_us / 1e3;
        timing["time"] = time_us;
        timing["alg_bw"] = gb_per_s;
        timing["bus_bw"] = 1.75 * gb_per_s;
      }
    }
    nlohmann::json& mean = document["average_bus_bandwidth"]["bandwidth"];
    mean = mean.get<double>() / scale;
    return written_file(folder.path / name, document.dump()).string();
  };
  const auto compared = [&](double factor, int count) {
    std::vector<std::string> words;
    for (int i = 0; i < count; ++i) words.push_back(scaled(fmt::format("a{}.json", i), factor * (1 + 0.001 * i)));
    words.emplace_back("--against");
    for (int i = 0; i < count; ++i) words.push_back(scaled(fmt::format("b{}.json", i), 1 + 0.0011 * i));
    return ingest(words);
  };
  const Said one = compared(2, 1);
  CHECK(one.code == ExitCode::undecided);
  CHECK_THAT(one.out, Contains("time x 2.000: inconclusive") && Contains("an interval needs 6"));
  CHECK_THAT(one.out, Contains("startup 14.00 us") && Contains("startup 28.00 us") && Contains("270.00 GB/s"));
  CHECK(compared(1.02, 6).code == ExitCode::passed);
  const Said slower = compared(1.2, 6);
  CHECK(slower.code == ExitCode::failed);
  CHECK_THAT(slower.out, Contains("comparison: failed"));
}

TEST_CASE("a file that is not there or cut off is no evidence", "[cli]") {
  const TemporaryFolder folder;
  CHECK_THROWS_AS(ingest({(folder.path / "none.json").string()}), SpecError);
  const std::string half =
      written_file(folder.path / "half.json", read_file(sample("all_reduce_8_ranks")).substr(0, 900));
  CHECK_THROWS_AS(ingest({half}), SpecError);
}

}  // namespace
}  // namespace reprobench
