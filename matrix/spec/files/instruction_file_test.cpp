#include "matrix/spec/files/instruction_file.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <unistd.h>

#include "ci/catch.hpp"
#include "ci/temporary.hpp"
#include "matrix/base/sha256.hpp"
#include "matrix/spec/spec_fixture.hpp"

namespace reprobench {
namespace {

// A folder of one test with the file my.json in it; messages name it as typed.
class FileScene {
 public:
  std::string path() const { return (folder_ / "my.json").string(); }
  const std::filesystem::path& folder() const { return folder_; }
  void write(const std::string& text) const { std::ofstream(path(), std::ios::binary) << text; }

  InstructionFile read(const std::string& text) const {
    write(text);
    return read_instruction_file(path());
  }
  // Without the folder.
  std::string refusal(const std::string& text) const {
    write(text);
    return refusal_of_file();
  }
  std::string refusal_of_file() const {
    std::string said = spec_error_of([&] { read_instruction_file(path()); });
    for (auto at = said.find(folder_.string()); at != std::string::npos; at = said.find(folder_.string())) {
      said.erase(at, folder_.string().size() + 1);
    }
    return said;
  }

 private:
  TemporaryFolder place_;
  std::filesystem::path folder_ = place_.path;
};

const std::string kRecord = R"({"instruction": "a", "input": "", "output": "b"})";

TEST_CASE("instructions are a list or a record a line, and named by their bytes", "[spec]") {
  const FileScene scene;
  const InstructionFile list = scene.read("[\n" + kRecord + ",\n" + kRecord + "\n]\n");
  CHECK(list.records == 2);
  CHECK(list.sha256 == sha256_of_text("[\n" + kRecord + ",\n" + kRecord + "\n]\n"));
  CHECK(list.file == scene.path());
  CHECK(scene.read(kRecord + "\n\n" + kRecord + "\r\n" + kRecord).records == 3);
  CHECK(scene.read("\xEF\xBB\xBF[" + kRecord + "]").records == 1);
  CHECK(scene.read(R"([{"id": 7, "output": "b", "input": "x", "instruction": "\u2028"}])").records == 1);
}

TEST_CASE("every record that is wrong is named at its place", "[spec]") {
  const FileScene scene;
  CHECK(scene.refusal("[" + kRecord +
                      ",\n {\"instruction\": 7, \"input\": null},\n 3,\n"
                      " {\"instruction\": \"a\", \"ouptut\": \"b\", \"input\": \"\", \"output\": \"\"}]") ==
        "my.json:2:2: error[RB018]: this record has no `output`\n"
        "my.json:2:18: error[RB019]: `instruction` must be text, got 7\n"
        "my.json:2:30: error[RB019]: `input` must be text, got null\n"
        "my.json:3:2: error[RB019]: a record must be an object with `instruction`, `input` and `output`, got 3\n"
        "my.json:4:61: error[RB023]: `output` is empty, so there is nothing to learn");
  CHECK(scene.refusal(R"([{"instruction": "a", "output": "b"}])") ==
        R"(my.json:1:2: error[RB018]: this record has no `input`; a task without one has `"input": ""`)"
        "");
  CHECK(scene.refusal(R"([{"instruction": "a", "input": "", "ouput": "b"}])") ==
        "my.json:1:2: error[RB018]: this record has no `output`; it has `ouput`");
  CHECK(scene.refusal(R"([{"instruction": "a", "input": "", "output": "b", "output": "c"}])") ==
        "my.json:1:51: error[RB008]: key `output` appears twice in this record; first at 1:36");
  CHECK(scene.refusal(kRecord + "\n" + R"({"instruction": "a\u0000", "input": "", "output": "b"})") ==
        "my.json:2:17: error[RB003]: `instruction` holds the character U+0000");
}

TEST_CASE("a record of more than 65536 bytes is refused, one of as many is not", "[spec]") {
  const FileScene scene;
  const auto record = [](std::size_t bytes) {
    return "[{\"instruction\": \"a\", \"input\": \"\", \"output\": \"" + std::string(bytes - 1, 'x') + "\"}]";
  };
  CHECK(scene.read(record(65'536)).records == 1);
  CHECK(scene.refusal(record(65'537)) ==
        "my.json:1:2: error[RB021]: this record has 65537 bytes of text, at most 65536 are taken");
  CHECK(scene.refusal(record(1'000'000)) ==
        "my.json:1:2: error[RB021]: this record has 1000000 bytes of text, at most 65536 are taken");
}

TEST_CASE("what is no file of records is refused", "[spec]") {
  const FileScene scene;
  CHECK(scene.refusal("") == "my.json:1:1: error[RB001]: file has no content");
  CHECK(scene.refusal(" \n") == "my.json:2:1: error[RB001]: file has no content");
  CHECK(scene.refusal("[]") == "my.json:1:1: error[RB023]: the file has no record");
  CHECK(scene.refusal("7") ==
        "my.json:1:1: error[RB007]: the file must be a list or JSON Lines, an object a line; got 7");
  CHECK(scene.refusal("[" + kRecord + ",]") == "my.json:1:51: error[RB005]: not valid JSON: a comma before `]`");
  CHECK(scene.refusal("[" + kRecord) ==
        "my.json:1:50: error[RB005]: not valid JSON: `]` is missing at the end of the file");
  CHECK(scene.refusal("[" + kRecord + "] x") ==
        "my.json:1:52: error[RB005]: not valid JSON: text after the end of the list");
  CHECK(scene.refusal(kRecord + " " + kRecord) ==
        "my.json:1:50: error[RB005]: not valid JSON: text after the object of this line");
  CHECK(scene.refusal(kRecord + ",\n" + kRecord) ==
        "my.json:1:49: error[RB005]: not valid JSON: text after the object of this line; a list of objects begins with "
        "`[`");
  CHECK(scene.refusal("{\"instruction\": \"a\",\n\"input\": \"\", \"output\": \"b\"}") ==
        "my.json:1:1: error[RB005]: not valid JSON Lines: an object goes on over several lines; "
        "a list of objects begins with `[`");
  CHECK(scene.refusal("[\n{\"instruction\": \"\xFF\"}]") ==
        "my.json:2:18: error[RB002]: not UTF-8 at byte offset 19; save the file as UTF-8");
  CHECK(scene.refusal(std::string("[\0]", 3)).starts_with("my.json:1:"));
  CHECK(scene.refusal("[\n" + std::string(1, '\0') + "]") ==
        "my.json:2:1: error[RB003]: control character U+0000 is not accepted");
}

TEST_CASE("a folder, a missing file and a link to nothing cannot be read, a link to a file can", "[spec]") {
  const FileScene scene;
  std::filesystem::create_directories(scene.path());
  CHECK(scene.refusal_of_file() == "my.json: error[RB027]: cannot be read: it is a folder");
  std::filesystem::remove(scene.path());
  CHECK(scene.refusal_of_file() == "my.json: error[RB027]: cannot be read: No such file or directory");
  std::filesystem::create_symlink("other.json", scene.path());
  CHECK(scene.refusal_of_file() == "my.json: error[RB027]: cannot be read: No such file or directory");
  std::ofstream(scene.folder() / "other.json") << "[" << kRecord << "]";
  CHECK(read_instruction_file(scene.path()).records == 1);
}

TEST_CASE("a file that is wrong all over is not read to its end", "[spec]") {
  const FileScene scene;
  std::string text = "[3";
  for (int i = 0; i < 1000; ++i) text += ",3";
  scene.write(text + "]");
  const std::string said = scene.refusal_of_file();
  CHECK(std::count(said.begin(), said.end(), '\n') == 19);
  scene.write(text + ", no JSON from here on");
  CHECK(scene.refusal_of_file() == said);
}

TEST_CASE("a suite's and a matrix's data lie below their own folder", "[spec]") {
  const FileScene scene;
  scene.write("[" + kRecord + "]");
  const std::string suite =
      "schema: 1\nname: s\nworkloads:\n  - {data: DATA, model: llama, preset: tiny, steps: 5, batch_size: 1}\n";
  const auto with = [](std::string text, const std::string& path) { return text.replace(text.find("DATA"), 4, path); };
  const std::string file = (scene.folder() / "s.yaml").string();
  const SuiteSpec read = parse_suite(with(suite, "my.json"), file, spec_test_vocabulary());
  CHECK(read.workloads[0].data_sha256 == sha256_of_text("[" + kRecord + "]"));
  CHECK(read.workloads[0].data_file == scene.path());
  CHECK_THAT(spec_error_of([&] { parse_suite(with(suite, "/my.json"), file, spec_test_vocabulary()); }),
             Catch::Contains("s.yaml:4:12: error[RB027]"));
  CHECK_THAT(spec_error_of([&] { parse_suite(with(suite, "none.json"), file, spec_test_vocabulary()); }),
             Catch::Contains("none.json: error[RB027]: cannot be read"));
  Vocabulary vocabulary = spec_test_vocabulary();
  vocabulary.takes_data = {{"llama", ""}, {"vlm", "instructions"}};
  CHECK_THAT(spec_error_of([&] { parse_suite(with(suite, "my.json"), file, vocabulary); }),
             Catch::Contains("s.yaml:4:12: error[RB009]: model `llama` reads no instructions; `vlm` does"));

  const MatrixSpec matrix = parse_matrix(kGoodMatrix + std::string("data: my.json\n"),
                                         (scene.folder() / "m.yaml").string(), spec_test_vocabulary());
  CHECK(matrix.data == scene.path());
  CHECK_THAT(matrix_error(kGoodMatrix + std::string("data: ../my.json\n")), Catch::Contains("error[RB027]"));
}

}  // namespace
}  // namespace reprobench
