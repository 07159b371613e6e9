// What is read of files that anybody may have written, to the byte.
#include "matrix/record/plain_file.hpp"

#include <chrono>
#include <regex>
#include <thread>

#include <sys/stat.h>

#include "ci/catch.hpp"
#include "matrix/record/run_identity.hpp"
#include "matrix/record/sample_attempt.hpp"

namespace reprobench {
namespace {

namespace fs = std::filesystem;

std::string problem_with(const fs::path& path) {
  const auto opened = open_plain_file(path);
  const auto* problem = std::get_if<FileProblem>(&opened);
  return problem == nullptr ? "" : problem->text;
}

struct ReadBack {
  LinesRead read;
  std::vector<nlohmann::json> bodies;
};

// The lines of a file, of which `accept` refuses those that say so.
ReadBack lines_of(const std::string& text) {
  const TemporaryFolder folder;
  std::ofstream(folder.path / "lines.jsonl", std::ios::binary) << text;
  ReadBack back;
  back.read = read_checked_lines(folder.path / "lines.jsonl", [&](const nlohmann::json& body) -> std::string {
    if (body.contains("refused")) return body["refused"].get<std::string>();
    back.bodies.push_back(body);
    return "";
  });
  return back;
}

std::string line_with(std::size_t length, std::int64_t seq) {
  return trace_line({{"kind", "text"}, {"text", std::string(length, 'x')}, {"number", seq}}, seq);
}

TEST_CASE("a link, a folder, a pipe and a file with two names are named and not opened", "[record]") {
  const TemporaryFolder folder;
  const fs::path file = folder.path / "file";
  std::ofstream(file) << "text";
  CHECK(problem_with(file).empty());
  CHECK(problem_with(folder.path / "none") == "missing");
  CHECK(problem_with(folder.path) == "is not a regular file");
  CHECK(problem_with(file / "below") == "Not a directory");
  fs::create_symlink(file, folder.path / "link");
  CHECK(problem_with(folder.path / "link") == "is a symbolic link");
  REQUIRE(mkfifo((folder.path / "pipe").c_str(), 0600) == 0);
  CHECK(problem_with(folder.path / "pipe") == "is not a regular file");
  CHECK(read_tail(folder.path / "pipe", 5).empty());
  fs::create_hard_link(file, folder.path / "again");
  CHECK(problem_with(file) == "has 2 names");
  CHECK(std::get<FileProblem>(read_plain_file(file, 99)).text == "has 2 names");
}

TEST_CASE("lines are handed on in order, long or short, and over the bounds of what is read at once", "[record]") {
  std::string text;
  const std::vector<std::size_t> lengths = {10, 300'000, 300'000, 10, 700'000, 0, 262'000, 262'144, 5};
  for (std::size_t i = 0; i < lengths.size(); ++i) text += line_with(lengths[i], static_cast<std::int64_t>(i));
  const ReadBack back = lines_of(text);
  CHECK(back.read.problem.empty());
  CHECK_FALSE(back.read.torn_tail);
  CHECK(back.read.complete_lines == 9);
  REQUIRE(back.bodies.size() == lengths.size());
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    CHECK(back.bodies[i]["number"] == i);
    CHECK(back.bodies[i]["text"].get<std::string>().size() == lengths[i]);
  }
}

TEST_CASE("a last line without its end is torn, and what is wrong before it is not", "[record]") {
  const std::string two = line_with(3, 0) + line_with(3, 1);
  const ReadBack torn = lines_of(two.substr(0, two.size() - 1));
  CHECK(torn.read.torn_tail);
  CHECK(torn.read.complete_lines == 1);
  CHECK(torn.read.problem == "lines.jsonl:2: line cut after " + std::to_string(line_with(3, 1).size() - 1) +
                                 " bytes; 1 complete lines kept");
  const ReadBack empty = lines_of("");
  CHECK(empty.read.problem == "lines.jsonl: empty");
  CHECK_FALSE(empty.read.torn_tail);
  const ReadBack gap = lines_of(line_with(3, 0) + line_with(3, 2));
  CHECK_FALSE(gap.read.torn_tail);
  CHECK(gap.read.complete_lines == 1);
  const ReadBack refused =
      lines_of(line_with(3, 0) + trace_line({{"kind", "text"}, {"refused", "no"}}, 1) + line_with(3, 2));
  CHECK(refused.read.problem == "lines.jsonl:2: no; 1 complete lines kept");
  CHECK(refused.bodies.size() == 1);
  const TemporaryFolder folder;
  CHECK(read_checked_lines(folder.path / "none.jsonl", {}).problem == "none.jsonl: missing");
}

TEST_CASE("a line that goes on for more than 16 MiB is given up", "[record]") {
  CHECK(lines_of(std::string((16U << 20) + 1, 'x')).read.problem ==
        "lines.jsonl:1: line longer than 16 MiB; 0 complete lines kept");
  CHECK(lines_of(std::string(16U << 20, 'x')).read.torn_tail);
}

TEST_CASE("of a line that is no UTF-8 the first wrong byte is named", "[record]") {
  struct Row {
    const char* line;
    const char* problem;  // nothing: it is UTF-8, and wrong for another reason
  };
  for (const Row& row :
       {Row{"a\x80", "invalid UTF-8 at byte 2"}, Row{"\xc3", "invalid UTF-8 at byte 1"},
        Row{"\xc3\x28", "invalid UTF-8 at byte 1"}, Row{"ab\xe2\x82", "invalid UTF-8 at byte 3"},
        Row{"\xe2\x82(", "invalid UTF-8 at byte 1"}, Row{"\xf0\x9f\x98", "invalid UTF-8 at byte 1"},
        Row{"\xf0\x9f\x98\x80\xff", "invalid UTF-8 at byte 5"}, Row{"\xf8\x88\x80\x80\x80", "invalid UTF-8 at byte 1"},
        Row{"\xc3\xa9", ""}, Row{"\xe2\x82\xac", ""}, Row{"\xf0\x9f\x98\x80", ""}, Row{"plain", ""}}) {
    CAPTURE(row.line);
    const std::string problem = lines_of(std::string(row.line) + "\n").read.problem;
    const std::string named = std::string("lines.jsonl:1: ") + row.problem + "; 0 complete lines kept";
    CHECK((problem == named) == (*row.problem != '\0'));
    CHECK((problem.find("UTF-8") != std::string::npos) == (*row.problem != '\0'));
    CHECK_FALSE(problem.empty());
  }
}

TEST_CASE("a run's name is its time and four digits of chance", "[record]") {
  const std::string one = new_run_id();
  CHECK(std::regex_match(one, std::regex("r-2[0-9]{7}-[0-2][0-9][0-5][0-9][0-6][0-9]-[0-9]{3}-[0-9a-f]{4}")));
  CHECK(utc_now("%Y").size() == 4);
  bool differs = false;  // of 20 by chance all equal once in 10^91
  for (int i = 0; i < 20; ++i) differs = differs || new_run_id().substr(22) != one.substr(22);
  CHECK(differs);
}

TEST_CASE("of two runs of one second the later one has the later name", "[record]") {
  std::string earlier = new_run_id();
  for (int i = 0; i < 50; ++i) {  // by chance alone all in order: once in 10^15
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    const std::string later = new_run_id();
    CHECK(earlier < later);
    earlier = later;
  }
}

}  // namespace
}  // namespace reprobench
