// The documents of a run, from bytes: requests, results, plans, lines of journals, traces and telemetry. ci/fuzz.sh
// builds and runs it. A finding becomes a test of the document.
#include "matrix/contract/attempt_memory.hpp"
#include "matrix/contract/capability.hpp"
#include "matrix/contract/device/telemetry.hpp"
#include "matrix/contract/device/topology.hpp"
#include "matrix/contract/document/fuzzed_documents.hpp"
#include "matrix/contract/exit_record.hpp"
#include "matrix/contract/request.hpp"
#include "matrix/contract/result.hpp"
#include "matrix/contract/trace.hpp"
#include "matrix/contract/turns.hpp"
#include "matrix/plan/batch_fit.hpp"
#include "matrix/plan/plan.hpp"
#include "matrix/plan/stack_question.hpp"
#include "matrix/record/run_documents.hpp"
#include "matrix/record/seal.hpp"

namespace reprobench {
namespace {

void read_plan(const nlohmann::json& json) { plan_from_json(json); }
void read_run(const nlohmann::json& json) { run_info_from_document(json); }
void read_result(const nlohmann::json& json) { result_from_json(json); }
void read_request(const nlohmann::json& json) { canonical_request_from_json(json); }

constexpr FuzzedDocument kDocuments[] = {
    {"plan", &read_plan},
    {"run", &read_run},
    {"result", &read_result},
    {"request", &read_request},
    fuzzed_document<BatchFit>(),
    fuzzed_document<Capability>(),
    fuzzed_document<CellDiagnosis>(),
    fuzzed_document<CellRequest>(),
    fuzzed_document<CellResult>(),
    fuzzed_document<ExitRecord>(),
    fuzzed_document<JournalBegin>(),
    fuzzed_document<JournalEnd>(),
    fuzzed_document<JournalFinish>(),
    fuzzed_document<JournalHeader>(),
    fuzzed_document<JournalVerdict>(),
    fuzzed_document<MemoryPredictions>(),
    fuzzed_document<Plan>(),
    fuzzed_document<RunSeal>(),
    fuzzed_document<StackAnswer>(),
    fuzzed_document<StepRecord>(),
    fuzzed_document<TensorsRecord>(),
    fuzzed_document<TelemetryEnd>(),
    fuzzed_document<TelemetryEvent>(),
    fuzzed_document<TelemetryHeader>(),
    fuzzed_document<TelemetrySample>(),
    fuzzed_document<Topology>(),
    fuzzed_document<TraceHeader>(),
    fuzzed_document<Turn>(),
    fuzzed_document<TurnsHeader>(),
};

}  // namespace
}  // namespace reprobench

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  reprobench::fuzz_documents(reprobench::kDocuments, data, size);
  return 0;
}
