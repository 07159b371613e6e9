// The documents of a verdict and of what is measured beside it, from bytes. ci/fuzz.sh builds and runs it. A finding
// becomes a test of the document.
#include "matrix/contract/document/fuzzed_documents.hpp"
#include "matrix/numerics/steps/lockstep.hpp"
#include "matrix/numerics/steps/snapshot_comparison.hpp"
#include "matrix/numerics/steps/trajectory.hpp"
#include "matrix/verdict/atlas/operator_atlas.hpp"
#include "matrix/verdict/attestation.hpp"
#include "matrix/verdict/verdict.hpp"

namespace reprobench {
namespace {

void read_verdict(const nlohmann::json& json) { verdict_from_json(json); }

constexpr FuzzedDocument kDocuments[] = {
    {"verdict", &read_verdict},
    fuzzed_document<Attestation>(),
    fuzzed_document<Envelope>(),
    fuzzed_document<Lockstep>(),
    fuzzed_document<OperatorAtlas>(),
    fuzzed_document<RunVerdict>(),
    fuzzed_document<SnapshotComparison>(),
};

}  // namespace
}  // namespace reprobench

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  reprobench::fuzz_documents(reprobench::kDocuments, data, size);
  return 0;
}
