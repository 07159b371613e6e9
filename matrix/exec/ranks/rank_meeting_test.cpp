// Rank 0 and those who come to it, all in this process: a rank is the end of a connection.
#include "matrix/exec/ranks/rank_meeting.hpp"

#include <atomic>
#include <map>
#include <thread>
#include <utility>

#include "ci/catch.hpp"
#include "matrix/base/usage_error.hpp"
#include "matrix/contract/version.hpp"
#include "matrix/exec/ranks/joined_launcher.hpp"

namespace reprobench {
namespace {

using std::chrono::milliseconds;

OuterRank rank_0(int ranks) {
  OuterRank self;
  self.launch = "rank_meeting_test " + std::to_string(getpid());
  self.ranks = ranks;
  return self;
}

RankChannel come(const OuterRank& launch, int rank) {
  auto channel = connect_to_rank_0(launch.launch);
  REQUIRE(channel);
  RankMessage join{RankMessageKind::join};
  join.version = kProjectVersion;
  join.rank = rank;
  join.ranks = launch.ranks;
  channel->send(join);
  return std::move(*channel);
}

// What a rank was told last; nothing if the connection ended without a word.
std::optional<RankMessage> told(RankChannel& channel) {
  for (int tries = 0; tries < 500 && channel.is_open(); ++tries) {
    if (auto message = channel.receive()) return message;
    std::this_thread::sleep_for(milliseconds(10));
  }
  return std::nullopt;
}

TEST_CASE("a rank that stands in the door when the meeting ends is told why", "[exec][join]") {
  const OuterRank self = rank_0(4);
  RankMeeting meeting(self);
  RankChannel first = come(self, 1);
  RankChannel again = come(self, 1);
  CHECK_THROWS_WITH(meeting.gather(milliseconds(300)), Catch::Contains("rank 1 is there twice"));
  RankChannel in_the_door = come(self, 3);
  meeting.finish(ExitCode::usage, "told by the test");
  for (RankChannel* channel : {&first, &in_the_door}) {
    const auto message = told(*channel);
    REQUIRE(message);
    CHECK(message->kind == RankMessageKind::finish);
    CHECK(message->exit_code == 2);
    CHECK(message->text == "told by the test");
  }
  CHECK_FALSE(connect_to_rank_0(self.launch));
}

TEST_CASE("a rank that comes a moment after another's mistake is told of it", "[exec][join]") {
  const OuterRank self = rank_0(3);
  RankMeeting meeting(self);
  RankChannel first = come(self, 1);
  RankChannel again = come(self, 1);
  CHECK_THROWS_AS(meeting.gather(milliseconds(20'000)), UsageError);
  std::optional<RankMessage> message;
  std::thread late([&] {
    std::this_thread::sleep_for(milliseconds(200));
    RankChannel channel = come(self, 2);
    message = told(channel);
  });
  const auto began = std::chrono::steady_clock::now();
  meeting.finish(ExitCode::usage, "told by the test");
  late.join();
  REQUIRE(message);
  CHECK(message->text == "told by the test");
  // All have come, so nobody waits for the rest of the patience.
  CHECK(std::chrono::steady_clock::now() - began < milliseconds(9'000));
}

TEST_CASE("a rank that comes when the patience is over is told at once whom the launch lacks", "[exec][join]") {
  const OuterRank self = rank_0(3);
  RankMeeting meeting(self);
  CHECK_THROWS_WITH(meeting.gather(milliseconds(1)), Catch::Contains("did not come within 0.001 s: 1, 2"));
  RankChannel too_late = come(self, 2);
  const auto began = std::chrono::steady_clock::now();
  meeting.finish(ExitCode::usage, "told by the test");
  CHECK(std::chrono::steady_clock::now() - began < milliseconds(5'000));
  const auto message = told(too_late);
  REQUIRE(message);
  CHECK(message->text == "told by the test");
}

TEST_CASE("who comes once all are there leaves with a usage error, not with the run's exit code", "[exec][join]") {
  const OuterRank self = rank_0(2);
  RankMeeting meeting(self);
  RankChannel first = come(self, 1);
  meeting.gather(milliseconds(20'000));
  RankChannel latecomer = come(self, 1);
  meeting.finish(ExitCode::passed, "");
  const auto message = told(latecomer);
  REQUIRE(message);
  CHECK(message->exit_code == 2);
  CHECK(message->text == "--join: all ranks of this launch are there already");
  const auto end = told(first);
  REQUIRE(end);
  CHECK(end->exit_code == 0);
}

// Whatever is started ends at once, with these kills.
class EndsAtOnce : public Launcher {
 public:
  explicit EndsAtOnce(MemoryKills kills) : kills_(kills) {}

  AttemptHandle start(const LaunchRequest& request) override {
    LaunchEvent event{++last_, request.ranks.front().request.rank, LaunchEvent::Kind::ended};
    event.memory_kills = kills_;
    events_.push_back(event);
    return last_;
  }
  void stop(AttemptHandle, StopSignal) override {}
  std::vector<LaunchEvent> wait(milliseconds) override { return std::exchange(events_, {}); }

 private:
  MemoryKills kills_;
  AttemptHandle last_ = 0;
  std::vector<LaunchEvent> events_;
};

TEST_CASE("#41: a rank of another process says what the kernel killed for memory while it ran", "[exec][join]") {
  const OuterRank self = rank_0(2);
  RankMeeting meeting(self);
  const std::atomic<int> interrupts = 0;
  std::thread rank_1([&] {
    OuterRank other = self;
    other.rank = 1;
    EndsAtOnce own({2, true});
    serve_rank(other, own, milliseconds(20'000), interrupts);
  });
  meeting.gather(milliseconds(20'000));
  EndsAtOnce own({1, false});
  JoinedLauncher launcher(own, meeting);
  LaunchRequest request;
  request.ranks.resize(2);
  request.ranks[1].request.rank = 1;
  launcher.start(request);
  std::map<int, MemoryKills> kills;
  for (int tries = 0; tries < 1000 && kills.size() < 2; ++tries) {
    for (const LaunchEvent& event : launcher.wait(milliseconds(20))) kills[event.rank] = event.memory_kills;
  }
  meeting.finish(ExitCode::passed, "");
  rank_1.join();
  REQUIRE(kills.size() == 2);
  CHECK(kills[0].count == 1);
  CHECK_FALSE(kills[0].of_host);
  CHECK(kills[1].count == 2);
  CHECK(kills[1].of_host);
}

}  // namespace
}  // namespace reprobench
