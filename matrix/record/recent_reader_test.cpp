#include "matrix/record/recent_reader.hpp"

#include <algorithm>
#include <optional>

#include "ci/catch.hpp"
#include "matrix/contract/recent_tensors.hpp"
#include "matrix/record/plain_file.hpp"
#include "matrix/record/sample_attempt.hpp"

namespace reprobench {
namespace {

namespace fs = std::filesystem;

// A training of level `recent` as a worker writes it: its steps are done one by one, and written down now and then.
class RecentTraining {
 public:
  // `first` is another than 1 where a training goes on from a state.
  explicit RecentTraining(std::int64_t steps, std::int64_t first = 1) : steps_(steps), first_(first), done_(first - 1) {
    sample_.lines.front()["level"] = to_string(TraceLevel::recent);
    recent_.emplace(folder_.path, sample_.lines.front());
    lines_.push_back(sample_.lines.front());
  }

  static TensorsRecord tensors(std::int64_t step) {
    return {step, false, {{"w", TensorRole::parameter, "float32", {2}, std::string(32, 'c'), std::nullopt}}};
  }

  void do_steps(std::int64_t until) {
    for (; done_ < until; ++done_) {
      const std::int64_t step = done_ + 1;
      if (is_log_spaced(step) || step == steps_) {
        lines_.push_back(to_json(tensors(step)));
      } else {
        recent_->add(tensors(step));
      }
      nlohmann::json line = sample_.lines.at(1);
      line["step"] = step;
      lines_.push_back(line);
    }
  }
  void write_segments() { recent_->write(); }
  void write_trace() {
    std::string text;
    for (std::size_t i = 0; i < lines_.size(); ++i) text += trace_line(lines_[i], static_cast<std::int64_t>(i));
    std::ofstream(file(), std::ios::binary) << text;
  }
  void write() {
    write_segments();
    write_trace();
  }
  void finish() {
    do_steps(steps_);
    lines_.push_back(to_json(TensorsRecord{steps_, true, {}}));
    write();
  }

  Trace read() const { return read_trace(file(), sample_.request.cell_id, sample_.request.nonce, first_); }
  fs::path file() const { return folder_.path / "trace.jsonl"; }
  fs::path segment(std::size_t number) const { return folder_.path / kRecentSegments.at(number); }
  std::string text_of(std::size_t number) const {
    return std::get<std::string>(read_plain_file(segment(number), 1 << 20));
  }
  // A segment with these bodies, numbered and summed anew: as somebody would who knows how.
  void forge(std::size_t number, const std::vector<nlohmann::json>& bodies) const {
    std::ofstream file(segment(number), std::ios::binary);
    for (std::size_t i = 0; i < bodies.size(); ++i) file << trace_line(bodies[i], static_cast<std::int64_t>(i));
  }
  std::vector<nlohmann::json> bodies_of(std::size_t number) const {
    std::vector<nlohmann::json> bodies;
    read_checked_lines(segment(number), [&](const nlohmann::json& body) {
      bodies.push_back(body);
      return "";
    });
    return bodies;
  }

 private:
  std::int64_t steps_;
  std::int64_t first_;
  std::int64_t done_;
  TemporaryFolder folder_;
  SampleAttempt sample_;
  std::vector<nlohmann::json> lines_;
  std::optional<RecentTensors> recent_;
};

std::vector<std::int64_t> steps_on_record(const Trace& trace) {
  std::vector<std::int64_t> steps;
  for (const TensorsRecord& tensors : trace.tensors) {
    if (!tensors.is_final) steps.push_back(tensors.step);
  }
  return steps;
}

std::vector<std::int64_t> steps_due(std::int64_t last) {
  std::vector<std::int64_t> steps;
  for (std::int64_t step = 1; step <= last; ++step) {
    if (keeps_tensors(TraceLevel::recent, step, last)) steps.push_back(step);
  }
  return steps;
}

// 300 steps, written so that all three segments are there.
constexpr std::size_t kOldest = 0;  // 156 to 220, of which nothing is needed
constexpr std::size_t kFull = 1;    // 227 to 290
constexpr std::size_t kNewest = 2;  // 291 to 299

struct WholeTraining : RecentTraining {
  WholeTraining() : RecentTraining(300) {
    for (const std::int64_t until : {3, 60, 100, 150, 220, 290}) {
      do_steps(until);
      write();
    }
    finish();
  }
};

TEST_CASE("level `recent` keeps log-spaced steps and the last 64, however often they were written", "[record]") {
  const std::int64_t steps = GENERATE(1, 2, 64, 65, 66, 127, 128, 300, 1000);
  const std::int64_t stride = GENERATE(1, 7, 63, 64, 65, 500);
  RecentTraining training(steps);
  for (std::int64_t until = stride; until < steps; until += stride) {
    training.do_steps(until);
    training.write_segments();
  }
  training.finish();
  const Trace trace = training.read();
  CHECK(trace.problem.empty());
  CHECK(steps_on_record(trace) == steps_due(steps));
  REQUIRE_FALSE(trace.tensors.empty());
  CHECK(trace.tensors.back().is_final);
  for (std::size_t segment = 0; segment < kRecentSegments.size(); ++segment) {
    if (fs::exists(training.segment(segment))) CHECK(training.bodies_of(segment).size() <= 1 + kRecentSteps);
  }
}

TEST_CASE("a worker killed between its segments and its trace leaves the last 64 steps of that trace", "[record]") {
  const std::int64_t stride = GENERATE(5, 63, 64, 65, 100);
  const std::int64_t other_stride = GENERATE(31, 64, 65, 130);
  RecentTraining training(2000);
  std::int64_t written = 0;
  for (std::int64_t until = stride; until < 400; until += (until / stride) % 3 == 0 ? other_stride : stride) {
    training.do_steps(until);
    training.write_segments();
    if (written > 0) {
      const Trace killed = training.read();
      CAPTURE(written, until);
      REQUIRE(killed.recent_problem.empty());
      REQUIRE(steps_on_record(killed) == steps_due(written));
      REQUIRE_FALSE(killed.problem.empty());
    }
    training.write_trace();
    written = until;
  }
}

TEST_CASE("a segment cut where its worker was killed is no problem of a trace that ends there, too", "[record]") {
  RecentTraining training(2000);
  for (const std::int64_t until : {60, 90}) {
    training.do_steps(until);
    training.write();
  }
  const std::string before = training.text_of(1);
  training.do_steps(95);
  training.write_segments();
  const std::string after = training.text_of(1);
  REQUIRE(after.size() > before.size());
  for (std::size_t size = before.size(); size < after.size(); size += 13) {
    std::ofstream(training.segment(1), std::ios::binary) << after.substr(0, size);
    const Trace trace = training.read();
    REQUIRE(trace.recent_problem.empty());
    REQUIRE(steps_on_record(trace) == steps_due(90));
  }
  std::ofstream(training.segment(2), std::ios::binary) << "";  // begun, and nothing written
  CHECK(training.read().recent_problem.empty());
  std::ofstream(training.segment(1), std::ios::binary) << before.substr(0, before.size() - 20);
  const Trace trace = training.read();
  CHECK(trace.problem == "trace.jsonl: no final state after 97 complete lines");
  CHECK(trace.recent_problem == "trace.jsonl: the tensors of step 90 are on record nowhere");
  CHECK(trace.recent_tensors == 0);
}

TEST_CASE("a whole trace has whole segments of its own, and all that it needs", "[record]") {
  const WholeTraining training;
  REQUIRE(training.read().problem.empty());
  REQUIRE(training.bodies_of(kNewest).size() > 5);
  REQUIRE(training.bodies_of(kFull).size() == 1 + kRecentSteps);
  std::string expected;
  SECTION("one is missing") {
    fs::remove(training.segment(kFull));
    expected = "trace.jsonl: the tensors of step 237 are on record nowhere";
  }
  SECTION("one is empty") {
    std::ofstream(training.segment(kOldest), std::ios::binary | std::ios::trunc);
    expected = "recent-0.jsonl: empty";
  }
  SECTION("one is cut within a line") {
    const std::string text = training.text_of(kNewest);
    std::ofstream(training.segment(kNewest), std::ios::binary) << text.substr(0, text.size() - 5);
    expected = "recent-2.jsonl:" + std::to_string(training.bodies_of(kNewest).size() + 1) + ": line cut after ";
  }
  SECTION("one is cut at a line's end") {
    auto bodies = training.bodies_of(kNewest);
    bodies.pop_back();
    training.forge(kNewest, bodies);
    expected = "trace.jsonl: the tensors of step 299 are on record nowhere";
  }
  SECTION("a line is edited") {
    std::string text = training.text_of(kFull);
    text[text.size() / 2] ^= 1;
    std::ofstream(training.segment(kFull), std::ios::binary) << text;
    expected = "recent-1.jsonl:";
  }
  SECTION("lines have changed places") {
    auto bodies = training.bodies_of(kNewest);
    std::swap(bodies.at(3), bodies.at(4));
    training.forge(kNewest, bodies);
    expected = "recent-2.jsonl:5: tensors of step " + std::to_string(bodies.at(4).at("step").get<std::int64_t>()) +
               " after those of step " + std::to_string(bodies.at(3).at("step").get<std::int64_t>()) + "; 4 complete";
  }
  SECTION("a line stands there twice") {
    auto bodies = training.bodies_of(kNewest);
    bodies.insert(bodies.begin() + 3, bodies.at(3));
    training.forge(kNewest, bodies);
    expected = "recent-2.jsonl:5: tensors of step ";
  }
  SECTION("a step stands in two segments") {
    fs::copy_file(training.segment(kFull), training.segment(kOldest), fs::copy_options::overwrite_existing);
    expected = "recent-1.jsonl:2: tensors of step ";
  }
  SECTION("it is of another attempt") {
    auto bodies = training.bodies_of(kOldest);
    bodies.front()["nonce"] = "ffffffffffffffff";
    training.forge(kOldest, bodies);
    expected = "recent-0.jsonl:1: nonce ffffffffffffffff does not match trace.jsonl's 0123456789abcdef; 0 complete";
  }
  SECTION("it is of another rank") {
    auto bodies = training.bodies_of(kOldest);
    bodies.front()["rank"] = 1;
    training.forge(kOldest, bodies);
    expected = "recent-0.jsonl:1: its header is not that of trace.jsonl; 0 complete";
  }
  SECTION("it has no header") {
    auto bodies = training.bodies_of(kOldest);
    bodies.erase(bodies.begin());
    training.forge(kOldest, bodies);
    expected = "recent-0.jsonl:1: ";
  }
  SECTION("it holds a step's own line") {
    auto bodies = training.bodies_of(kOldest);
    bodies.push_back({{"kind", "step"}});
    training.forge(kOldest, bodies);
    expected = "recent-0.jsonl:" + std::to_string(bodies.size()) + ": `step` in a segment";
  }
  SECTION("it holds a final state") {
    auto bodies = training.bodies_of(kOldest);
    bodies.push_back(to_json(TensorsRecord{300, true, {}}));
    training.forge(kOldest, bodies);
    expected = "recent-0.jsonl:" + std::to_string(bodies.size()) + ": `final` in a segment";
  }
  SECTION("it holds a step that the trace has not come to") {
    auto bodies = training.bodies_of(kNewest);
    bodies.push_back(to_json(RecentTraining::tensors(301)));
    training.forge(kNewest, bodies);
    expected = "tensors of step 301 in a segment, and trace.jsonl has the steps 1 to 300";
  }
  SECTION("it holds a step that the trace itself has") {
    auto bodies = training.bodies_of(kNewest);
    bodies.push_back(to_json(RecentTraining::tensors(300)));
    training.forge(kNewest, bodies);
    expected = "trace.jsonl and a segment have tensors of step 300";
  }
  SECTION("it is a link") {
    fs::rename(training.segment(kNewest), training.segment(kNewest).string() + ".elsewhere");
    fs::create_symlink(training.segment(kNewest).string() + ".elsewhere", training.segment(kNewest));
    expected = "recent-2.jsonl: is a symbolic link";
  }
  const Trace trace = training.read();
  CHECK(trace.problem.substr(0, expected.size()) == expected);
  CHECK(trace.recent_problem == trace.problem);
  CHECK(trace.recent_tensors == 0);
  CHECK(std::ranges::none_of(steps_on_record(trace), [](std::int64_t step) { return step == 299; }));
}

TEST_CASE("of a training that goes on, a segment holds no step from before it went on", "[record]") {
  RecentTraining training(30, 23);
  training.finish();
  REQUIRE(training.read().problem.empty());
  auto bodies = training.bodies_of(0);
  REQUIRE(bodies.at(1) == to_json(RecentTraining::tensors(23)));
  bodies.insert(bodies.begin() + 1, to_json(RecentTraining::tensors(22)));
  training.forge(0, bodies);
  CHECK(training.read().problem == "tensors of step 22 in a segment, and trace.jsonl has the steps 23 to 30");
}

TEST_CASE("segments beside a trace of another level are none of its own", "[record]") {
  const WholeTraining training;
  const SampleAttempt sample;
  std::ofstream(training.file(), std::ios::binary) << sample.trace_text();
  const Trace trace = training.read();
  CHECK(trace.problem.empty());
  CHECK(trace.recent_tensors == 0);
}

}  // namespace
}  // namespace reprobench
