#include "suites/worker/data/own_file.hpp"

#include <fstream>

#include <sys/stat.h>

#include "ci/catch.hpp"
#include "matrix/base/number.hpp"
#include "matrix/base/plain_sha256.hpp"
#include "suites/worker/run_failure.hpp"
#include "suites/worker/temporary_folder.hpp"
#include "suites/worker/training_fixture.hpp"

namespace reprobench {
namespace {

std::string cause_of(const std::filesystem::path& path, const std::string& sha256) {
  try {
    read_own_file(path, sha256);
  } catch (const RunFailure& failure) {
    return failure.cause();
  }
  return "";
}

TEST_CASE("a file of the user's is taken by what it holds, through a link or not", "[worker]") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "my.json";
  std::ofstream(path, std::ios::binary) << "abc";
  const std::string sha256 = plain_sha256_of_text("abc");
  CHECK(read_own_file(path, sha256) == "abc");
  std::filesystem::create_symlink(path, folder.path() / "link.json");
  CHECK(read_own_file(folder.path() / "link.json", sha256) == "abc");

  std::ofstream(path, std::ios::binary) << "abd";  // as long as before
  CHECK(cause_of(path, sha256) == "input_changed");
  CHECK(cause_of(folder.path() / "link.json", sha256) == "input_changed");
}

TEST_CASE("what is no file any more is not waited for", "[worker]") {
  const TemporaryFolder folder;
  const std::string sha256 = plain_sha256_of_text("");
  CHECK(cause_of(folder.path() / "gone", sha256) == "input_changed");
  CHECK(cause_of(folder.path(), sha256) == "input_changed");
  REQUIRE(mkfifo((folder.path() / "pipe").c_str(), 0600) == 0);
  CHECK(cause_of(folder.path() / "pipe", sha256) == "input_changed");
}

// Four records of the user's, the last with another answer where `answer` is another.
CellRequest request_with_data(const std::string& model, const std::filesystem::path& file, const std::string& answer) {
  std::string text;
  for (const char* word : {"red", "green", "blue"}) {
    text += std::string(R"({"instruction": "Say a colour.", "input": "", "output": ")") + word + "\"}\n";
  }
  text += R"({"instruction": "Say no.", "input": "", "output": ")" + answer + "\"}\n";
  std::ofstream(file, std::ios::binary) << text;
  CellRequest request = training_request(model_called(model), 12, TraceLevel::step);
  request.workload.batch_size = 4;
  request.workload.data_file = file.string();
  request.workload.data_sha256 = plain_sha256_of_text(text);
  return request;
}

TEST_CASE("a training on the user's file learns it, and one word of it makes another workload", "[worker]") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "my.jsonl";
  const TrainingTrace one = train(request_with_data("llama", file, "no"));
  REQUIRE(one.result.data);
  CHECK(one.result.data->records == 4);
  CHECK(one.result.data->samples == 4);
  CHECK(one.result.data->cut == 0);
  CHECK(exact_float_from_json(one.steps.back().loss) < exact_float_from_json(one.steps.front().loss));
  const TrainingTrace same = train(request_with_data("llama", folder.path() / "moved.jsonl", "no"));
  CHECK(same.result.workload_digest == one.result.workload_digest);
  CHECK(same.result.chain == one.result.chain);
  const TrainingTrace other = train(request_with_data("llama", file, "NO"));
  CHECK(other.result.workload_digest != one.result.workload_digest);

  CellRequest shipped = request_with_data("llama", file, "no");
  shipped.workload.data_file = shipped.workload.data_sha256 = "";
  const TrainingTrace own = train(shipped);
  CHECK_FALSE(own.result.data);
  CHECK(own.result.workload_digest != one.result.workload_digest);
}

TEST_CASE("a model that reads no such file refuses it, and a file that changed stops before a step", "[worker]") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "my.jsonl";
  const auto cause = [](const CellRequest& request) {
    try {
      train(request);
    } catch (const RunFailure& failure) {
      return failure.cause();
    }
    return std::string();
  };
  CHECK(cause(request_with_data("mlp", file, "no")) == "bad_request");
  const CellRequest planned = request_with_data("llama", file, "no");
  CHECK(cause(planned).empty());
  std::ofstream(file, std::ios::app) << "\n";
  CHECK(cause(planned) == "input_changed");
}

}  // namespace
}  // namespace reprobench
