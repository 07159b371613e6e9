#include "matrix/exec/shepherd/exit_writer.hpp"

#include "ci/catch.hpp"
#include "matrix/contract/exit_record.hpp"

namespace reprobench {
namespace {

ExitRecord parsed(const ExitAccount& account) {
  char text[4096];
  const std::size_t length = format_exit_account(account, text, sizeof text);
  return exit_record_from_json(nlohmann::json::parse(std::string(text, length)));
}

TEST_CASE("the shepherd's exit.json is the contract's document", "[exec]") {
  ExitAccount account;
  account.nonce = "0123456789abcdef";
  account.exit_code = 3;
  account.stopped_by = "runner_death";
  account.leaked_processes = 2;
  account.max_rss_bytes = 1ll << 40;
  account.stderr_bytes = 17;
  const ExitRecord record = parsed(account);
  CHECK(record.nonce == account.nonce);
  CHECK(record.exit_code == 3);
  CHECK_FALSE(record.signal);
  CHECK(record.stopped_by == StoppedBy::runner_death);
  CHECK(record.leaked_processes == 2);
  CHECK(record.max_rss_bytes == 1ll << 40);
  CHECK(record.stderr_bytes == 17);
}

TEST_CASE("every field the contract writes is in the shepherd's text, and no other", "[exec]") {
  char text[4096];
  const std::size_t length = format_exit_account({}, text, sizeof text);
  CHECK(nlohmann::json::parse(std::string(text, length)) == to_json(ExitRecord{}));
}

TEST_CASE("a launch error with quotes and bytes that are not ASCII stays valid JSON", "[exec]") {
  ExitAccount account;
  account.nonce = "0123456789abcdef";
  account.launch_error = "cannot execute /a\"b\\c\xff\n: No such file or directory";
  CHECK(parsed(account).launch_error == "cannot execute /a\"b\\c??: No such file or directory");
}

TEST_CASE("a text that does not fit is not written half", "[exec]") {
  char text[64];
  CHECK(format_exit_account({}, text, sizeof text) == 0);
}

}  // namespace
}  // namespace reprobench
