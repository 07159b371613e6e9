#include "matrix/record/packed_list.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "ci/catch.hpp"
#include "matrix/base/number.hpp"
#include "matrix/contract/document/schema.hpp"
#include "matrix/record/packed_records.hpp"

namespace reprobench {
namespace {

StepRecord step_of(std::int64_t number) {
  StepRecord step;
  step.step = number;
  step.loss = exact_float(2.5f / static_cast<float>(number));
  if (number % 3 != 0) step.grad_norm = exact_float(1.0 / static_cast<double>(number));
  step.learning_rate = 1e-3;
  if (number % 5 == 0) step.loss_scale = 65536.0 * static_cast<double>(number);
  step.samples = 32;
  step.step_time_ns = 99'000 + number * 37 % 1000;
  step.phases = {9'000, 29'000, 39'000, 19'000, number % 2, {}, 5, number};
  step.rss_bytes = number % 7 == 0 ? std::int64_t{20'000'000} + number : -1;
  step.root = hex64(static_cast<std::uint64_t>(number) * 0x9e3779b97f4a7c15) + "00ff00ff00ff00ff";
  step.chain = hex64(~static_cast<std::uint64_t>(number)) + hex64(static_cast<std::uint64_t>(number) << 40);
  step.events = {{"relu_active", 800 + number}, {"skipped", number % 2}};
  step.ended_ns = number * 100'000;
  return step;
}

TensorsRecord tensors_of(std::int64_t step, bool is_final = false) {
  TensorsRecord record{step, is_final, {}};
  for (int i = 0; i < 100; ++i) {
    TensorRecord tensor{
        "h." + std::to_string(i) + ".attn.weight", TensorRole::parameter, "float32", {64, 64 + i}, "", {}};
    tensor.digest = hex64(static_cast<std::uint64_t>(step * 100 + i) * 0x9e3779b97f4a7c15) + "00ff00ff00ff00ff";
    record.tensors.push_back(tensor);
  }
  if (step % 10 != 0) return record;
  for (TensorRecord& tensor : record.tensors) {
    tensor.sketch = TensorSketch{1, step, -0.0, 2.5, std::numeric_limits<double>::quiet_NaN(), 1.0 / 3, {}};
    tensor.sketch->signed_sums[63] = static_cast<double>(step);
  }
  return record;
}

template <class Record>
std::string text_of(const Record& record) {
  return to_json(record).dump();
}

template <class Record>
std::vector<Record> packed_and_unpacked(const std::vector<Record>& records) {
  return unpacked<Record>(packed(std::span<const Record>(records)));
}

TEST_CASE("steps are packed without loss, in a tenth of their memory", "[record]") {
  std::vector<StepRecord> steps;
  for (std::int64_t i = 1; i <= 1000; ++i) steps.push_back(step_of(i));
  const std::string bytes = packed(std::span<const StepRecord>(steps));
  CHECK(bytes.size() < 130 * steps.size());
  const auto again = unpacked<StepRecord>(bytes);
  REQUIRE(again.size() == steps.size());
  for (std::size_t i = 0; i < steps.size(); ++i) CHECK(text_of(again[i]) == text_of(steps[i]));
}

// The fields of a step are listed once more where they are packed, so one that is added there too late must be seen
// here.
TEST_CASE("every field that a step's description has is packed", "[record]") {
  StepRecord step = step_of(1);
  step.loss_scale = 4.0;
  step.phases = {1, 2, 3, 4, 5, 6, 7, 8};
  step.rss_bytes = 9;
  step.anonymous_bytes = 10;
  step.allocated_bytes = 11;
  step.block = 12;
  const nlohmann::json whole = to_json(step);
  const nlohmann::json nothing = to_json(StepRecord());
  const auto definitions = lines_schema<StepRecord>("a step").at("definitions");
  const auto are_all_set = [&](const char* part, const nlohmann::json& content, const nlohmann::json& unset) {
    for (const auto& [key, schema] : definitions.at(part).at("properties").items()) {
      CAPTURE(part, key);
      if (key == "kind" || key == "seq" || key == "crc32c") continue;  // of the line
      REQUIRE(content.contains(key));
      CHECK((!unset.contains(key) || unset.at(key) != content.at(key)));
    }
  };
  are_all_set("step", whole, nothing);
  are_all_set("phases", whole.at("phases"), nothing.at("phases"));
  CHECK(to_json(packed_and_unpacked(std::vector{step}).at(0)) == whole);
}

TEST_CASE("what no worker of ours writes is packed without loss too", "[record]") {
  const auto change = GENERATE(values<void (*)(StepRecord&)>({
      [](StepRecord& step) { step.loss = exact_float(std::numeric_limits<float>::quiet_NaN()); },
      [](StepRecord& step) { step.loss = exact_float(-0.0); },
      [](StepRecord& step) { step.grad_norm = exact_float(-std::numeric_limits<double>::infinity()); },
      [](StepRecord& step) {
        step.loss = {{"bits", "7fc01234"}, {"value", "nan"}};
      },
      [](StepRecord& step) {
        step.loss = {{"bits", "3f800000"}, {"value", 2.0}};
      },
      [](StepRecord& step) { step.loss = "text"; },
      [](StepRecord& step) { step.root = "0123456789ABCDEF0123456789abcdef"; },
      [](StepRecord& step) { step.chain = ""; },
      [](StepRecord& step) {
        step.events = {{"relu_active", 1.5}, {"skipped", nullptr}};
      },
      [](StepRecord& step) {
        step.events = {{"relu_active", std::numeric_limits<std::uint64_t>::max()}, {"skipped", -1}};
      },
      [](StepRecord& step) {
        step.events = nlohmann::json::array({1, 2});
      },
      [](StepRecord& step) { step.events = nlohmann::json::object(); },
      [](StepRecord& step) { step.step_time_ns = std::numeric_limits<std::int64_t>::min(); },
      [](StepRecord& step) { step.samples = std::numeric_limits<std::int64_t>::max(); },
      [](StepRecord& step) { step.learning_rate = std::numeric_limits<double>::quiet_NaN(); },
  }));
  std::vector<StepRecord> steps = {step_of(1), step_of(2), step_of(3)};
  change(steps[1]);
  const auto again = packed_and_unpacked(steps);
  REQUIRE(again.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(again[i].loss == steps[i].loss);
    CHECK(again[i].events == steps[i].events);
    CHECK(text_of(again[i]) == text_of(steps[i]));
  }
}

const auto kMany = static_cast<std::int64_t>(20 * StepList::kRecordsPerChunk + 5);

StepList many_steps() {
  StepList steps;
  for (std::int64_t i = 1; i <= kMany; ++i) steps.push_back(step_of(i));
  return steps;
}

TEST_CASE("a long list keeps few of its steps as values, and gives all of them as they were", "[record]") {
  const StepList steps = many_steps();
  const std::size_t kMostOpen = StepList::kOpenWeight + 2 * StepList::kRecordsPerChunk;
  REQUIRE(std::ssize(steps) == kMany);
  CHECK(steps.open_records() <= kMostOpen);
  std::int64_t next = 1;
  bool are_equal = true;
  for (const StepRecord& step : steps) are_equal = are_equal && text_of(step) == text_of(step_of(next++));
  CHECK(are_equal);
  CHECK(next == kMany + 1);
  for (const std::size_t i : {0u, 5000u, 1u, 20'000u, 12'345u, 5000u}) {
    CHECK(steps[i].step == static_cast<std::int64_t>(i) + 1);
  }
  CHECK(std::ranges::find(steps, 9'999, &StepRecord::step)->samples == 32);
  CHECK(std::ranges::find(steps, kMany + 1, &StepRecord::step) == steps.end());
  CHECK(steps.open_records() <= kMostOpen);
  CHECK_THROWS_AS(steps.at(steps.size()), std::out_of_range);
}

TEST_CASE("the first and the last step stay where they are while all others are read", "[record]") {
  const StepList steps = many_steps();
  const StepRecord& first = steps.front();
  const StepRecord& last = steps.back();
  std::int64_t sum = 0;
  for (const StepRecord& step : steps) sum += step.step;
  CHECK(sum == kMany * (kMany + 1) / 2);
  CHECK(first.step == 1);
  CHECK(last.step == kMany);
}

TEST_CASE("a changed step of a long list stays changed", "[record]") {
  StepList steps = many_steps();
  for (StepRecord& step : steps) step.samples = step.step;
  const StepList copy = steps;
  steps.erase(steps.begin() + 3, steps.begin() + 4000);
  CHECK(std::ssize(steps) == kMany - 3997);
  CHECK(steps[3].samples == 4001);
  steps.resize(7000);
  CHECK(steps.back().samples == 7000 + 3997);
  steps.pop_back();
  CHECK(steps.size() == 6999);
  steps.emplace_back().samples = 5;
  CHECK(steps.back().samples == 5);
  for (const StepRecord& step : copy) {
    if (step.samples != step.step) FAIL("step " << step.step);
  }
  steps.clear();
  CHECK(steps.empty());
}

TEST_CASE("tensors of steps are packed without loss, and a tensor takes 30 bytes a step", "[record]") {
  std::vector<TensorsRecord> records;
  for (std::int64_t step = 1; step < 10; ++step) records.push_back(tensors_of(step));
  CHECK(packed(std::span<const TensorsRecord>(records)).size() < 9 * 100 * 30);
  records.push_back(tensors_of(10));
  records.push_back(tensors_of(10, true));
  const auto change = GENERATE(values<void (*)(TensorsRecord&)>({
      [](TensorsRecord&) {},
      [](TensorsRecord& record) { record.tensors.clear(); },
      [](TensorsRecord& record) { record.tensors.resize(7); },
      [](TensorsRecord& record) { record.tensors.insert(record.tensors.begin(), TensorRecord{}); },
      [](TensorsRecord& record) { record.tensors[3].name = "of another\n"; },
      [](TensorsRecord& record) { record.tensors[3].role = TensorRole::scaler_state; },
      [](TensorsRecord& record) { record.tensors[3].dtype = ""; },
      [](TensorsRecord& record) { record.tensors[3].shape = {}; },
      [](TensorsRecord& record) {
        record.tensors[3].shape = {std::numeric_limits<std::int64_t>::max(), 0, 1};
      },
      [](TensorsRecord& record) { record.tensors[3].digest = "odd"; },
      [](TensorsRecord& record) {
        record.tensors[3].sketch = TensorSketch{0, 0, -std::numeric_limits<double>::infinity(), 0, 0, 0, {}};
      },
  }));
  change(records[4]);
  change(records[9]);
  const auto again = packed_and_unpacked(records);
  REQUIRE(again.size() == records.size());
  for (std::size_t i = 0; i < records.size(); ++i) CHECK(text_of(again[i]) == text_of(records[i]));
}

TEST_CASE("every field that a description of tensors has is packed", "[record]") {
  const TensorsRecord record = tensors_of(10, true);
  const auto definitions = lines_schema<TensorsRecord>("tensors").at("definitions");
  const nlohmann::json again = to_json(packed_and_unpacked(std::vector{record}).at(0));
  const nlohmann::json nothing = to_json(TensorsRecord{0, false, {TensorRecord{}}});
  const auto are_all_set = [&](const char* part, const nlohmann::json& content, const nlohmann::json& unset) {
    for (const auto& [key, schema] : definitions.at(part).at("properties").items()) {
      CAPTURE(part, key);
      if (key == "seq" || key == "crc32c") continue;  // of the line
      REQUIRE(content.contains(key));
      CHECK((!unset.contains(key) || unset.at(key) != content.at(key)));
    }
  };
  are_all_set("tensors", again, nothing);
  TensorRecord odd = record.tensors.front();
  odd.role = TensorRole::buffer;
  odd.sketch->sum = 4;
  odd.sketch->max = 5;
  odd.sketch->min = -3;
  const nlohmann::json tensor =
      to_json(packed_and_unpacked(std::vector{TensorsRecord{1, false, {odd}}}).at(0)).at("tensors").at(0);
  are_all_set("tensor", tensor, nothing.at("tensors").at(0));
  TensorRecord plain;
  plain.sketch = TensorSketch{};
  are_all_set("sketch", tensor.at("sketch"),
              to_json(TensorsRecord{1, false, {plain}}).at("tensors").at(0).at("sketch"));
}

TEST_CASE("a long list of tensors keeps few of its records as values, and a short one all", "[record]") {
  const auto list_of = [](std::int64_t count) {
    TensorsList list;
    for (std::int64_t step = 1; step <= count; ++step) list.push_back(tensors_of(step));
    return list;
  };
  const auto most = TensorsList::kOpenWeight / 101 + 2 * TensorsList::kRecordsPerChunk;  // each has 100 tensors
  TensorsList list = list_of(500);
  CHECK(list.open_records() <= most);
  list[77].tensors[5].digest = "changed";
  const TensorsList copy = list;
  for (std::int64_t step = 1; step <= 500; ++step) {
    const TensorsRecord& record = copy[static_cast<std::size_t>(step - 1)];
    if (step == 78) {
      CHECK(record.tensors[5].digest == "changed");
    } else if (text_of(record) != text_of(tensors_of(step))) {
      FAIL("step " << step);
    }
  }
  CHECK(copy.open_records() <= most);
  CHECK(list_of(150).open_records() == 150);
  TensorsList empty;
  for (std::int64_t step = 1; step <= 100'000; ++step) empty.push_back({step, false, {}});
  CHECK(empty.open_records() <= TensorsList::kOpenWeight + 2 * TensorsList::kRecordsPerChunk);
  empty.resize(50);
  for (std::int64_t step = 51; step <= 1000; ++step) empty.push_back({step, false, {}});
  std::int64_t sum = 0;
  for (const TensorsRecord& record : std::as_const(empty)) sum += record.step;
  CHECK(sum == 500'500);
  CHECK(empty.open_records() == 1000);  // what was cut off weighs no more
}

TEST_CASE("of records with very many tensors two chunks stay open, beside the first and the last", "[record]") {
  TensorsRecord large = tensors_of(1);
  while (large.tensors.size() < TensorsList::kOpenWeight) large.tensors.push_back(large.tensors.front());
  TensorsList list;
  for (int i = 0; i < 40; ++i) list.push_back(large);
  CHECK(list.open_records() == (2 + TensorsList::kOpenChunks) * TensorsList::kRecordsPerChunk);
  const TensorsRecord& one = std::as_const(list)[9];
  CHECK(std::as_const(list)[13].tensors.size() == large.tensors.size());
  CHECK(one.tensors.back().digest == large.tensors.back().digest);
}

}  // namespace
}  // namespace reprobench
