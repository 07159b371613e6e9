#include "matrix/contract/turn_wait.hpp"

#include <ctime>

#include "ci/catch.hpp"
#include "ci/temporary.hpp"
#include "matrix/contract/trace.hpp"
#include "matrix/contract/version.hpp"

namespace reprobench {
namespace {

// A worker of 25 steps in turns of 10, and the file of its turns.
struct TurnsScene {
  TurnsScene() {
    request.cell_id = "3f9c1e0a7b52";
    request.nonce = "0123456789abcdef";
    request.workload = {"mlp", "default", 25, 32};
    request.turn_steps = 10;
  }

  void append(const std::string& text) { std::ofstream(folder.path / "turns.jsonl", std::ios::app) << text; }
  void append_line(const nlohmann::json& body) { append(trace_line(body, lines++)); }
  void begin() { append_line(turns_header(request)); }
  void give(std::int64_t block) { append_line(to_json(turn_of(request, block))); }

  // Whether the step may be done now, as far as the file says.
  bool may_do(TurnWait& wait, std::int64_t step) {
    wait.until_allowed(step, [] { return true; });
    return !wait.must_wait(step);
  }

  CellRequest request;
  TemporaryFolder folder;
  std::int64_t lines = 0;
};

TEST_CASE("a worker may do the steps of the turns it was given, and no other", "[contract]") {
  TurnsScene scene;
  TurnWait wait(scene.request, scene.folder.path);
  CHECK_FALSE(scene.may_do(wait, 1));  // there is no file
  scene.begin();
  CHECK_FALSE(scene.may_do(wait, 1));
  scene.give(0);
  CHECK(scene.may_do(wait, 1));
  CHECK_FALSE(wait.must_wait(10));
  CHECK(wait.must_wait(11));
  CHECK_FALSE(scene.may_do(wait, 11));
  scene.give(1);
  scene.give(2);
  CHECK(scene.may_do(wait, 11));
  CHECK_FALSE(wait.must_wait(25));
}

TEST_CASE("a turn counts once its line is whole", "[contract]") {
  TurnsScene scene;
  TurnWait wait(scene.request, scene.folder.path);
  scene.begin();
  const std::string line = trace_line(to_json(turn_of(scene.request, 0)), 1);
  for (std::size_t cut = 0; cut < line.size(); ++cut) {
    CHECK_FALSE(scene.may_do(wait, 1));
    scene.append(line.substr(cut, 1));
  }
  CHECK(scene.may_do(wait, 1));
}

TEST_CASE("a worker waits until its turn comes, and knows how long", "[contract]") {
  TurnsScene scene;
  TurnWait wait(scene.request, scene.folder.path);
  scene.begin();
  int looks = 0;
  wait.until_allowed(1, [&] {
    if (++looks == 5) scene.give(0);
    return false;
  });
  CHECK(looks == 5);
  CHECK_FALSE(wait.must_wait(1));
  const TurnsWait waited = wait.waited();
  CHECK(waited.time_ns >= 5'000'000);  // it slept between the looks
  CHECK(waited.cpu_ns < waited.time_ns);
  wait.until_allowed(2, [] { return false; });
  CHECK(wait.waited().time_ns == waited.time_ns);
  CHECK(wait.waited().cpu_ns == waited.cpu_ns);
}

TEST_CASE("what a worker computes while it waits is counted", "[contract]") {
  TurnsScene scene;
  TurnWait wait(scene.request, scene.folder.path);
  scene.begin();
  wait.until_allowed(1, [] {
    const std::clock_t began = std::clock();
    while (std::clock() - began < CLOCKS_PER_SEC / 20) continue;
    return true;
  });
  CHECK(wait.waited().cpu_ns >= 45'000'000);
  CHECK(wait.waited().time_ns >= 45'000'000);
}

TEST_CASE("a worker that is asked to stop waits no longer", "[contract]") {
  TurnsScene scene;
  TurnWait wait(scene.request, scene.folder.path);
  scene.begin();
  int asked = 0;
  wait.until_allowed(1, [&] { return ++asked == 3; });
  CHECK(asked == 3);
  CHECK(wait.must_wait(1));
}

TEST_CASE("a worker without turns waits for nothing and reads no file", "[contract]") {
  TurnsScene scene;
  scene.request.turn_steps = 0;
  scene.append("no line of turns\n");
  TurnWait wait(scene.request, scene.folder.path);
  CHECK_FALSE(wait.must_wait(1));
  wait.until_allowed(1, [] { return false; });
  CHECK(wait.waited().time_ns == 0);
}

TEST_CASE("turns of another rank, other steps and damaged lines are refused", "[contract]") {
  TurnsScene scene;
  TurnWait wait(scene.request, scene.folder.path);
  SECTION("another rank") {
    CellRequest other = scene.request;
    other.rank = 1;
    scene.append_line(turns_header(other));
  }
  SECTION("a turn that is not the next") {
    scene.begin();
    scene.give(1);
  }
  SECTION("a line that was changed") {
    scene.begin();
    std::string line = trace_line(to_json(turn_of(scene.request, 0)), 1);
    line[line.find("10")] = '2';
    scene.append(line);
  }
  CHECK_THROWS_AS(scene.may_do(wait, 1), ContractError);
}

}  // namespace
}  // namespace reprobench
