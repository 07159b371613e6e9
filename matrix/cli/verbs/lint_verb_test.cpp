// What `lint` gathers before it judges: from options, variables, the host, an installed stack; and what it refuses.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "ci/catch.hpp"
#include "ci/thrown.hpp"
#include "matrix/cli/verbs/verb_fixture.hpp"
#include "matrix/host/detect_host.hpp"
#include "matrix/host/fake_nvml_scene.hpp"
#include "matrix/spec/diagnostics.hpp"

namespace reprobench {
namespace {

using Catch::Contains;
using nlohmann::json;
using Texts = std::vector<std::string>;

// A host without the variables of a launcher.
struct LintPlace : SmallProject {
  TemporaryVariable rank{"RANK", std::nullopt};
  TemporaryVariable world{"WORLD_SIZE", std::nullopt};
  TemporaryVariable local_rank{"LOCAL_RANK", std::nullopt};
  TemporaryVariable local_world{"LOCAL_WORLD_SIZE", std::nullopt};
  TemporaryVariable address{"MASTER_ADDR", std::nullopt};
  TemporaryVariable port{"MASTER_PORT", std::nullopt};

  std::string file(
      const std::string& text = R"({"train_micro_batch_size_per_gpu": 4, "zero_optimization": {"stage": 1}})") const {
    return written_file(*this / "ds.json", text);
  }
  Said lint(Texts words) const { return said_by(&declare_lint, store(), std::move(words)); }
  json document(Texts words) const {
    words.insert(words.begin(), {file(), "--json"});
    return json::parse(lint(words).out);
  }
  std::string text(Texts words) const {
    words.insert(words.begin(), file());
    return lint(words).out;
  }
};

TEST_CASE("numbers that were not given are taken from the launcher's variables, if they are numbers", "[cli]") {
  const LintPlace place;
  const Texts model{"--params", "1000000000", "--gpu-memory", "80GiB"};
  const auto memory_line = [&] {
    const std::string text = place.text(model);
    const auto begin = text.find("memory      ");
    return begin == std::string::npos ? "no such line" : text.substr(begin, text.find('\n', begin) - begin);
  };
  {
    const TemporaryVariable world("WORLD_SIZE", "16");
    const TemporaryVariable local("LOCAL_WORLD_SIZE", "8");
    CHECK_THAT(memory_line(), Contains("1000000000 parameters") && Contains(" 16 ranks, 8 a host"));
    CHECK_THAT(place.text({"--params", "1B", "--world-size", "32", "--gpus-per-host", "4", "--gpu-memory", "80GiB"}),
               Contains(" 32 ranks, 4 a host"));
  }
  for (const char* none : {"many", "0", "16x", "1000001", "-1", ""}) {
    const TemporaryVariable world("WORLD_SIZE", none);
    CAPTURE(none);
    CHECK_THAT(memory_line(), !Contains(" ranks"));
  }
  for (const char* number : {"1", "1000000"}) {
    const TemporaryVariable world("WORLD_SIZE", number);
    const TemporaryVariable local("LOCAL_WORLD_SIZE", "1");
    CAPTURE(number);
    CHECK_THAT(place.text(model), Contains(std::string(number) + " rank"));
  }
}

TEST_CASE("memory is what was given, or this host's", "[cli]") {
  const LintPlace place;
  const Texts ranks{"--params", "1B", "--world-size", "8", "--gpus-per-host", "8"};
  const auto with = [&](Texts more) {
    more.insert(more.begin(), ranks.begin(), ranks.end());
    return place.document(more).at("memory");
  };
  CHECK(with({"--gpu-memory", "80GiB", "--host-memory", "1024GiB"}).at("gpu").at("limit_bytes") == 80LL << 30);
  CHECK(with({"--gpu-memory", "80GiB", "--host-memory", "1024GiB"}).at("host").at("limit_bytes") == 1024LL << 30);
  CHECK(with({"--gpu-memory", "80GiB"}).at("host").at("limit_bytes") == detect_host().memory_bytes);
}

TEST_CASE("a host's GPUs say how many ranks it holds and how small its smallest is", "[cli][process]") {
  nlohmann::json small = fake_gpu("GPU-b");
  small["memory_bytes"] = 40LL << 30;
  const FakeNvmlScene scene(json{{"gpus", json::array({fake_gpu("GPU-a"), small, fake_gpu("GPU-c")})}});
  const TemporaryVariable library("REPROBENCH_NVML_LIBRARY", FakeNvmlScene::library());
  const LintPlace place;
  const json memory = place.document({"--params", "1B", "--world-size", "6"}).at("memory");
  CHECK(memory.at("gpu").at("limit_bytes") == 40LL << 30);
  CHECK_THAT(memory.at("gpu").at("limit_source").get<std::string>(), Catch::StartsWith("this host's "));
  CHECK_THAT(place.text({"--params", "1B", "--world-size", "6"}), Contains(" 6 ranks, 3 a host"));
  CHECK_THAT(place.text({"--params", "1B", "--world-size", "6", "--gpus-per-host", "2"}), Contains(", 2 a host"));
}

TEST_CASE("a model is what an installed stack's worker says of it", "[cli]") {
  const LintPlace place;
  const auto refused = [&](const Texts& words) { return message_of<UsageError>([&] { place.text(words); }); };
  CHECK(refused({"--model", "mlp/base"}) ==
        "no stack is installed that could say how large `mlp/base` is; install one or give --params");
  place.install("new", small_capability(), /*with_worker=*/false);
  CHECK_THAT(refused({"--model", "mlp/base"}), Contains("no stack is installed"));
  place.install("old", small_capability());
  const Texts ranks{"--world-size", "1", "--gpus-per-host", "1", "--gpu-memory", "80GiB"};
  const auto parameters = [&](const std::string& model) {
    Texts words{"--model", model};
    words.insert(words.end(), ranks.begin(), ranks.end());
    return place.text(words);
  };
  CHECK_THAT(parameters("mlp"), Contains("101770 parameters"));
  CHECK_THAT(parameters("mlp/base"), Contains("101770 parameters"));
  CHECK_THAT(parameters("mlp/wide"), Contains("2000000 parameters"));
  CHECK_THAT(refused({"--model", "mlp/wid"}),
             Catch::StartsWith("there is no workload `mlp/wid`; did you mean `mlp/wide`?"));
  CHECK_THAT(refused({"--model", "mpl"}), Contains("there is no workload `mpl`"));
  CHECK(refused({"--model", "mlp", "--params", "1B"}) == "give --params or --model, not both");
}

TEST_CASE("options that are no numbers, sizes, folders or keys are refused by their words", "[cli]") {
  const LintPlace place;
  const auto refused = [&](const Texts& words) { return message_of<UsageError>([&] { place.text(words); }); };
  CHECK(refused({"--params", "many"}) ==
        "--params must be a number of parameters such as 1300000000, 1.3e9 or 1.3B, got `many`");
  CHECK(refused({"--largest-layer", "x"}) ==
        "--largest-layer must be a number of parameters such as 1300000000, 1.3e9 or 1.3B, got `x`");
  CHECK(refused({"--gpu-memory", "80"}) == "--gpu-memory must be a size such as 80GiB, got `80`");
  CHECK(refused({"--host-memory", "x"}) == "--host-memory must be a size such as 80GiB, got `x`");
  CHECK(refused({"--offload-root", "/no/such"}) == "--offload-root /no/such is no folder");
  CHECK(refused({"--ignore", "zero_optimization", "--ignore", "no_such"}) ==
        "--ignore no_such: the file has no such key");
  CHECK(refused({"--ignore", "zero_optimization"}) == "nothing was thrown");
  CHECK_THAT(refused({"--stack", "nwe"}), Contains("no stack `nwe`; did you mean `new`?"));
  CHECK_THROWS_WITH(place.lint({}), "name a DeepSpeed configuration, such as ds_config.json");
}

TEST_CASE("errors fail, warnings where that is asked, and the rules are a page", "[cli]") {
  const LintPlace place;
  const std::string tests = REPROBENCH_SOURCE_ROOT "/matrix/lint/testdata/";
  const auto code = [&](const std::string& file, const Texts& more = {}) {
    Texts words{tests + file,   "--params", "1.3B",          "--world-size", "8",           "--gpus-per-host", "8",
                "--gpu-memory", "80GiB",    "--host-memory", "1024GiB",      "--deepspeed", "0.16.4"};
    words.insert(words.end(), more.begin(), more.end());
    return place.lint(words).code;
  };
  CHECK(code("clean_zero2_bf16.json") == ExitCode::passed);
  CHECK(code("clean_zero2_bf16.json", {"--strict"}) == ExitCode::passed);
  CHECK(code("client_optimizer.json") == ExitCode::passed);
  CHECK(code("client_optimizer.json", {"--strict"}) == ExitCode::failed);
  CHECK(code("batch_mismatch.json") == ExitCode::failed);
  CHECK(code("batch_mismatch.json", {"--strict"}) == ExitCode::failed);
  const Said rules = place.lint({"--rules"});
  CHECK(rules.code == ExitCode::passed);
  CHECK_THAT(rules.out, Contains("| DS020 | error |"));
}

Texts codes_of(const json& document) {
  Texts codes;
  for (const json& finding : document.at("findings")) codes.push_back(finding.at("code"));
  return codes;
}

TEST_CASE("a port that is taken is found where MASTER_PORT names it", "[cli]") {
  const LintPlace place;
  const Texts free = codes_of(place.document({}));
  const int listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  REQUIRE(bind(listening, reinterpret_cast<sockaddr*>(&address), size) == 0);
  REQUIRE(listen(listening, 1) == 0);
  REQUIRE(getsockname(listening, reinterpret_cast<sockaddr*>(&address), &size) == 0);
  const TemporaryVariable port("MASTER_PORT", std::to_string(ntohs(address.sin_port)));
  const TemporaryVariable master("MASTER_ADDR", "127.0.0.1");
  const Texts taken = codes_of(place.document({}));
  close(listening);
  const Texts again = codes_of(place.document({}));
  CHECK(taken.size() == again.size() + 1);
}

TEST_CASE("a stack's CUDA is held against this host's driver, and offload against its root", "[cli]") {
  const LintPlace place;
  CHECK_NOTHROW(place.text({"--stack", "new"}));
  place.add_stack("bad", "schema: [");
  CHECK_THROWS_AS(place.text({"--stack", "bad"}), SpecError);
  std::filesystem::create_directories(place / "nvme");
  const std::string text = R"({"train_micro_batch_size_per_gpu": 4, "zero_optimization": {"stage": 3, "offload_param":
    {"device": "nvme", "nvme_path": ")" +
                           (place / "nvme").string() + R"("}}, "bf16": {"enabled": true}})";
  const auto codes = [&](const std::string& root) {
    return codes_of(json::parse(place.lint({place.file(text), "--json", "--offload-root", root}).out));
  };
  CHECK(codes((place / "").string()).size() == codes((place / "nvme").string()).size());
  CHECK(codes("/usr").size() == codes((place / "nvme").string()).size() + 1);
}

}  // namespace
}  // namespace reprobench
