// The documents of comparisons, replays and bisections, and files of nccl-tests, from bytes. ci/fuzz.sh builds and runs
// it where the layer is built with sanitizers. A finding becomes a test of the document.
#include "matrix/contract/document/fuzzed_documents.hpp"
#include "matrix/inquiry/bisect/bisect_document.hpp"
#include "matrix/inquiry/bisect/bisect_journal.hpp"
#include "matrix/inquiry/bisect/component_alone.hpp"
#include "matrix/inquiry/bisect/component_document.hpp"
#include "matrix/inquiry/comparison_document.hpp"
#include "matrix/inquiry/explain/lockstep_bounds.hpp"
#include "matrix/inquiry/nccl_tests/nccl_tests_comparison.hpp"
#include "matrix/inquiry/selftest/selftest.hpp"

namespace reprobench {
namespace {

void read_comparison(const nlohmann::json& json) { comparison_from_json(json); }
void read_comparisons(const nlohmann::json& json) { comparisons_from_json(json); }

constexpr FuzzedDocument kDocuments[] = {
    {"comparison", &read_comparison},  {"comparisons", &read_comparisons},
    fuzzed_document<BisectDocument>(), fuzzed_document<BisectRecord>(),
    fuzzed_document<CellComparison>(), fuzzed_document<ComparisonsDocument>(),
    fuzzed_document<ComponentAlone>(), fuzzed_document<ComponentBisectDocument>(),
    fuzzed_document<LockstepBounds>(), fuzzed_document<SelftestDocument>(),
};

}  // namespace
}  // namespace reprobench

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  reprobench::fuzz_documents(reprobench::kDocuments, data, size);
  try {
    const reprobench::NcclTestsFile file =
        reprobench::read_nccl_tests({reinterpret_cast<const char*>(data), size}, "nccl-tests.json");
    reprobench::compare_nccl_tests({&file, 1}, {&file, 1}, 0.05);
  } catch (const reprobench::SpecError&) {
  }
  return 0;
}
