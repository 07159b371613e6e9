// The files of a resident's turns, and the pair that takes them.
#include "matrix/exec/resident.hpp"

#include <fstream>
#include <sstream>

#include "ci/catch.hpp"
#include "ci/thrown.hpp"
#include "matrix/contract/trace.hpp"
#include "matrix/contract/turns.hpp"
#include "matrix/exec/running_group.hpp"
#include "matrix/exec/sample_plan.hpp"
#include "matrix/record/run_directory.hpp"

namespace reprobench {
namespace {

using std::chrono::seconds;

CellRequest resident_request(int world_size) {
  CellRequest request = sample_cell("aaa", "stack-a").request;
  request.nonce = "0011";
  request.world_size = world_size;
  request.workload.steps = 7;
  request.turn_steps = 3;  // blocks of 3, 3 and 1 steps
  return request;
}

// An attempt's folder with that of each rank, whose trace a test writes.
struct ResidentFolder {
  explicit ResidentFolder(int world_size = 1) {
    for (int rank = 0; rank < world_size; ++rank) {
      std::filesystem::create_directories(attempt.path / rank_folder_name(rank));
    }
  }
  void add(int rank, const std::string& text) const {
    std::ofstream(attempt.path / rank_folder_name(rank) / "trace.jsonl", std::ios::app) << text;
  }
  std::string turns_of(int rank) const {
    std::ifstream file(attempt.path / rank_folder_name(rank) / "turns.jsonl");
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }
  TemporaryFolder attempt;
};

std::string step_line(int step) { return "{\"kind\":\"step\",\"step\":" + std::to_string(step) + "}\n"; }

TEST_CASE("every rank is told of every turn in lines that count up", "[exec][ranks]") {
  const ResidentFolder folder(2);
  const CellRequest request = resident_request(2);
  Resident resident(request, folder.attempt.path);
  resident.give_turn(0);
  resident.give_turn(1);
  for (int rank = 0; rank < 2; ++rank) {
    const auto file = folder.attempt.path / rank_folder_name(rank) / "turns.jsonl";
    CHECK((std::filesystem::status(file).permissions() & std::filesystem::perms::mask) ==
          (std::filesystem::perms::owner_read | std::filesystem::perms::owner_write));
    CellRequest of_rank = request;
    of_rank.rank = rank;
    CHECK(folder.turns_of(rank) == trace_line(turns_header(of_rank), 0) + trace_line(to_json(Turn{0, 1, 3}), 1) +
                                       trace_line(to_json(Turn{1, 4, 6}), 2));
  }
}

TEST_CASE("a resident is ready once every rank has a whole line in its trace", "[exec][ranks]") {
  const ResidentFolder folder(2);
  Resident resident(resident_request(2), folder.attempt.path);
  CHECK_FALSE(resident.is_ready());
  folder.add(0, "{\"kind\":\"header\"}\n");
  CHECK_FALSE(resident.is_ready());
  folder.add(1, "{\"kind\":\"hea");
  CHECK_FALSE(resident.is_ready());
  folder.add(1, "der\"}\n");
  CHECK(resident.is_ready());
}

TEST_CASE("a turn is done once every rank has its last step on record, a whole line", "[exec][ranks]") {
  const ResidentFolder folder(2);
  Resident resident(resident_request(2), folder.attempt.path);
  resident.give_turn(0);
  CHECK_FALSE(resident.has_done_its_turn());
  folder.add(0, "{\"kind\":\"header\"}\n" + step_line(1) + step_line(2) + step_line(3));
  folder.add(1, "{\"kind\":\"header\"}\n" + step_line(1) + step_line(2));
  CHECK_FALSE(resident.has_done_its_turn());
  folder.add(1, "{\"kind\":\"step\",\"step\":");
  CHECK_FALSE(resident.has_done_its_turn());
  folder.add(1, "3}\n");
  CHECK(resident.has_done_its_turn());
  resident.give_turn(1);
  CHECK_FALSE(resident.has_done_its_turn());
  for (int rank = 0; rank < 2; ++rank) folder.add(rank, step_line(4) + step_line(5) + step_line(6));
  CHECK(resident.has_done_its_turn());
  resident.give_turn(2);  // of one step
  for (int rank = 0; rank < 2; ++rank) folder.add(rank, step_line(7));
  CHECK(resident.has_done_its_turn());
}

TEST_CASE("a line that is no step, or whose step is no number, moves nothing on", "[exec][ranks]") {
  const ResidentFolder folder;
  Resident resident(resident_request(1), folder.attempt.path);
  resident.give_turn(0);
  folder.add(0, "{\"kind\":\"tensors\",\"step\":3}\n");
  folder.add(0, "{\"kind\":\"step\",\"step\":\"3\"}\n[\"kind\":\"step\"\n{\"kind\":\"step\"}\n");
  folder.add(0, "\"kind\":\"step\"\n");
  CHECK_FALSE(resident.has_done_its_turn());
  folder.add(0, step_line(3));
  CHECK(resident.has_done_its_turn());
}

TEST_CASE("a trace of many lines is read in pieces, to its end", "[exec][ranks]") {
  const ResidentFolder folder;
  Resident resident(resident_request(1), folder.attempt.path);
  resident.give_turn(0);
  std::string text;
  while (text.size() < 100'000) text += "{\"kind\":\"tensors\",\"pad\":\"" + std::string(300, 'x') + "\"}\n";
  folder.add(0, text + step_line(3));
  CHECK(resident.has_done_its_turn());
}

TEST_CASE("turns that cannot be written are the store's failure", "[exec][ranks]") {
  const ResidentFolder folder;
  std::ofstream(folder.attempt.path / "rank-0" / "turns.jsonl") << "of somebody else";
  CHECK(message_of<StoreError>([&] { Resident(resident_request(1), folder.attempt.path); }) ==
        "cannot write " + (folder.attempt.path / "rank-0" / "turns.jsonl").string() + ": File exists");
}

// Two attempts of three blocks each, whose steps a test writes.
struct ResidentPair {
  ResidentPair() {
    for (std::size_t member = 0; member < 2; ++member) {
      const CellRequest request = resident_request(1);
      RunningAttempt attempt{{},
                             request,
                             "",
                             static_cast<AttemptHandle>(member),
                             AttemptWatch(TimeLimits{}, 1, seconds(0)),
                             nullptr,
                             std::make_unique<Resident>(request, folders[member].attempt.path),
                             member,
                             1};
      attempt.watch.started(0, seconds(0));
      group.attempts.push_back(std::move(attempt));
    }
    group.order = TurnOrder({3, 3});
  }
  void does(std::size_t member, int first, int last) {
    std::string lines = first == 1 ? "{\"kind\":\"header\"}\n" : "";
    for (int step = first; step <= last; ++step) lines += step_line(step);
    folders[member].add(0, lines);
  }
  // Who has the turn after another look: "B1", or "nobody".
  std::string turn() {
    pass_turns(group, seconds(1));
    if (!group.turn) return "nobody";
    return static_cast<char>('A' + group.turn->member) + std::to_string(group.turn->block);
  }
  bool rests(std::size_t member) const { return group.attempts[member].watch.is_paused(); }

  ResidentFolder folders[2];
  RunningGroup group;
};

TEST_CASE("turns begin once both have loaded, and whoever waits rests", "[exec][ranks]") {
  ResidentPair pair;
  CHECK(pair.turn() == "nobody");
  pair.does(1, 1, 0);
  CHECK(pair.turn() == "nobody");
  CHECK(pair.rests(1));
  CHECK_FALSE(pair.rests(0));
  pair.does(0, 1, 0);
  CHECK(pair.turn() == "A0");
  CHECK_FALSE(pair.rests(0));
  CHECK(pair.rests(1));
  CHECK(pair.turn() == "A0");
  pair.folders[0].add(0, step_line(1) + step_line(2) + step_line(3));
  CHECK(pair.turn() == "B0");
  CHECK(pair.rests(0));
  CHECK_FALSE(pair.rests(1));
  CHECK(pair.folders[1].turns_of(0).find("\"block\":0") != std::string::npos);
  CHECK(pair.folders[1].turns_of(0).find("\"block\":1") == std::string::npos);
}

TEST_CASE("whoever has its last turn may end undisturbed before the other goes on", "[exec][ranks]") {
  ResidentPair pair;
  pair.does(0, 1, 0);
  pair.does(1, 1, 0);
  CHECK(pair.turn() == "A0");
  pair.folders[0].add(0, step_line(3));
  CHECK(pair.turn() == "B0");
  pair.folders[1].add(0, step_line(3));
  CHECK(pair.turn() == "B1");
  pair.folders[1].add(0, step_line(6));
  CHECK(pair.turn() == "A1");
  pair.folders[0].add(0, step_line(6));
  CHECK(pair.turn() == "A2");
  pair.folders[0].add(0, step_line(7));
  CHECK(pair.turn() == "A2");  // its process has not ended
  CHECK_FALSE(pair.rests(0));
  pair.group.attempts.erase(pair.group.attempts.begin());
  CHECK(pair.turn() == "B2");
  CHECK_FALSE(pair.rests(0));  // B, which is the first now
}

TEST_CASE("a resident that is being stopped is passed over", "[exec][ranks]") {
  ResidentPair pair;
  pair.does(0, 1, 0);
  pair.does(1, 1, 0);
  CHECK(pair.turn() == "A0");
  pair.group.attempts[1].watch.stop(AttemptEnd::hang, "", seconds(1), 0);
  pair.folders[0].add(0, step_line(3));
  CHECK(pair.turn() == "A1");
  CHECK(pair.folders[1].turns_of(0).find("\"kind\":\"turn\"") == std::string::npos);
}

TEST_CASE("attempts without turns are given none", "[exec][ranks]") {
  ResidentPair pair;
  for (RunningAttempt& attempt : pair.group.attempts) attempt.resident.reset();
  CHECK_FALSE(pair.group.takes_turns());
  CHECK(pair.turn() == "nobody");
  pair.group.attempts.clear();
  CHECK(pair.turn() == "nobody");
}

}  // namespace
}  // namespace reprobench
