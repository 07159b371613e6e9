// Answers that are kept beside a worker. The worker here is a shell script that counts how often it was started.
#include "matrix/exec/kept_predictions.hpp"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iterator>
#include <sstream>
#include <thread>
#include <vector>

#include <unistd.h>

#include "ci/catch.hpp"
#include "ci/temporary.hpp"
#include "matrix/exec/memory_question.hpp"

namespace reprobench {
namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& file) {
  std::ostringstream text;
  text << std::ifstream(file, std::ios::binary).rdbuf();
  return text.str();
}

class Stack {
 public:
  Stack() { build(1000); }

  // A worker that says of a batch of N that it takes `bytes` + N.
  void build(std::int64_t bytes) {
    AttemptMemory need;
    need.parameter_bytes = 424'242;
    MemoryPredictions answer;
    answer.needs = {need};
    const std::string each = to_json(answer).at("needs").at(0).dump();
    std::string around = to_json(answer).dump();
    around.replace(around.find(each), each.size(), "NEEDS");
    std::ofstream(program()) << "#!/bin/sh\necho started >> '" << starts().string() << "'\n"
                             << "list=$(grep -o '\"batch_size\":[0-9]*' \"$2\" | cut -d: -f2 | while read -r size; do\n"
                             << "printf '%s' '" << each << "' | sed \"s/424242/$((size + " << bytes
                             << "))/\"; printf ,; done)\n"
                             << "printf '%s' '" << around << "' | sed \"s/NEEDS/${list%,}/\"\n";
    fs::permissions(program(), fs::perms::owner_all);
  }

  WorkerCommand worker() const {
    WorkerCommand worker;
    worker.command = {program()};
    worker.kept_answers = folder_;
    return worker;
  }
  std::int64_t asked(const CellRequest& request, const WorkerCommand& worker) const {
    return predicted_needs({request}, worker).at(0).parameter_bytes;
  }
  std::int64_t asked(const CellRequest& request) const { return asked(request, worker()); }

  std::size_t started() const {
    const std::string text = text_of(starts());
    return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  }
  fs::path kept() const { return folder_ / KeptPredictions::kFileName; }
  const fs::path& folder() const { return folder_; }

 private:
  fs::path program() const { return folder_ / "worker"; }
  fs::path starts() const { return folder_ / "starts"; }

  TemporaryFolder place_;
  fs::path folder_ = place_.path;
};

CellRequest trains(std::int64_t batch_size) {
  CellRequest request;
  request.stack = "a";
  request.device = "cpu";
  request.workload = {"mlp", "base", 20, batch_size};
  return request;
}

TEST_CASE("a worker is asked once, and for what it was not asked before", "[exec]") {
  const Stack stack;
  CHECK(stack.asked(trains(32)) == 1032);
  CHECK(stack.asked(trains(32)) == 1032);
  CHECK(stack.started() == 1);
  CHECK(stack.asked(trains(64)) == 1064);
  CHECK(stack.started() == 2);
  for (const auto& batches : {std::vector<std::int64_t>{64, 96, 32, 128}, {128, 64, 96}}) {
    std::vector<CellRequest> requests;
    for (const std::int64_t batch : batches) requests.push_back(trains(batch));
    const auto needs = predicted_needs(requests, stack.worker());
    REQUIRE(needs.size() == batches.size());
    for (std::size_t i = 0; i < batches.size(); ++i) CHECK(needs[i].parameter_bytes == 1000 + batches[i]);
    CHECK(stack.started() == 3);
  }
}

TEST_CASE("another worker is asked anew, in whatever it is another one", "[exec]") {
  Stack stack;
  stack.asked(trains(32));
  SECTION("built again") {
    stack.build(20'000);
    CHECK(stack.asked(trains(32)) == 20'032);
    CHECK(stack.asked(trains(32)) == 20'032);
    CHECK(stack.started() == 2);
  }
  SECTION("of the same time, and of another size") {
    const fs::path program = stack.worker().command.front();
    const auto changed = fs::last_write_time(program);
    stack.build(20'000);
    fs::last_write_time(program, changed);
    CHECK(stack.asked(trains(32)) == 20'032);
  }
  SECTION("of the same size, and of another time") {
    fs::last_write_time(stack.worker().command.front(), fs::file_time_type::clock::now() - std::chrono::hours(1));
    stack.asked(trains(32));
    CHECK(stack.started() == 2);
  }
  SECTION("other variables") {
    WorkerCommand worker = stack.worker();
    worker.environment["LD_LIBRARY_PATH"] = "/elsewhere";
    stack.asked(trains(32), worker);
    CHECK(stack.started() == 2);
  }
  SECTION("another command") {
    WorkerCommand worker = stack.worker();
    worker.command.push_back("predict");
    stack.asked(trains(32), worker);
    CHECK(stack.started() == 2);
  }
}

TEST_CASE("an answer that is cut or edited is no answer, at any byte of the file", "[exec]") {
  const Stack stack;
  stack.asked(trains(32));
  const std::string whole = text_of(stack.kept());
  const std::string question = to_json(memory_question(trains(32))).dump();
  REQUIRE(KeptPredictions(stack.worker()).find(question) != nullptr);
  const auto is_taken = [&](const std::string& text) {
    std::ofstream(stack.kept(), std::ios::binary) << text;
    return KeptPredictions(stack.worker()).find(question) != nullptr;
  };
  CHECK(is_taken(whole));
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string edited = whole;
    edited[at] = edited[at] == '1' ? '2' : '1';
    CAPTURE(at);
    REQUIRE_FALSE(is_taken(edited));
    REQUIRE_FALSE(is_taken(whole.substr(0, at)));
  }
  CHECK_FALSE(is_taken(whole + " "));
  stack.asked(trains(32));
  CHECK(stack.started() == 2);
  CHECK(text_of(stack.kept()) == whole);
}

TEST_CASE("a worker that cannot say is asked the next time again", "[exec]") {
  const Stack stack;
  WorkerCommand worker = stack.worker();
  worker.command = {"/bin/false"};
  CHECK(predicted_needs({trains(32)}, worker).at(0).why_not == "its worker cannot say");
  CHECK_FALSE(fs::exists(stack.kept()));
}

TEST_CASE("what a worker says of a user's file is not kept, nor anything of a worker without a folder for it",
          "[exec]") {
  const Stack stack;
  CellRequest weights = trains(32);
  weights.workload.weights_sha256 = std::string(64, 'a');
  weights.workload.weights_file = "/weights";
  stack.asked(weights);
  stack.asked(weights);
  CHECK(stack.started() == 2);
  CHECK_FALSE(fs::exists(stack.kept()));
  WorkerCommand given = stack.worker();
  given.kept_answers.clear();
  stack.asked(trains(32), given);
  stack.asked(trains(32), given);
  CHECK(stack.started() == 4);
  CHECK_FALSE(fs::exists(stack.kept()));
}

TEST_CASE("a folder that cannot be written costs nothing but the next question", "[exec]") {
  const Stack stack;
  WorkerCommand worker = stack.worker();
  worker.kept_answers = stack.folder() / "not there";
  CHECK(stack.asked(trains(32), worker) == 1032);
  CHECK(stack.asked(trains(32), worker) == 1032);
  CHECK(stack.started() == 2);
}

TEST_CASE("a file of answers does not grow without end", "[exec]") {
  const Stack stack;
  KeptPredictions kept(stack.worker());
  AttemptMemory need;
  need.parameter_bytes = 1;
  for (std::size_t i = 0; i <= KeptPredictions::kMost; ++i) kept.add(std::to_string(i), need);
  CHECK(kept.find(std::to_string(KeptPredictions::kMost - 1)) != nullptr);
  CHECK(kept.find(std::to_string(KeptPredictions::kMost)) == nullptr);
}

TEST_CASE("of two that write at once the file is one's, whole", "[exec]") {
  const Stack stack;
  const auto keep = [&](std::int64_t bytes) {
    AttemptMemory need;
    need.parameter_bytes = bytes;
    for (int i = 0; i < 10; ++i) {
      KeptPredictions kept(stack.worker());
      for (int k = 0; k < 20; ++k) kept.add(std::to_string(bytes) + std::to_string(i) + std::to_string(k), need);
      kept.write();
    }
  };
  std::thread other([&] { keep(1); });
  keep(2);
  other.join();
  // Whoever wrote last, what is there is read: its last question is among the kept.
  const KeptPredictions kept(stack.worker());
  CHECK((kept.find("1919") != nullptr || kept.find("2919") != nullptr));
  CHECK(std::distance(fs::directory_iterator(stack.folder()), fs::directory_iterator()) == 2);  // worker and file
}

}  // namespace
}  // namespace reprobench
