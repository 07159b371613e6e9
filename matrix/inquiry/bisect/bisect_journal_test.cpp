#include "matrix/inquiry/bisect/bisect_journal.hpp"

#include <csignal>
#include <fstream>

#include <sys/wait.h>
#include <unistd.h>

#include "ci/catch.hpp"
#include "matrix/exec/kept_document.hpp"
#include "matrix/record/run_directory.hpp"
#include "matrix/record/sample_attempt.hpp"

namespace reprobench {
namespace {

using Catch::Contains;

std::string identity(char digit) { return std::string(64, digit); }

StackObservation observation(const std::string& stack, char of = '1') {
  StackObservation seen;
  seen.stack = stack;
  seen.identity = identity(of);
  seen.training = TrainingBits{std::string(32, 'a'), {std::string(32, 'b')}};
  seen.unrepeated = {"the training"};
  return seen;
}

PairKey key(const std::string& stack, char of = '1') { return {stack, identity(of), "old", identity('0'), false}; }

nlohmann::json document_in(const BisectJournal& journal) { return read_kept_document(journal.file(), 1 << 20).value; }

TEST_CASE("what a bisect has seen is there for the next call, for the same stack alone", "[bisect]") {
  const TemporaryFolder store;
  {
    BisectJournal journal(store.path, "bits of x", false);
    journal.keep(observation("new"));
    journal.keep_pair({key("new"), 0, 2, 1});
    journal.keep_pair({key("new"), 1, 3, 1});
  }
  const BisectJournal journal(store.path, "bits of x", false);
  REQUIRE(journal.find("new", identity('1')) != nullptr);
  CHECK(journal.find("new", identity('1'))->training->chains.size() == 1);
  CHECK(journal.find("new", identity('1'))->unrepeated.size() == 1);
  CHECK(journal.find("new", identity('2')) == nullptr);
  CHECK(journal.find("other", identity('1')) == nullptr);
  CHECK(journal.find_pair(key("new"), 1) == std::pair(3.0, 1.0));
  CHECK_FALSE(journal.find_pair(key("new"), 2));
  CHECK_FALSE(journal.find_pair(key("new", '2'), 1));
  PairKey confirmation = key("new");
  confirmation.is_confirmation = true;
  CHECK_FALSE(journal.find_pair(confirmation, 1));
  CHECK(BisectJournal(store.path, "bits of y", false).find("new", identity('1')) == nullptr);
  CHECK(BisectJournal(store.path, "bits of x", true).find("new", identity('1')) == nullptr);
}

TEST_CASE("a stack that is another one now takes its entries along", "[bisect]") {
  const TemporaryFolder store;
  BisectJournal journal(store.path, "q", false);
  journal.keep(observation("new"));
  journal.keep(observation("new", '2'));
  CHECK(journal.find("new", identity('1')) == nullptr);
  CHECK(journal.find("new", identity('2')) != nullptr);
  journal.keep_pair({key("new"), 0, 2, 1});
  journal.keep_pair({key("newer"), 0, 2, 1});
  journal.keep_pair({key("new", '2'), 0, 5, 1});
  CHECK_FALSE(journal.find_pair(key("new"), 0));
  CHECK(journal.find_pair(key("newer"), 0));
  CHECK(journal.find_pair(key("new", '2'), 0) == std::pair(5.0, 1.0));
  PairKey other_reference = key("third");
  other_reference.reference_identity = identity('9');
  journal.keep_pair({other_reference, 0, 2, 1});
  CHECK_FALSE(journal.find_pair(key("newer"), 0));
}

CheckObservation seen_check(const std::string& stack, char of = '1', bool is_confirmation = false) {
  CheckObservation seen;
  seen.stack = stack;
  seen.identity = identity(of);
  seen.is_confirmation = is_confirmation;
  seen.check.ratio = 1.85;
  return seen;
}

TEST_CASE("a check that was run is there for the next call, and what confirms it is kept apart", "[bisect]") {
  const TemporaryFolder store;
  {
    BisectJournal journal(store.path, "q", false);
    journal.keep_check(seen_check("new"));
    journal.keep_check(seen_check("newer"));
  }
  BisectJournal journal(store.path, "q", false);
  REQUIRE(journal.find_check("new", identity('1'), false) != nullptr);
  CHECK(journal.find_check("new", identity('1'), false)->check.ratio == 1.85);
  CHECK(journal.find_check("new", identity('2'), false) == nullptr);
  CHECK(journal.find_check("new", identity('1'), true) == nullptr);
  journal.keep_check(seen_check("new", '1', true));
  CHECK(journal.find_check("new", identity('1'), false) != nullptr);
  journal.keep_check(seen_check("new", '2'));  // of another build: neither counts any more
  CHECK(journal.find_check("new", identity('1'), true) == nullptr);
  CHECK(journal.find_check("new", identity('1'), false) == nullptr);
  CHECK(journal.find_check("newer", identity('1'), false) != nullptr);
}

TEST_CASE("a pair that is kept twice counts once", "[bisect]") {
  const TemporaryFolder store;
  BisectJournal journal(store.path, "q", false);
  journal.keep_pair({key("new"), 0, 2, 1});
  journal.keep_pair({key("new"), 0, 4, 1});
  CHECK(document_in(journal).at("pairs").size() == 1);
  CHECK(journal.find_pair(key("new"), 0) == std::pair(4.0, 1.0));
}

TEST_CASE("a bisect that is killed at any moment leaves a journal that can be read, with all but the last entry",
          "[bisect][process]") {
  for (int wait_us = 0; wait_us < 40'000; wait_us += 4'000) {
    const TemporaryFolder store;
    const pid_t child = fork();
    if (child == 0) {
      BisectJournal journal(store.path, "q", false);
      for (int i = 0;; ++i) journal.keep_pair({key("new"), i, 1.0 + i, 1});
    }
    usleep(static_cast<useconds_t>(wait_us));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    const BisectJournal journal(store.path, "q", false);
    int kept = 0;
    while (journal.find_pair(key("new"), kept)) ++kept;
    CHECK_FALSE(journal.find_pair(key("new"), kept + 1));
    if (std::filesystem::exists(journal.file())) {
      CHECK(document_in(journal).at("pairs").size() == static_cast<std::size_t>(kept));
    }
  }
}

TEST_CASE("a damaged journal, and one of another question, are never read as nothing", "[bisect]") {
  const TemporaryFolder store;
  BisectJournal journal(store.path, "q", false);
  journal.keep(observation("new"));
  const std::string text = read_file(journal.file());
  std::string another_digit = text;
  another_digit[another_digit.rfind('b')] = 'c';
  for (const std::string& damaged :
       {text.substr(0, text.size() / 2), another_digit, std::string("{}"), std::string()}) {
    std::ofstream(journal.file(), std::ios::binary) << damaged;
    CHECK_THROWS_WITH(BisectJournal(store.path, "q", false), Contains("remove it"));
  }
  journal.keep(observation("new"));
  auto document = document_in(journal);
  document["question"] = "p";
  keep_document(journal.file(), document);
  CHECK_THROWS_WITH(BisectJournal(store.path, "q", false), Contains("another question"));
}

}  // namespace
}  // namespace reprobench
