#include "matrix/record/trace_reader.hpp"

#include <sys/stat.h>

#include "ci/catch.hpp"
#include "matrix/record/sample_attempt.hpp"

namespace reprobench {
namespace {

struct TraceFile {
  Trace read() const { return read_trace(file, sample.request.cell_id, sample.request.nonce); }
  Trace read(const std::string& text) const {
    std::ofstream(file, std::ios::binary) << text;
    return read();
  }
  std::string problem_of_lines(const std::vector<nlohmann::json>& lines) {
    sample.lines = lines;
    return read(sample.trace_text()).problem;
  }

  TemporaryFolder folder;
  std::filesystem::path file = folder.path / "trace.jsonl";
  SampleAttempt sample;
};

TEST_CASE("a whole trace is read without a problem", "[record]") {
  TraceFile scene;
  const Trace trace = scene.read(scene.sample.trace_text());
  CHECK(trace.problem.empty());
  CHECK(trace.steps.size() == 3);
  REQUIRE(trace.tensors.size() == 1);
  CHECK(trace.tensors[0].is_final);
}

TEST_CASE("a trace of contract 1 is refused by the name of the version that reads it", "[record]") {
  TraceFile scene;
  scene.sample.lines.front()["version"] = {{"major", 1}, {"minor", 4}};
  CHECK(scene.read(scene.sample.trace_text())
            .problem.find("version 1.4 cannot be read by contract 2.0; reprobench "
                          "0.2.0 is the last that reads it") != std::string::npos);
}

TEST_CASE("F05: of a trace cut anywhere, every whole line is kept and the cut is named", "[record]") {
  TraceFile scene;
  const std::string text = scene.sample.trace_text();
  for (std::size_t length = 1; length < text.size(); length += 7) {
    const Trace trace = scene.read(text.substr(0, length));
    REQUIRE_FALSE(trace.problem.empty());
    REQUIRE(trace.steps.size() <= 3);
  }
  const std::size_t third_line = text.find('\n', text.find('\n') + 1) + 1;
  const Trace trace = scene.read(text.substr(0, third_line + 73));
  CHECK(trace.problem == "trace.jsonl:3: line cut after 73 bytes; 2 complete lines kept");
  CHECK(trace.steps.size() == 1);
}

TEST_CASE("F06: a flipped bit anywhere is found, and nothing after it is used", "[record]") {
  TraceFile scene;
  const std::string text = scene.sample.trace_text();
  for (std::size_t i = 0; i < text.size(); i += 7) {
    std::string spoiled = text;
    spoiled[i] = static_cast<char>(spoiled[i] ^ 1);
    REQUIRE_FALSE(scene.read(spoiled).problem.empty());
  }
  std::string spoiled = text;
  spoiled[text.find('\n') + 10] ^= 1;
  const Trace trace = scene.read(spoiled);
  CHECK(trace.problem.substr(0, 27) == "trace.jsonl:2: checksum is ");
  CHECK(trace.steps.empty());
}

TEST_CASE("B50: gaps, repetitions and disorder of lines are named", "[record]") {
  TraceFile scene;
  std::string text;
  text += trace_line(scene.sample.lines[0], 0) + trace_line(scene.sample.lines[1], 2);
  CHECK(scene.read(text).problem == "trace.jsonl:2: seq is 2, expected 1; 1 complete lines kept");
  const auto lines = scene.sample.lines;
  CHECK(scene.problem_of_lines({lines[0], lines[1], lines[3]}) ==
        "trace.jsonl:3: step 3, expected 2; 2 complete lines kept");
  CHECK(scene.problem_of_lines({lines[0], lines[1], lines[1]}) ==
        "trace.jsonl:3: step 1, expected 2; 2 complete lines kept");
  CHECK(scene.problem_of_lines({lines[1]}) == "trace.jsonl:1: `step` comes before the header; 0 complete lines kept");
  CHECK(scene.problem_of_lines({lines[0], lines[0]}) == "trace.jsonl:2: a second header; 1 complete lines kept");
  CHECK(scene.problem_of_lines({lines[0], lines[1], lines[2], lines[3], lines[4], lines[4]}) ==
        "trace.jsonl:6: `final` comes after the final state; 5 complete lines kept");
  CHECK(scene.problem_of_lines({lines[0], {{"kind", "poem"}}}) ==
        "trace.jsonl:2: unknown kind `poem`; 1 complete lines kept");
  CHECK(scene.problem_of_lines({lines[0], to_json(TensorsRecord{2, false, {}})}) ==
        "trace.jsonl:2: tensors of step 2, expected 1; 1 complete lines kept");
  CHECK(scene.problem_of_lines({lines[0], lines[1], to_json(TensorsRecord{3, true, {}})}) ==
        "trace.jsonl:3: tensors of step 3, expected 1; 2 complete lines kept");
  // Tensors that no step's root covers.
  const nlohmann::json tensors = to_json(TensorsRecord{1, false, {}});
  CHECK(scene.problem_of_lines({lines[0], tensors, tensors}) ==
        "trace.jsonl:3: tensors of step 1 without the step's own line; 2 complete lines kept");
  CHECK(scene.problem_of_lines({lines[0], tensors, to_json(TensorsRecord{0, true, {}})}) ==
        "trace.jsonl:3: tensors of step 1 without the step's own line; 2 complete lines kept");
}

TEST_CASE("a probe's trace holds measurements and their progress, a training's none of either", "[record]") {
  TraceFile scene;
  const auto lines = scene.sample.lines;
  ProbeMeasurement triad;
  triad.operation = "triad";
  triad.unit = "GB/s";
  const nlohmann::json measurement = measurement_line(triad);
  const nlohmann::json progress = to_json(ProbeProgress{"triad", {}, {12.5}});
  const nlohmann::json end = to_json(TensorsRecord{0, true, {}});
  scene.sample.lines = {lines[0], progress, progress, measurement, end};
  const Trace probe = scene.read(scene.sample.trace_text());
  CHECK(probe.problem.empty());
  CHECK(probe.progress_lines == 2);
  REQUIRE(probe.measurements.size() == 1);
  CHECK(probe.measurements[0].operation == "triad");
  CHECK(probe.steps.empty());
  CHECK(scene.problem_of_lines({lines[0], lines[1], measurement}) ==
        "trace.jsonl:3: a measurement among the steps of a training; 2 complete lines kept");
  CHECK(scene.problem_of_lines({lines[0], lines[1], progress}) ==
        "trace.jsonl:3: a measurement's progress among the steps of a training; 2 complete lines kept");
  // Behind the last step, as a training that times products does; and nothing else may come there.
  auto behind = lines;
  behind.insert(behind.end(), {progress, measurement});
  scene.sample.lines = behind;
  const Trace training = scene.read(scene.sample.trace_text());
  CHECK(training.problem.empty());
  CHECK(training.measurements.size() == 1);
  CHECK(training.progress_lines == 1);
  behind.push_back(lines[1]);
  CHECK(scene.problem_of_lines(behind) == "trace.jsonl:8: `step` comes after the final state; 7 complete lines kept");
}

TEST_CASE("a trace that stops at a line's end is not taken for whole", "[record]") {
  TraceFile scene;
  const auto lines = scene.sample.lines;
  CHECK(scene.problem_of_lines({lines[0], lines[1], lines[2], lines[3]}) ==
        "trace.jsonl: no final state after 4 complete lines");
  CHECK(scene.read("").problem == "trace.jsonl: empty");
}

TEST_CASE("another cell's or another attempt's trace is refused by its header", "[record]") {
  TraceFile scene;
  scene.sample.write(scene.folder.path);
  CHECK(read_trace(scene.file, "000000000000", scene.sample.request.nonce).problem ==
        "trace.jsonl:1: cell_id 3f9c1e0a7b52 does not match expected 000000000000; 0 complete lines kept");
  CHECK(read_trace(scene.file, scene.sample.request.cell_id, "ffffffffffffffff").problem ==
        "trace.jsonl:1: nonce 0123456789abcdef does not match expected ffffffffffffffff; 0 complete lines kept");
}

TEST_CASE("B58: links, FIFOs and folders are named, neither followed nor waited for", "[record]") {
  TraceFile scene;
  CHECK(scene.read().problem == "trace.jsonl: missing");
  scene.sample.write(scene.folder.path / "elsewhere");
  std::filesystem::create_symlink(scene.folder.path / "elsewhere" / "trace.jsonl", scene.file);
  CHECK(scene.read().problem == "trace.jsonl: is a symbolic link");
  std::filesystem::remove(scene.file);
  std::filesystem::create_hard_link(scene.folder.path / "elsewhere" / "trace.jsonl", scene.file);
  CHECK(scene.read().problem == "trace.jsonl: has 2 names");
  std::filesystem::remove(scene.file);
  REQUIRE(mkfifo(scene.file.c_str(), 0600) == 0);
  CHECK(scene.read().problem == "trace.jsonl: is not a regular file");
  std::filesystem::remove(scene.file);
  std::filesystem::create_directory(scene.file);
  CHECK(scene.read().problem == "trace.jsonl: is not a regular file");
}

TEST_CASE("B54: a line of a mebibyte is fine, one without an end is not", "[record]") {
  TraceFile scene;
  auto lines = scene.sample.lines;
  lines[1]["events"]["filler"] = std::string(1 << 20, 'x');
  CHECK(scene.problem_of_lines(lines).empty());
  const std::string head = trace_line(scene.sample.lines[0], 0);
  CHECK(scene.read(head + std::string((16 << 20) + (1 << 19), 'x')).problem ==
        "trace.jsonl:2: line longer than 16 MiB; 1 complete lines kept");
}

TEST_CASE("B57: bytes that are not UTF-8 are named", "[record]") {
  TraceFile scene;
  const std::string head = trace_line(scene.sample.lines[0], 0);
  const std::string covered = std::string(R"({"kind":"step","x":")") + "\xc3(\"";
  const std::string line = covered + R"(,"crc32c":")" + hex32(crc32c(covered)) + "\"}\n";
  CHECK(scene.read(head + line).problem == "trace.jsonl:2: invalid UTF-8 at byte 21; 1 complete lines kept");
}

}  // namespace
}  // namespace reprobench
