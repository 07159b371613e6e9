#include "matrix/verdict/data_note.hpp"

#include "ci/catch.hpp"

namespace reprobench {
namespace {

TEST_CASE("a cell's note says which file it trained on, and which records the context had no room for", "[verdict]") {
  WorkloadRequest workload{"llama", "tiny", 20, 4};
  CellResult result;
  CHECK(data_note(workload, &result).empty());
  workload.data_sha256 = "1f";
  workload.data_file = "/my.json";
  CHECK(data_note(workload, nullptr) == "data: /my.json, SHA-256 1f");
  CHECK(data_note(workload, &result) == "data: /my.json, SHA-256 1f");
  const auto with = [&](const DataUse& use) {
    result.data = use;
    return data_note(workload, &result);
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

}  // namespace
}  // namespace reprobench
