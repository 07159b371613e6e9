// The built binary on DeepSpeed configurations: what it prints, and the code it ends with.
#include <cstdlib>
#include <fstream>

#include <nlohmann/json.hpp>

#include "ci/catch.hpp"
#include "matrix/cli/text/text_table.hpp"
#include "matrix/cli/workplace_fixture.hpp"

namespace reprobench {
namespace {

const std::string kConfigurations = REPROBENCH_SOURCE_ROOT "/matrix/lint/testdata/";

SubprocessResult linted(std::vector<std::string> words) {
  words.insert(words.begin(), {kBinary, "lint"});
  for (const char* name : {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"}) {
    unsetenv(name);
  }
  return call(words);
}

std::vector<std::string> known(const std::string& file) {
  return {kConfigurations + file, "--params", "1.3B",          "--world-size", "8",           "--gpus-per-host", "8",
          "--gpu-memory",         "80GiB",    "--host-memory", "1024GiB",      "--deepspeed", "0.16.4"};
}

TEST_CASE("lint ends with 0, 1 or 2, and with 1 for warnings if it is strict", "[e2e]") {
  CHECK(linted(known("clean_zero2_bf16.json")).exit_code == 0);
  CHECK(linted(known("client_optimizer.json")).exit_code == 0);
  auto strict = known("client_optimizer.json");
  strict.push_back("--strict");
  CHECK(linted(strict).exit_code == 1);
  auto clean_strict = known("clean_zero2_bf16.json");
  clean_strict.push_back("--strict");
  CHECK(linted(clean_strict).exit_code == 0);
  CHECK(linted(known("batch_mismatch.json")).exit_code == 1);
  CHECK(linted({}).exit_code == 2);
  CHECK(linted({"no-such-file.json"}).exit_code == 2);
  for (const std::vector<std::string>& wrong : {std::vector<std::string>{"--params", "many"},
                                                {"--gpu-memory", "80"},
                                                {"--host-memory", "x"},
                                                {"--world-size", "0"},
                                                {"--model", "no/such"},
                                                {"--params", "1B", "--model", "mlp"},
                                                {"--stack", "torch-0.0"},
                                                {"--offload-root", "/no/such"},
                                                {"--ignore", "no_such_key"},
                                                {"--largest-layer", "-1"}}) {
    std::vector<std::string> words = wrong;
    words.insert(words.begin(), kConfigurations + "clean_stage0.json");
    CAPTURE(wrong);
    CHECK(linted(words).exit_code == 2);
  }
}

TEST_CASE("a file that is no JSON is refused at its place", "[e2e]") {
  const Workplace place;
  std::ofstream(place / "ds.json") << "{\n  \"a\": 1,\n}";
  const auto result = linted({(place / "ds.json").string()});
  CHECK(result.exit_code == 2);
  CHECK_THAT(result.err, Catch::Contains("ds.json:3:1: error[RB005]: not valid JSON: a comma before `}`"));
}

TEST_CASE("findings are shown with place, word, remedy and the last line's counts", "[e2e]") {
  const auto result = linted(known("batch_mismatch.json"));
  CHECK_THAT(result.out, Catch::Contains("batch_mismatch.json:4:3: error[DS020]:"));
  CHECK_THAT(result.out, Catch::Contains("  do: change one of the factors"));
  CHECK_THAT(result.out, Catch::Contains("\nmemory      1300000000 parameters of 2 B, 8 ranks, 8 a host, stage 1"));
  CHECK_THAT(result.out,
             Catch::Contains("\n1 error, 0 warnings, ") && Catch::Contains("; judged 6 of 6 values; not judged: "));
}

TEST_CASE("what lint prints is at most 80 columns wide, but for long words", "[e2e]") {
  const Workplace place;
  for (const char* file : {"trainer_zero3_offload.json", "typos.json", "two_devices.json", "infinity_nvme.json"}) {
    std::filesystem::copy_file(kConfigurations + file, place / "ds.json",
                               std::filesystem::copy_options::overwrite_existing);
    SubprocessOptions options;
    options.environment = inherited_environment();
    options.command = {
        "/bin/sh", "-c",
        "cd '" + (place / "").string() + "' && '" + kBinary + "' lint ds.json --params 7B --world-size 8"};
    std::istringstream lines(run_subprocess(options).out);
    for (std::string line; std::getline(lines, line);) {
      CAPTURE(file, line);
      const std::size_t start = line.find_first_not_of(' ');
      const bool is_one_word = start == std::string::npos || line.find(' ', start) == std::string::npos;
      CHECK((columns(line) <= 80 || is_one_word));
    }
  }
}

TEST_CASE("--json is one document, and hostile text does not move the cursor", "[e2e]") {
  auto words = known("two_devices.json");
  words.push_back("--json");
  const auto result = linted(words);
  const auto document = nlohmann::json::parse(result.out);
  CHECK(document.at("schema") == "reprobench/lint");
  CHECK(document.at("coverage").at("values") == 12);
  CHECK(document.at("memory").at("gpu").at("limit_bytes") == 80LL << 30);
  const Workplace place;
  std::ofstream(place / "ds.json") << R"({"\u001b[31mred": 1, "train_batch_size": 8, "steps_per_print": "\u202e"})";
  for (const char* format : {"--quiet", "--json"}) {
    const auto hostile = linted({(place / "ds.json").string(), format});
    CHECK(hostile.out.find('\x1b') == std::string::npos);
    CHECK(hostile.out.find("\xE2\x80\xAE") == std::string::npos);
    CHECK(hostile.exit_code == 1);
  }
}

TEST_CASE("WORLD_SIZE is taken where --world-size is not given, and its use is said", "[e2e]") {
  setenv("WORLD_SIZE", "2", 1);
  const auto result = call({kBinary, "lint", kConfigurations + "batch_mismatch.json", "--json"});
  unsetenv("WORLD_SIZE");
  const auto document = nlohmann::json::parse(result.out);
  std::string codes;
  for (const auto& finding : document.at("findings")) codes += finding.at("code").get<std::string>() + " ";
  CHECK_THAT(codes, Catch::Contains("DS080"));   // WORLD_SIZE alone
  CHECK_THAT(codes, !Catch::Contains("DS020"));  // 64 = 4 x 8 x 2
  CHECK_THAT(codes, Catch::Contains("DS075"));   // no model
}

TEST_CASE("lint --rules prints the table of its page", "[e2e]") {
  const auto result = linted({"--rules"});
  CHECK(result.exit_code == 0);
  CHECK_THAT(result.out, Catch::Contains("| DS020 | error |"));
  CHECK(read_file(REPROBENCH_SOURCE_ROOT "/matrix/lint/rules.md").find(result.out) != std::string::npos);
}

TEST_CASE("lint --help has an example, its options and its exit codes", "[e2e]") {
  const auto result = linted({"--help"});
  CHECK(result.exit_code == 0);
  for (const char* word : {"Example: reprobench lint", "--world-size", "--strict", "1 errors found"}) {
    CHECK_THAT(result.out, Catch::Contains(word));
  }
}

}  // namespace
}  // namespace reprobench
