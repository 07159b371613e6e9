#include "matrix/cli/text/selftest_text.hpp"

#include "ci/catch.hpp"

namespace reprobench {
namespace {

TEST_CASE("a selftest says first what it is not, and last what became of each row", "[cli]") {
  SelftestRow found;
  found.fault = "weight_ulp";
  found.workload = "mlp/base";
  found.planted = found.found = 3;
  found.located = 2;
  found.passed = true;
  SelftestRow clean;
  clean.fault = "nothing";
  clean.planted = 5;
  clean.false_alarms = 1;
  clean.problem = "a clean run differs";
  const std::string text = to_text({found, clean}, {"torch-2.8.0-cu128", {}}, Terminal());
  CHECK_THAT(text,
             Catch::StartsWith(
                 "SELFTEST on torch-2.8.0-cu128: does reprobench find what it plants? No verdict on the stack\n"));
  CHECK_THAT(text, Catch::EndsWith("3 faults planted: 3 found, 2 of them where they are, 0 gave the same bits; 5 clean "
                                   "runs: 1 false alarms\n1 passed, 1 failed\n"));
}

TEST_CASE("a selftest fails where a row did not pass", "[cli]") {
  SelftestRow good;
  good.passed = true;
  good.planted = 1;
  CHECK(exit_code_of({good, good}, {}) == ExitCode::passed);
  CHECK(exit_code_of({good, SelftestRow()}, {}) == ExitCode::failed);
  CHECK(exit_code_of({SelftestRow(), good}, {}) == ExitCode::failed);
}

TEST_CASE("a selftest in which nothing was planted, or nothing changed a bit, is undecided", "[cli]") {
  SelftestRow clean;
  clean.fault = "nothing";
  clean.planted = 4;
  clean.passed = true;
  SelftestRow fault = clean;
  fault.fault = "gelu_constant beside cpu_isa=default";
  fault.planted = 2;
  const auto code = [](const std::vector<SelftestRow>& rows, std::vector<std::string> asked = {}) {
    SelftestSettings settings;
    settings.faults = std::move(asked);
    const ExitCode ended = exit_code_of(rows, settings);
    const std::string text = to_text(rows, settings, Terminal());
    CHECK((text.find("UNDECIDED: ") == std::string::npos) == (ended == ExitCode::passed));
    return ended;
  };
  CHECK(code({}) == ExitCode::undecided);
  CHECK(code({clean}) == ExitCode::undecided);
  CHECK(code({clean, fault}) == ExitCode::passed);
  CHECK(code({clean, fault}, {"gelu_constant"}) == ExitCode::passed);
  CHECK(code({clean, fault}, {"gelu_constant", "weight_ulp"}) == ExitCode::undecided);
  CHECK(code({clean, fault}, {"gelu"}) == ExitCode::undecided);
  fault.without_effect = 1;
  CHECK(code({clean, fault}) == ExitCode::passed);
  fault.without_effect = 2;
  CHECK(code({clean, fault}) == ExitCode::undecided);
}

TEST_CASE("how often compare --explain was asked stands in the row, and nothing where it was not", "[cli]") {
  SelftestRow row;
  row.fault = "tf32";
  row.workload = "gpt2/tiny";
  const auto line_of = [&] {
    const std::string text = to_text({row}, {"stack", {}}, Terminal());
    const std::size_t begin = text.find("gpt2/tiny");
    return text.substr(begin, text.find('\n', begin) - begin);
  };
  CHECK_THAT(line_of(), !Catch::Contains(" of "));
  row.explained = 1;
  CHECK_THAT(line_of(), Catch::Contains("  0 of 1"));
  row.explained = 2;
  row.explained_right = 1;
  CHECK_THAT(line_of(), Catch::Contains("  1 of 2"));
}

}  // namespace
}  // namespace reprobench
