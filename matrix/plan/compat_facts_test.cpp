// The shipped facts, and facts that contradict each other: each change of the shipped file here is refused.
#include "matrix/plan/compat_facts.hpp"

#include <fstream>
#include <functional>

#include "ci/catch.hpp"
#include "ci/thrown.hpp"
#include "matrix/base/contract_error.hpp"
#include "matrix/plan/resolve_fixture.hpp"

using namespace reprobench;
using nlohmann::json;

namespace {

json shipped() {
  std::ifstream file(REPROBENCH_SOURCE_ROOT "/matrix/facts/compat-facts.json");
  return json::parse(file);
}

std::string refusal(const std::function<void(json&)>& change) {
  json facts = shipped();
  change(facts);
  return message_of<ContractError>([&] { compat_facts_from_json(facts); });
}

json& wheel(json& facts, const std::string& torch, const std::string& variant) {
  for (json& row : facts["torch_wheels"]) {
    if (row["torch"] == torch && row["variant"] == variant) return row;
  }
  throw std::runtime_error("no such row");
}

}  // namespace

TEST_CASE("the shipped facts agree with themselves and carry what rows say of a wheel", "[plan]") {
  CHECK(refusal([](json&) {}) == "nothing was thrown");
  const WheelFacts* wheel = shipped_facts().find_wheel("2.13", "cu130");
  REQUIRE(wheel != nullptr);
  CHECK(wheel->released == "2026-07-08");
  CHECK(wheel->python_min == "3.10");
  CHECK(wheel->python_max == "3.14");
  CHECK(wheel->python_experimental == "3.15");
  CHECK(wheel->cxx_standard == 20);
  CHECK(wheel->evidence.confidence == "V");
  CHECK(wheel->evidence.sources == std::vector<std::string>{"E1", "E6", "E20"});
  CHECK(shipped_facts().find_wheel("2.9", "cu128")->python_experimental.empty());
}

TEST_CASE("two rows for the same are refused", "[plan]") {
  CHECK(refusal([](json& facts) { facts["torch_wheels"].push_back(wheel(facts, "2.9", "cu128")); }) ==
        "compat-facts: torch 2.9 cu128 has two rows");
  CHECK(refusal([](json& facts) { facts["cuda_min_driver_linux"].push_back(facts["cuda_min_driver_linux"][0]); }) ==
        "compat-facts: toolkit 11.0.2 has two rows in `cuda_min_driver_linux`");
  CHECK(refusal([](json& facts) {
          facts["cuda_minor_version_floor"].push_back(facts["cuda_minor_version_floor"][0]);
        }) == "compat-facts: CUDA 11 has two rows in `cuda_minor_version_floor`");
  for (const auto& [list, said] :
       std::map<std::string, std::string>{{"cudnn", "cuDNN 8.2 has two rows"},
                                          {"nccl", "NCCL 2.10.3 has two rows"},
                                          {"gpus", "GPU Tesla V100-SXM2-16GB has two rows"},
                                          {"torch_channel_last", "channel cu118 has two rows"},
                                          {"docker_tags", "docker tags of 2.1.0 has two rows"},
                                          {"torch_companions", "companion torchvision has two rows"},
                                          {"arch_support_end", "compute capability 3.0 ends twice"},
                                          {"known_defects", "known defect conv3d-bf16-wrong has two rows"}}) {
    CHECK(refusal([&](json& facts) { facts[list].push_back(facts[list][0]); }) == "compat-facts: " + said);
  }
}

TEST_CASE("rows that cannot both be so are refused", "[plan]") {
  CHECK(refusal([](json& facts) { facts["torch_companions"][0]["torch_of"]["0.24.0"] = "2.9.7"; }) ==
        "compat-facts: torchvision 0.24.0 asks for torch 2.9.7, which `torch_releases` lacks");
  CHECK(refusal([](json& facts) { wheel(facts, "2.9", "cu128")["cuda_toolkit"] = "12.6.3"; }) ==
        "compat-facts: torch 2.9 cu128 has the toolkit 12.6.3, which is cu126");
  CHECK(refusal([](json& facts) { wheel(facts, "2.9", "cu128")["python"] = "3.14-3.10"; }) ==
        "compat-facts: torch 2.9 cu128 has Python 3.14 to 3.10");
  CHECK(refusal([](json& facts) { wheel(facts, "2.9", "cu128")["python"] = "3.9-3.14"; }) ==
        "compat-facts: torch 2.9 cu126 and torch 2.9 cu128 differ in `python`: 3.10 and 3.9");
  CHECK(refusal([](json& facts) { wheel(facts, "2.9", "cu128")["released"] = "2025-11"; }) ==
        "compat-facts: torch 2.9 cu126 and torch 2.9 cu128 differ in `released`: 2025-10 and 2025-11");
  CHECK(refusal([](json& facts) { wheel(facts, "2.9", "cu128")["cxx_standard"] = 20; }) ==
        "compat-facts: torch 2.9 cu126 and torch 2.9 cu128 differ in `cxx_standard`: 17 and 20");
  CHECK(refusal([](json& facts) { wheel(facts, "2.9", "cu128")["cxx11_abi"] = 2; }) ==
        "compat-facts: torch 2.9 cu128 has a cxx11_abi that is neither 0 nor 1");
  CHECK(refusal([](json& facts) { facts["torch_channel_last"][0]["last_torch"] = "2.5.1"; }) ==
        "compat-facts: torch 2.6 cu118 has a row, and cu118 ended with torch 2.5.1");
  CHECK(refusal([](json& facts) { wheel(facts, "2.9", "cu130")["sm"].push_back("7.0"); }) ==
        "compat-facts: torch 2.9 cu130 has kernels for 7.0, and CUDA 12 was the last with Volta 7.x");
  CHECK(refusal([](json& facts) { wheel(facts, "2.9", "cu130")["cudnn"] = "9.10.2.21"; }) ==
        "compat-facts: torch 2.9 cu130 has cuDNN 9.10.2.21, which was not built for its CUDA");
  CHECK(refusal([](json& facts) { facts["cuda_min_driver_linux"][1]["min_driver_linux"] = "450.51.04"; }) ==
        "compat-facts: toolkit 11.0.3 has driver 450.51.04, and the older 11.0.2 has 450.51.05");
  CHECK(refusal([](json& facts) { facts["cuda_minor_version_floor"][1]["min_driver"] = "450.80.02"; }) ==
        "compat-facts: CUDA 11 has the floor 450.80.02, and CUDA 12 has 450.80.02");
}

TEST_CASE("a later release of a line can differ in cuDNN and NCCL alone", "[plan]") {
  CHECK(refusal([](json& facts) { facts["torch_patch_differences"][0]["component"] = "python"; }) ==
        "compat-facts: torch 2.1.1 differs in `python`, which is neither cudnn nor nccl");
}

TEST_CASE("a row without a source that the file knows, or of no known confidence, is refused", "[plan]") {
  CHECK(refusal([](json& facts) { wheel(facts, "2.9", "cu128")["source"] = json::array(); }) ==
        "compat-facts: torch 2.9 cu128 has no source");
  CHECK(refusal([](json& facts) { wheel(facts, "2.9", "cu128")["source"] = {"E99"}; }) ==
        "compat-facts: torch 2.9 cu128 has the source E99, which `sources` lacks");
  CHECK(refusal([](json& facts) { wheel(facts, "2.9", "cu128")["confidence"] = "X"; }) ==
        "compat-facts: torch 2.9 cu128 has the confidence `X`, which is none of V, I and R");
  for (const char* list :
       {"cuda_min_driver_linux", "cuda_minor_version_floor", "torch_channel_last", "docker_tags",
        "torch_patch_differences", "channel_differences", "torch_companions", "cudnn", "nccl", "known_defects"}) {
    INFO(list);
    CHECK_THAT(refusal([&](json& facts) { facts[list][0]["source"] = {"E99"}; }),
               Catch::Contains("has the source E99"));
    CHECK(refusal([&](json& facts) { facts[list][0].erase("confidence"); }) == "compat-facts: `confidence` is missing");
  }
}

TEST_CASE("a known defect of another shape is refused by its name", "[plan]") {
  const auto refused = [](const std::function<void(json&)>& change) {
    return refusal([&](json& facts) { change(facts["known_defects"][0]); });
  };
  const std::string of = "compat-facts: known defect `conv3d-bf16-wrong`: ";
  CHECK(refused([](json& row) { row["components"] = {{"cudnm", ">=9"}}; }) == of + "`cudnm` is no component");
  CHECK(refused([](json& row) {
          row["components"] = {{"cudnn", "9.x"}};
        }) == of + "`9.x` in `9.x` is no bound of a version");
  CHECK(refused([](json& row) { row["components"] = json::object(); }) == of + "`components` names no version");
  CHECK(refused([](json& row) { row["devices"] = {"tpu"}; }) == of + "`tpu` is neither cpu nor gpu");
  CHECK(refused([](json& row) { row["effect"] = "bad"; }) == of + "`bad` is no effect");
}

TEST_CASE("Python of a row is a range, perhaps with an experimental one behind it", "[plan]") {
  for (const char* text : {"3.10", "3.10-3.14 3.15", "3.10-3.14 (3.15)"}) {
    CHECK(refusal([&](json& facts) { wheel(facts, "2.9", "cu128")["python"] = text; }) ==
          std::string("compat-facts: `python` is no range: ") + text);
  }
}
