#include "matrix/contract/replay.hpp"

#include "ci/catch.hpp"
#include "matrix/contract/document/reader.hpp"
#include "matrix/contract/state_cadence.hpp"

namespace reprobench {
namespace {

Replay full_replay() {
  Replay replay;
  replay.from_state = "/store/state-3.safetensors";
  replay.first_step = 4;
  replay.last_step = 9;
  replay.snapshots_after = {3, 9};
  replay.operators_from = 5;
  replay.operators_to = 6;
  replay.capture = OperatorSite{6, 17};
  replay.further_captures = {{6, 21, {19, 20}}};
  replay.hold_state = true;
  replay.keep_values = KeptValues{5, {std::string(32, 'a'), std::string(32, 'b')}};
  replay.substituted_inputs = SubstitutedInputs{"/store/values.safetensors", 6, {{7, {std::string(32, 'c'), ""}}}};
  return replay;
}

TEST_CASE("a replay comes back as it was asked for", "[replay]") {
  const Replay back = read_document<Replay>(written(full_replay()));
  CHECK(back.from_state == "/store/state-3.safetensors");
  CHECK(back.first_step == 4);
  CHECK(back.last_step == 9);
  CHECK(back.snapshots_after == std::vector<std::int64_t>{3, 9});
  CHECK(back.operators_from == 5);
  CHECK(back.operators_to == 6);
  CHECK(back.capture->step == 6);
  CHECK(back.capture->index == 17);
  REQUIRE(back.further_captures.size() == 1);
  CHECK(back.further_captures[0].index == 21);
  CHECK(back.further_captures[0].subgraph == std::vector<std::int64_t>{19, 20});
  CHECK(back.hold_state);
  CHECK(back.keep_values->step == 5);
  CHECK(back.keep_values->digests == std::vector{std::string(32, 'a'), std::string(32, 'b')});
  CHECK(back.substituted_inputs->file == "/store/values.safetensors");
  CHECK(back.substituted_inputs->step == 6);
  REQUIRE(back.substituted_inputs->calls.size() == 1);
  CHECK(back.substituted_inputs->calls[0].index == 7);
  CHECK(back.substituted_inputs->calls[0].digests == std::vector{std::string(32, 'c'), std::string()});
  CHECK(back.captures().size() == 2);
  CHECK(back.captures()[1].index == 21);
  Replay plain;
  plain.last_step = 1;
  CHECK_FALSE(read_document<Replay>(written(plain)).capture);
  CHECK_FALSE(read_document<Replay>(written(plain)).substituted_inputs);
  CHECK(plain.captures().empty());
}

TEST_CASE("a replay without steps or with a field missing is refused", "[replay]") {
  nlohmann::json json = written(full_replay());
  SECTION("no first step") { json["first_step"] = 0; }
  SECTION("ends before it begins") { json["last_step"] = 3; }
  SECTION("no capture") { json.erase("capture"); }
  SECTION("further captures without a first one") { json["capture"] = nullptr; }
  SECTION("half a capture") { json["capture"].erase("index"); }
  SECTION("values kept before the steps with operators") { json["keep_values"]["step"] = 4; }
  SECTION("values kept behind them") { json["keep_values"]["step"] = 7; }
  SECTION("values given before the steps with operators") { json["substituted_inputs"]["step"] = 4; }
  SECTION("values given behind them") { json["substituted_inputs"]["step"] = 7; }
  SECTION("a digest that is none") { json["substituted_inputs"]["calls"][0]["digests"][0] = "abc"; }
  SECTION("values of no file") { json["substituted_inputs"]["file"] = ""; }
  CHECK_THROWS_AS(read_document<Replay>(json), ContractError);
}

TEST_CASE("every capture has a file of its own", "[replay]") {
  CHECK(operator_tensors_file(0) == kOperatorTensorsFile);
  CHECK(operator_tensors_file(1) == "operator-1.safetensors");
  CHECK(operator_tensors_file(12) == "operator-12.safetensors");
}

TEST_CASE("one step is a replay", "[replay]") {
  nlohmann::json json = written(full_replay());
  json["last_step"] = 4;
  CHECK_NOTHROW(read_document<Replay>(json));
}

TEST_CASE("what shows where the state is digested may have arisen since it was digested last", "[replay]") {
  CHECK(first_step_unseen(1) == 1);
  CHECK(first_step_unseen(kStateEvery) == 1);
  CHECK(first_step_unseen(kStateEvery + 1) == kStateEvery + 1);
  CHECK(digests_state(kStateEvery));
  CHECK_FALSE(digests_state(kStateEvery + 1));
}

}  // namespace
}  // namespace reprobench
