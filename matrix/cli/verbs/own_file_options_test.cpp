#include "matrix/cli/verbs/own_file_options.hpp"

#include <fstream>

#include "ci/catch.hpp"
#include "matrix/base/sha256.hpp"
#include "matrix/cli/workplace_fixture.hpp"

namespace reprobench {
namespace {

const std::string kRecords =
    R"([{"instruction": "a", "input": "", "output": "b"}, {"instruction": "c", "input": "", "output": "d"}])";

// A matrix of the suite `s`, which trains llama and mlp and asks a probe, and another suite that it does not run.
struct DataScene {
  DataScene() {
    std::ofstream(place / "my.json") << kRecords;
    matrix.data = place / "my.json";
    matrix.data_mark = {"--data", 0, 0};
    matrix.suites = {"s"};
    WorkloadRequest probe;
    probe.probe = "device_memory";
    suites["s"].workloads = {{"mlp", "base", 20, 32}, {"llama", "tiny", 20, 2}, probe};
    suites["other"].workloads = {{"llama", "tiny", 20, 32}};
    vocabulary.takes_data = {{"llama", "instructions"}, {"mlp", ""}};
  }
  std::string refusal() {
    try {
      give_own_files(matrix, vocabulary, suites);
    } catch (const SpecError& error) {
      return error.what();
    }
    return "";
  }

  Workplace place;
  MatrixSpec matrix;
  Vocabulary vocabulary;
  std::map<std::string, SuiteSpec> suites;
};

TEST_CASE("a matrix's file goes to the workloads whose model takes it, and to no other", "[cli]") {
  DataScene scene;
  CHECK(scene.refusal().empty());
  const auto& workloads = scene.suites["s"].workloads;
  CHECK(workloads[0].data_sha256.empty());
  CHECK(workloads[1].data_sha256 == sha256_of_text(kRecords));
  CHECK(workloads[1].data_file == scene.matrix.data);
  CHECK(workloads[2].data_file.empty());
  CHECK(scene.suites["other"].workloads[0].data_file.empty());
}

TEST_CASE("without a file every workload keeps its data", "[cli]") {
  DataScene scene;
  scene.matrix.data.clear();
  CHECK(scene.refusal().empty());
  CHECK(scene.suites["s"].workloads[1].data_sha256.empty());
}

TEST_CASE("a file that no workload takes is refused with who does, or that nobody said so", "[cli]") {
  DataScene scene;
  scene.suites["s"].workloads.erase(scene.suites["s"].workloads.begin() + 1);
  CHECK(scene.refusal() ==
        "--data: error[RB040]: no workload of this matrix takes the file: model `mlp` reads no instructions; `llama` "
        "does");
  scene.vocabulary.takes_data.clear();
  CHECK_THAT(scene.refusal(), Catch::Contains("no installed worker says which model reads instructions"));
}

TEST_CASE("a package goes to the probe of that name and to nothing else", "[cli]") {
  DataScene scene;
  scene.matrix.data.clear();
  const std::string end = std::string("PK\x05\x06") + std::string(18, '\0');
  std::ofstream(scene.place / "my.pt2", std::ios::binary) << "PK\x03\x04 files " << end;
  scene.matrix.package = scene.place / "my.pt2";
  scene.matrix.package_mark = {"--package", 0, 0};
  CHECK(scene.refusal() ==
        "--package: error[RB040]: no workload of this matrix takes the file: the probe `package` does, and no suite of "
        "it is here");
  WorkloadRequest probe;
  probe.probe = "package";
  scene.suites["s"].workloads.push_back(probe);
  CHECK(scene.refusal().empty());
  CHECK(scene.suites["s"].workloads.back().package_file == scene.matrix.package);
  CHECK(scene.suites["s"].workloads.back().package_sha256 == sha256_of_text("PK\x03\x04 files " + end));
  for (int i = 0; i < 3; ++i) CHECK(scene.suites["s"].workloads[i].package_file.empty());
}

TEST_CASE("a file with fewer records than a batch takes is refused", "[cli]") {
  DataScene scene;
  scene.suites["s"].workloads[1].batch_size = 3;
  CHECK_THAT(scene.refusal(), Catch::Contains("--data: error[RB021]") &&
                                  Catch::Contains("has 2 records, and a batch of `llama` takes 3"));
}

TEST_CASE("a file that only left-out cells would train on is a mistake in the call", "[cli]") {
  PlannedCell planned;
  planned.cell.request.workload = {"llama", "tiny", 20, 2};
  planned.cell.request.workload.data_file = "/my.json";
  PlannedCell other;
  CHECK_NOTHROW(check_own_file_is_used(own_file_kinds()[0], {other, planned}));
  planned.skip = Skip{"host-memory", "too large"};  // what cannot run here was still asked for
  CHECK_NOTHROW(check_own_file_is_used(own_file_kinds()[0], {other, planned}));
  planned.skip = Skip{kDeselected, "left out"};
  CHECK_THROWS_WITH(check_own_file_is_used(own_file_kinds()[0], {other, planned}),
                    "--data: no selected cell reads instructions; of this matrix those of `llama` do");
}

}  // namespace
}  // namespace reprobench
