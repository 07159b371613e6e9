// What is read of an attempt's folder, and what is refused as none of its own.
#include "matrix/record/attempt_files.hpp"

#include "ci/catch.hpp"
#include "matrix/contract/device/telemetry.hpp"
#include "matrix/record/plain_file.hpp"
#include "matrix/record/sample_attempt.hpp"

namespace reprobench {
namespace {

namespace fs = std::filesystem;

struct AttemptFolder {
  // As rank `rank` of the attempt writes them.
  void write(int rank) {
    sample.exit.rank = sample.result.rank = rank;
    sample.lines.front()["rank"] = rank;
    sample.write(folder.path / rank_folder_name(rank));
  }
  RankFiles read(int rank = 0) const {
    CellRequest request = sample.request;
    request.rank = rank;
    return read_rank_files(folder.path, request);
  }
  void write_stderr(const std::string& text) const {
    std::ofstream(folder.path / "rank-0" / "stderr.log", std::ios::binary) << text;
  }

  TemporaryFolder folder;
  SampleAttempt sample;
};

TEST_CASE("the files of a rank are its documents, its trace and its last words", "[record]") {
  AttemptFolder scene;
  scene.write(0);
  scene.write_stderr("first\nthe last words\n \t\r\n");
  const RankFiles files = scene.read();
  REQUIRE(files.exit.value);
  CHECK(files.exit.problem.empty());
  CHECK(files.exit.value->exit_code == 0);
  REQUIRE(files.result.value);
  CHECK(files.result.value->steps_completed == 3);
  REQUIRE(files.trace);
  CHECK(files.trace->problem.empty());
  CHECK(files.trace->steps.size() == 3);
  CHECK(files.last_words == "the last words");
}

TEST_CASE("documents of another attempt, rank or cell are none of this rank's", "[record]") {
  AttemptFolder scene;
  scene.write(0);
  SECTION("another attempt's") {
    scene.sample.request.nonce = "ffffffffffffffff";
    const RankFiles files = scene.read();
    CHECK_FALSE(files.exit.value);
    CHECK(files.exit.problem == "exit.json: nonce 0123456789abcdef does not match expected ffffffffffffffff");
    CHECK_FALSE(files.result.value);
    CHECK(files.result.problem == "result.json: nonce 0123456789abcdef does not match expected ffffffffffffffff");
    CHECK_FALSE(files.trace->problem.empty());
  }
  SECTION("another rank's") {
    fs::rename(scene.folder.path / "rank-0", scene.folder.path / "rank-1");
    const RankFiles files = scene.read(1);
    CHECK_FALSE(files.exit.value);
    CHECK(files.exit.problem == "exit.json: rank 0 does not match expected 1");
    CHECK_FALSE(files.result.value);
    CHECK(files.result.problem == "result.json: rank 0 does not match expected 1");
    CHECK(files.trace->problem == "trace.jsonl:1: rank 0 does not match expected 1; 0 complete lines kept");
  }
  SECTION("another cell's") {
    scene.sample.request.cell_id = "000000000000";
    const RankFiles files = scene.read();
    CHECK(files.exit.value);
    CHECK_FALSE(files.result.value);
    CHECK(files.result.problem == "result.json: cell_id 3f9c1e0a7b52 does not match expected 000000000000");
  }
}

TEST_CASE("a file that is not there, cut or too large is named, and the others are read", "[record]") {
  AttemptFolder scene;
  scene.write(0);
  const fs::path folder = scene.folder.path / "rank-0";
  SECTION("missing") {
    for (const char* name : {"exit.json", "result.json", "trace.jsonl"}) fs::remove(folder / name);
    const RankFiles files = scene.read();
    CHECK(files.exit.problem == "exit.json: missing");
    CHECK(files.result.problem == "result.json: missing");
    CHECK_FALSE(files.trace);
    CHECK(files.last_words.empty());
  }
  SECTION("cut") {
    std::ofstream(folder / "result.json") << "{\"version\"";
    const RankFiles files = scene.read();
    CHECK(files.exit.value);
    CHECK_FALSE(files.result.value);
    CHECK(files.result.problem.starts_with("result.json: "));
    CHECK(files.result.problem.ends_with(" (10 bytes)"));
  }
  SECTION("of another shape") {
    std::ofstream(folder / "exit.json") << "{}";
    CHECK_FALSE(scene.read().exit.value);
    CHECK(scene.read().exit.problem.starts_with("exit.json: "));
  }
  SECTION("as large as may be, and a byte more") {
    const auto pad = [&](const char* name, std::uintmax_t size_bytes) {
      const auto missing_bytes = static_cast<std::size_t>(size_bytes - fs::file_size(folder / name));
      std::ofstream(folder / name, std::ios::app) << std::string(missing_bytes, ' ');
    };
    pad("exit.json", 64 << 10);
    pad("result.json", 16 << 20);
    CHECK(scene.read().exit.value);
    CHECK(scene.read().result.value);
    pad("exit.json", (64 << 10) + 1);
    pad("result.json", (16 << 20) + 1);
    CHECK(scene.read().exit.problem == "exit.json: is larger than 65536 bytes");
    CHECK(scene.read().result.problem == "result.json: is larger than 16777216 bytes");
  }
}

TEST_CASE("an attempt has the files of each of its ranks, and telemetry where a GPU was watched", "[record][ranks]") {
  AttemptFolder scene;
  scene.sample.request.world_size = 3;
  scene.write(0);
  scene.write(2);
  const AttemptFiles files = read_attempt_files(scene.folder.path, scene.sample.request);
  REQUIRE(files.ranks.size() == 3);
  CHECK(files.ranks[0].result.value);
  CHECK(files.ranks[1].result.problem == "result.json: missing");
  REQUIRE(files.ranks[2].result.value);
  CHECK(files.ranks[2].result.value->rank == 2);
  CHECK_FALSE(files.telemetry);
  std::ofstream(scene.folder.path / "telemetry.jsonl") << "";
  CHECK(read_attempt_files(scene.folder.path, scene.sample.request).telemetry->problem == "telemetry.jsonl: empty");
}

TEST_CASE("last words are one short line without control characters", "[record]") {
  AttemptFolder scene;
  scene.write(0);
  for (const auto& [text, words] : std::vector<std::pair<std::string, std::string>>{
           {"", ""},
           {"\n \n", ""},
           {"only", "only"},
           {"a\nb", "b"},
           {"\x1b[31mred\x7f\x80 ~", "?[31mred?? ~"},
           {std::string(300, 'x'), std::string(200, 'x')},
           {"long ago\n" + std::string(5000, 'y') + "\nend", "end"},
       }) {
    scene.write_stderr(text);
    CHECK(scene.read().last_words == words);
  }
}

TEST_CASE("a file is read up to its limit and not beyond, and its tail from the end", "[record]") {
  const TemporaryFolder folder;
  const fs::path path = folder.path / "file";
  std::ofstream(path) << "0123456789";
  CHECK(std::get<std::string>(read_plain_file(path, 10)) == "0123456789");
  CHECK(std::get<FileProblem>(read_plain_file(path, 9)).text == "is larger than 9 bytes");
  CHECK(std::get<FileProblem>(read_plain_file(folder.path, 9)).text == "is not a regular file");
  CHECK(read_tail(path, 3) == "789");
  CHECK(read_tail(path, 10) == "0123456789");
  CHECK(read_tail(path, 99) == "0123456789");
  CHECK(read_tail(folder.path / "none", 3).empty());
  const std::string long_text(600'000, 'z');
  std::ofstream(path) << long_text;
  CHECK(std::get<std::string>(read_plain_file(path, 600'000)) == long_text);
}

// Lines of a telemetry file of one GPU, in the order given.
std::string problem_of(const std::vector<nlohmann::json>& lines) {
  const TemporaryFolder folder;
  std::string text;
  for (std::size_t i = 0; i < lines.size(); ++i) text += trace_line(lines[i], static_cast<std::int64_t>(i));
  std::ofstream(folder.path / "telemetry.jsonl") << text;
  return read_telemetry(folder.path / "telemetry.jsonl", "0011")->problem;
}

TEST_CASE("telemetry begins with its header, ends once, and knows its GPUs", "[record][gpu]") {
  TelemetryHeader opening;
  opening.cell_id = "3f9c1e0a7b52";
  opening.nonce = "0011";
  opening.period_ns = 100'000'000;
  opening.gpus = {{"GPU-a", "00000000:3B:00.0", "NVIDIA H100"}};
  const nlohmann::json header = to_json(opening);
  const auto sample_of = [](int gpu) {
    TelemetrySample sample;
    sample.gpu = gpu;
    return to_json(sample);
  };
  const nlohmann::json event = to_json(TelemetryEvent{0, 0, TelemetryEventKind::xid, 79});
  const nlohmann::json other_event = to_json(TelemetryEvent{0, 1, TelemetryEventKind::xid, 79});
  const nlohmann::json end = to_json(TelemetryEnd{});
  CHECK(problem_of({header, sample_of(0), event, end}).empty());
  CHECK(problem_of({sample_of(0)}).find(": `sample` comes before the header;") != std::string::npos);
  CHECK(problem_of({header, header}).find(": a second header;") != std::string::npos);
  CHECK(problem_of({header, end, end}).find(": `end` comes after the end;") != std::string::npos);
  CHECK(problem_of({header, sample_of(1)}).find(": a sample of GPU 1, which the header does not name;") !=
        std::string::npos);
  CHECK(problem_of({header, other_event}).find(": an event of GPU 1, which the header does not name;") !=
        std::string::npos);
  for (const std::string nonce : {"0010", "0012"}) {
    opening.nonce = nonce;
    CHECK(problem_of({to_json(opening)}).find(": nonce " + nonce + " does not match expected 0011;") !=
          std::string::npos);
  }
  CHECK(problem_of({header, {{"kind", "poem"}}}).find(": unknown kind `poem`;") != std::string::npos);
}

}  // namespace
}  // namespace reprobench
