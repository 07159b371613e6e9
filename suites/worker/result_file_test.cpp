#include "suites/worker/result_file.hpp"

#include <fstream>
#include <iterator>
#include <system_error>

#include "ci/catch.hpp"
#include "suites/worker/record/trace_writer.hpp"
#include "suites/worker/temporary_folder.hpp"

namespace reprobench {
namespace {

TEST_CASE("a result reads back and leaves no temporary file", "[worker]") {
  const TemporaryFolder folder;
  CellResult result;
  result.cell_id = "mlp-0001";
  result.nonce = "0123456789abcdef";
  result.failure = WorkerFailure{"exception", "bad bytes \xff in a message", 3};
  write_result(folder.path() / "result.json", result);
  std::ifstream file(folder.path() / "result.json");
  const CellResult read = result_from_json(nlohmann::json::parse(file));
  CHECK(read.cell_id == "mlp-0001");
  REQUIRE(read.failure);
  CHECK(read.failure->step == 3);
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 1);
}

TEST_CASE("a folder that is not there is an error that names the file", "[worker]") {
  const TemporaryFolder folder;
  CHECK_THROWS_AS(write_result(folder.path() / "no" / "result.json", {}), std::system_error);
  CHECK_THROWS_AS(TraceWriter(folder.path() / "no" / "trace.jsonl"), std::system_error);
}

TEST_CASE("the trace numbers its lines and starts a file anew", "[worker]") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "trace.jsonl";
  std::ofstream(path) << "left over\n";
  {
    TraceWriter trace(path);
    trace.add(to_json(TraceHeader{"c", "n", std::string(32, '0'), TraceLevel::step}));
    trace.add(StepMeasurement{});
    trace.write();
    CHECK(trace.lines() == 2);
  }
  std::ifstream file(path);
  std::string line;
  for (std::int64_t seq = 0; seq < 2; ++seq) {
    REQUIRE(std::getline(file, line));
    CHECK(parse_trace_line(line, seq).index() == 0);
  }
  CHECK_FALSE(std::getline(file, line));
}

}  // namespace
}  // namespace reprobench
