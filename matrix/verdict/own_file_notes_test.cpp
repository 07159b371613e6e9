#include "matrix/verdict/own_file_notes.hpp"

#include "ci/catch.hpp"

namespace reprobench {
namespace {

std::string only_note(const WorkloadRequest& workload, const CellResult* result) {
  const auto notes = own_file_notes(workload, result);
  REQUIRE(notes.size() == 1);
  return notes.front();
}

TEST_CASE("a cell's note says which file it trained on, and which records the context had no room for", "[verdict]") {
  WorkloadRequest workload{"llama", "tiny", 20, 4};
  CellResult result;
  CHECK(own_file_notes(workload, &result).empty());
  workload.data_sha256 = "1f";
  workload.data_file = "/my.json";
  CHECK(only_note(workload, nullptr) == "data: /my.json, SHA-256 1f");
  CHECK(only_note(workload, &result) == "data: /my.json, SHA-256 1f");
  const auto with = [&](const DataUse& use) {
    result.data = use;
    return only_note(workload, &result);
  };
  CHECK(with({3, 3, 0}) == "data: /my.json, SHA-256 1f: of 3 records 3 are samples");
  CHECK(with({3, 1, 1}) ==
        "data: /my.json, SHA-256 1f: of 3 records 1 is a sample, 2 have no room for a response in the context; of 1 "
        "sample the response is cut");
  CHECK(with({1, 1, 0}) == "data: /my.json, SHA-256 1f: of 1 record 1 is a sample");
  CHECK(with({4, 3, 2}) ==
        "data: /my.json, SHA-256 1f: of 4 records 3 are samples, 1 has no room for a response in the context; of 2 "
        "samples the response is cut");
}

TEST_CASE("a cell's note says whose weights it began with, and what became of the file's tensors", "[verdict]") {
  WorkloadRequest workload{"llama", "tiny", 20, 4};
  workload.weights_sha256 = "2e";
  workload.weights_file = "/my/model.safetensors";
  CellResult result;
  CHECK(only_note(workload, nullptr) == "weights: /my/model.safetensors, SHA-256 2e");
  const auto with = [&](const WeightsUse& use) {
    result.weights = use;
    return only_note(workload, &result);
  };
  CHECK(with({21, 0, 0}) == "weights: /my/model.safetensors, SHA-256 2e: 21 tensors are loaded");
  CHECK(with({1, 1, 1}) ==
        "weights: /my/model.safetensors, SHA-256 2e: 1 tensor is loaded, 1 is drawn, 1 of the file is passed over");
  CHECK(
      with({21, 28, 2}) ==
      "weights: /my/model.safetensors, SHA-256 2e: 21 tensors are loaded, 28 are drawn, 2 of the file are passed over");
  workload.data_sha256 = "1f";
  workload.data_file = "/my.json";
  CHECK(own_file_notes(workload, nullptr) ==
        std::vector<std::string>{"data: /my.json, SHA-256 1f", "weights: /my/model.safetensors, SHA-256 2e"});
}

TEST_CASE("a cell's note says from which file its calls took tensors", "[verdict]") {
  WorkloadRequest workload{"", "base", 0, 0, "operators", 2};
  workload.tensors_sha256 = "3c";
  workload.tensors_file = "/my/x.safetensors";
  const CellResult result;
  CHECK(only_note(workload, nullptr) == "tensors: /my/x.safetensors, SHA-256 3c");
  CHECK(only_note(workload, &result) == "tensors: /my/x.safetensors, SHA-256 3c");
  WorkloadRequest package{"", "base", 0, 0, "package", 2};
  package.package_sha256 = "4d";
  package.package_file = "/my/x.pt2";
  CHECK(only_note(package, &result) == "package: /my/x.pt2, SHA-256 4d");
}

}  // namespace
}  // namespace reprobench
