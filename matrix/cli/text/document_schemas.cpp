#include "matrix/cli/text/document_schemas.hpp"

#include "matrix/cli/text/printed_documents.hpp"
#include "matrix/contract/attempt_memory.hpp"
#include "matrix/contract/capability.hpp"
#include "matrix/contract/device/telemetry.hpp"
#include "matrix/contract/device/topology.hpp"
#include "matrix/contract/document/schema.hpp"
#include "matrix/contract/exit_record.hpp"
#include "matrix/contract/request.hpp"
#include "matrix/contract/result.hpp"
#include "matrix/contract/trace.hpp"
#include "matrix/contract/turns.hpp"
#include "matrix/contract/version.hpp"
#include "matrix/image/inspection.hpp"
#include "matrix/inquiry/bisect/bisect_document.hpp"
#include "matrix/inquiry/bisect/bisect_journal.hpp"
#include "matrix/inquiry/bisect/component_alone.hpp"
#include "matrix/inquiry/bisect/component_document.hpp"
#include "matrix/inquiry/comparison_document.hpp"
#include "matrix/inquiry/explain/lockstep_bounds.hpp"
#include "matrix/inquiry/selftest/selftest.hpp"
#include "matrix/lint/lint_document.hpp"
#include "matrix/numerics/steps/snapshot_comparison.hpp"
#include "matrix/numerics/steps/trajectory.hpp"
#include "matrix/plan/batch_fit.hpp"
#include "matrix/plan/plan.hpp"
#include "matrix/plan/stack_question.hpp"
#include "matrix/record/run_documents.hpp"
#include "matrix/verdict/atlas/operator_atlas.hpp"
#include "matrix/verdict/attestation.hpp"
#include "matrix/verdict/verdict.hpp"

namespace reprobench {
namespace {

std::string text_of(const SchemaJson& schema) { return schema.dump(1) + "\n"; }

template <class Document>
std::string document_text() {
  return text_of(document_schema<Document>());
}

std::string journal_text() {
  return text_of(lines_schema<JournalHeader, JournalBegin, JournalEnd, CellDiagnosis, JournalFinish, JournalVerdict>(
      "One line of journal.jsonl: the coordinator's intents and their ends, in order"));
}

std::string telemetry_text() {
  return text_of(lines_schema<TelemetryHeader, TelemetrySample, TelemetryEvent, TelemetryEnd>(
      "One line of telemetry.jsonl: what the GPUs of an attempt did meanwhile"));
}

std::string trace_text() {
  return text_of(lines_schema<TraceHeader, StepRecord, TensorsRecord, MeasurementLine, ProbeProgress>(
      "One line of trace.jsonl: what happened"));
}

std::string turns_text() {
  return text_of(
      lines_schema<TurnsHeader, Turn>("One line of turns.jsonl: when a resident worker does which of its steps"));
}

// What `describe` prints has the keys of its kind. Only those that a reader of all kinds needs are fixed.
std::string description_text() {
  SchemaJson schema = SchemaJson::parse(R"({
    "$schema": "http://json-schema.org/draft-07/schema#", "title": "reprobench describe KIND NAME",
    "type": "object", "additionalProperties": false, "required": ["schema", "version", "kind", "name", "details"],
    "properties": {
      "schema": {"const": "reprobench/description"},
      "version": {"type": "object", "additionalProperties": false, "required": ["major", "minor"], "properties": {}},
      "kind": {"enum": ["workload", "probe", "stack", "knob", "metric", "suite"]},
      "name": {"type": "string"},
      "details": {"type": "object", "required": ["summary"], "properties": {
        "summary": {"type": "string"},
        "coverage": {
          "description": "Of a stack: what of it runs on which class of GPU; collectives are NCCL's.",
          "type": "array", "items": {"type": "object", "additionalProperties": false,
            "required": ["device", "compute", "collectives", "driver_at_least"], "properties": {
              "device": {"type": "string", "pattern": "^sm_[0-9]+$"},
              "compute": {"enum": ["native", "ptx", "none", "unknown"]},
              "collectives": {"enum": ["native", "ptx", "none", "unknown"]},
              "driver_at_least": {"description": "Of `ptx`: an older driver cannot compile it. Empty otherwise.",
                                  "type": "string"}}}}}}}})");
  schema["properties"]["version"]["properties"] = {{"major", {{"const", kContractVersion.major}}},
                                                   {"minor", {{"const", kContractVersion.minor}}}};
  return text_of(schema);
}

constexpr DocumentSchema kSchemas[] = {
    {"atlas", document_text<OperatorAtlas>},
    {"attestation", document_text<Attestation>},
    {"batch_fit", document_text<BatchFit>},
    {"bisect", document_text<BisectDocument>},
    {"bisect_record", document_text<BisectRecord>},
    {"capability", document_text<Capability>},
    {"comparison", document_text<CellComparison>},
    {"comparisons", document_text<ComparisonsDocument>},
    {"component_alone", document_text<ComponentAlone>},
    {"component_bisect", document_text<ComponentBisectDocument>},
    {"description", description_text},
    {"doctor", document_text<DoctorDocument>},
    {"envelope", document_text<Envelope>},
    {"exit", document_text<ExitRecord>},
    {"explain", document_text<ExplainDocument>},
    {"inspection", document_text<Inspection>},
    {"journal", journal_text},
    {"lint", document_text<LintDocument>},
    {"list", document_text<ListDocument>},
    {"lockstep", document_text<Lockstep>},
    {"lockstep_bounds", document_text<LockstepBounds>},
    {"memory", document_text<MemoryPredictions>},
    {"plan", document_text<Plan>},
    {"request", document_text<CellRequest>},
    {"result", document_text<CellResult>},
    {"run", document_text<RunDocument>},
    {"selftest", document_text<SelftestDocument>},
    {"snapshot_comparison", document_text<SnapshotComparison>},
    {"stack_answer", document_text<StackAnswer>},
    {"stacks", document_text<StacksDocument>},
    {"telemetry", telemetry_text},
    {"topology", document_text<Topology>},
    {"trace", trace_text},
    {"turns", turns_text},
    {"verdict", document_text<RunVerdict>},
    {"version", document_text<VersionDocument>},
};

}  // namespace

std::span<const DocumentSchema> document_schemas() { return kSchemas; }

}  // namespace reprobench
