#include "matrix/cli/verbs/store_option.hpp"

#include "ci/catch.hpp"

namespace reprobench {
namespace {

TEST_CASE("#41: a command that is written down names the store, unless it is the usual one", "[cli]") {
  CHECK(in_store("reprobench explain 3f9c --run r-1", "/my store") ==
        "reprobench --store '/my store' explain 3f9c --run r-1");
  CHECK(in_store("measure more: reprobench run --matrix m.yaml", "s") ==
        "measure more: reprobench --store s run --matrix m.yaml");
  CHECK(in_store("reprobench explain 3f9c", ".reprobench") == "reprobench explain 3f9c");
  CHECK(in_store("reprobench explain 3f9c", "") == "reprobench explain 3f9c");
  CHECK(in_store("read the log", "s") == "read the log");
}

}  // namespace
}  // namespace reprobench
