// What `ingest` returns to the shell and shows.
#include "matrix/cli/verb_fixture.hpp"

namespace reprobench {
namespace {

using Catch::Contains;

std::string sample(const std::string& name) {
  return (std::filesystem::path(REPROBENCH_SOURCE_ROOT) / "matrix/inquiry/testdata" / (name + ".json")).string();
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

TEST_CASE("a file that is not there or cut off is no evidence", "[cli]") {
  const TemporaryFolder folder;
  CHECK_THROWS_AS(ingest({(folder.path / "none.json").string()}), SpecError);
  const std::string half =
      written_file(folder.path / "half.json", read_file(sample("all_reduce_8_ranks")).substr(0, 900));
  CHECK_THROWS_AS(ingest({half}), SpecError);
}

}  // namespace
}  // namespace reprobench
