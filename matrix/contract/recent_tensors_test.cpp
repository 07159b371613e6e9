#include "matrix/contract/recent_tensors.hpp"

#include <fstream>
#include <system_error>

#include <stdlib.h>

#include "ci/catch.hpp"
#include "ci/temporary.hpp"

namespace reprobench {
namespace {

namespace fs = std::filesystem;

struct Folder : TemporaryFolder {
  // The steps of a segment's lines, its header as 0.
  std::vector<std::int64_t> steps(std::size_t segment) const {
    std::vector<std::int64_t> steps;
    std::ifstream file(path / kRecentSegments.at(segment));
    for (std::string line; std::getline(file, line);) {
      const auto parsed = parse_trace_line(line, std::ssize(steps));
      REQUIRE(parsed.index() == 0);
      const auto& body = std::get<nlohmann::json>(parsed);
      CHECK(body.at("kind") == (steps.empty() ? "header" : "tensors"));
      steps.push_back(body.value("step", 0));
    }
    return steps;
  }
};

nlohmann::json header() { return to_json(TraceHeader{"c", "n", std::string(32, '0'), TraceLevel::recent}); }

void add_steps(RecentTensors& recent, std::int64_t first, std::int64_t last) {
  for (std::int64_t step = first; step <= last; ++step) recent.add({step, false, {}});
}

TEST_CASE("log-spaced steps are 1, 2 and 5 of every decade", "[contract]") {
  std::vector<std::int64_t> found;
  for (std::int64_t step = 0; step <= 1000; ++step) {
    if (is_log_spaced(step)) found.push_back(step);
  }
  CHECK(found == std::vector<std::int64_t>{1, 2, 5, 10, 20, 50, 100, 200, 500, 1000});
}

TEST_CASE("what a trace must have of a step's tensors depends on its level", "[contract]") {
  CHECK(keeps_tensors(TraceLevel::tensor, 30, 1000));
  CHECK_FALSE(keeps_tensors(TraceLevel::step, 1000, 1000));
  CHECK(keeps_tensors(TraceLevel::recent, 937, 1000));
  CHECK_FALSE(keeps_tensors(TraceLevel::recent, 936, 1000));
  CHECK(keeps_tensors(TraceLevel::recent, 500, 1000));
}

TEST_CASE("steps that are waiting go to the segment in hand, then to the next", "[contract]") {
  const Folder folder;
  RecentTensors recent(folder.path, header());
  add_steps(recent, 1, 60);
  recent.write();
  add_steps(recent, 61, 70);
  recent.write();
  CHECK(folder.steps(0).size() == 65);
  CHECK(folder.steps(1) == std::vector<std::int64_t>{0, 65, 66, 67, 68, 69, 70});
  CHECK_FALSE(fs::exists(folder.path / kRecentSegments[2]));
}

TEST_CASE("of more waiting steps than are kept the oldest are never written", "[contract]") {
  const Folder folder;
  RecentTensors recent(folder.path, header());
  add_steps(recent, 1, 3);
  recent.write();
  add_steps(recent, 4, 500);
  recent.write();
  CHECK(folder.steps(0) == std::vector<std::int64_t>{0, 1, 2, 3});
  CHECK(folder.steps(1).size() == 65);
  CHECK(folder.steps(1).at(1) == 437);
  CHECK(folder.steps(1).back() == 500);
}

TEST_CASE("three segments are written in turn and hold no more, however long a training is", "[contract]") {
  const Folder folder;
  RecentTensors recent(folder.path, header());
  for (std::int64_t step = 1; step <= 1000; ++step) {
    add_steps(recent, step, step);
    recent.write();
  }
  CHECK(std::distance(fs::directory_iterator(folder.path), {}) == 3);
  CHECK(folder.steps(0).at(1) == 961);  // the sixteenth segment
  CHECK(folder.steps(0).back() == 1000);
  CHECK(folder.steps(2).back() == 960);
  CHECK(folder.steps(1).back() == 896);
  recent.write();  // nothing is waiting
  CHECK(folder.steps(0).back() == 1000);
}

TEST_CASE("a training begins without the segments of another", "[contract]") {
  const Folder folder;
  std::ofstream(folder.path / kRecentSegments[1]) << "left over\n";
  RecentTensors recent(folder.path, header());
  CHECK(fs::is_empty(folder.path));
  recent.write();
  CHECK(fs::is_empty(folder.path));
}

TEST_CASE("a segment that cannot be written is an error that names it", "[contract]") {
  const Folder folder;
  RecentTensors recent(folder.path / "no", header());
  add_steps(recent, 1, 1);
  CHECK_THROWS_AS(recent.write(), std::system_error);
}

}  // namespace
}  // namespace reprobench
