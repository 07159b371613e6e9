#include "matrix/cli/text/document_schemas.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>

#include "ci/catch.hpp"
#include "matrix/cli/text/printed_documents.hpp"
#include "matrix/contract/attempt_memory.hpp"
#include "matrix/contract/document/reader.hpp"
#include "matrix/contract/trace.hpp"
#include "matrix/contract/turns.hpp"
#include "matrix/inquiry/bisect/component_alone.hpp"
#include "matrix/inquiry/bisect/component_document.hpp"
#include "matrix/inquiry/explain/lockstep_bounds.hpp"
#include "matrix/inquiry/selftest/selftest.hpp"
#include "matrix/numerics/steps/lockstep.hpp"
#include "matrix/numerics/steps/trajectory.hpp"
#include "matrix/plan/batch_fit.hpp"
#include "matrix/record/run_directory.hpp"
#include "matrix/verdict/attested_run.hpp"

namespace reprobench {
namespace {

namespace fs = std::filesystem;

const fs::path kGolden = REPROBENCH_SOURCE_ROOT "/matrix/contract/testdata/2.0";

TEST_CASE("schemas are in the order of their names, and each is JSON of this contract", "[cli]") {
  CHECK(std::ranges::is_sorted(document_schemas(), {}, &DocumentSchema::name));
  for (const DocumentSchema& schema : document_schemas()) {
    CAPTURE(schema.name);
    const auto parsed = nlohmann::json::parse(schema.text());
    CHECK(parsed.at("$schema") == "http://json-schema.org/draft-07/schema#");
    CHECK_FALSE(parsed.at("title").get<std::string>().empty());
  }
}

TEST_CASE("an explained cell of contract 2.0 is read, and is the same when it is written again", "[cli]") {
  const auto document = nlohmann::json::parse(read_file(kGolden / "explain.json"));
  const auto explained = read_document<ExplainDocument>(document);
  CHECK(explained.cell.checks.at(0).metric == "numerics.final_loss");
  CHECK(written(explained) == document);
}

// Hidden: ci/validate_documents.sh asks for them. Verbs print these only with a real stack.
TEST_CASE("documents that need a stack, written for the schemas", "[.documents]") {
  const char* folder = std::getenv("REPROBENCH_DOCUMENTS");
  REQUIRE(folder != nullptr);
  const auto write = [&](const char* name, const std::string& text) { std::ofstream(fs::path(folder) / name) << text; };
  write("turns.jsonl", trace_line(written(TurnsHeader{"3f9c1e0a7b52", "0123456789abcdef", 1}), 0) +
                           trace_line(to_json(Turn{0, 1, 5}), 1));
  SelftestSettings settings;
  settings.stack = "torch-2.9.0-cu128";
  SelftestRow row;
  row.fault = "weight_ulp";
  row.expected_word = "defect";
  row.word = "undecided";
  row.pooled_ratio = std::numeric_limits<double>::infinity();
  write("selftest.json", written(SelftestDocument{settings, {row}}).dump());
  write("attestation.json", written(test::attested()).dump());
  ComponentAnswer answer;
  answer.subject = "relu(f32[4])";
  answer.word = ComponentWord::together;
  answer.culprits = {
      {{{"torch", PointState::untestable, false}, {"cudart", PointState::as_good, true}}, "a-with-torch-of-b"}};
  answer.evaluations = {{MixKind::mix, {"torch"}, PointState::untestable, "it does not start", false}};
  ComponentBisectDocument components;
  components.good = "a";
  components.bad = "b";
  components.asked = "check";
  components.check =
      AskedCheck{"r-1", "3f9c1e0a7b52", "memory-mlp-b-cpu", "memory.peak_anonymous", "", "max: 1", "over_bound"};
  components.components = {{"torch", {{"libc10.so", "d388"}}, {}}};
  REQUIRE_FALSE(answer.culprits.empty());
  answer.culprits.front().check = CheckChange{};
  components.answers = {answer};
  write("component_bisect.json", written(components).dump());
  const PairEffect effect{"step 3", RatioInterval{1.02, 1.01, 1.03, 9}};
  ComponentAlone alone;
  alone.component = "torch";
  alone.measured = "a";
  alone.expected = "b";
  alone.mix = "a-with-torch-of-b";
  alone.workload = "mlp/base";
  alone.alone = alone.whole = effect;
  alone.rest = PairEffect{};
  alone.bits = AloneWord::explains;
  alone.time = AloneWord::in_part;
  alone.sentence = "torch alone: it is.";
  write("component_alone.json", written(alone).dump());
  Envelope envelope;
  envelope.members = 4;
  envelope.points = {{1, 1e-9}, {2, std::numeric_limits<double>::quiet_NaN()}};
  envelope.horizon_step = 1;
  write("envelope.json", to_json(envelope).dump());
  LockstepBounds bounds;
  bounds.batches = 32;
  bounds.states = {0, 10, 20};
  bounds.pairs = {{"threads=2", 48, 6, 1.31, "gradient/fc2.weight", {{"gradient/fc2.weight", 1.34}}, ""}};
  bounds.against =
      BoundsBasis{"torch-2.8.0-cu128", {{"torch", "2.8.0", "2.8.0", ""}}, "mkl", "a CPU", "AVX512", "threads: 1"};
  write("lockstep_bounds.json", to_json(bounds).dump());
  Lockstep lockstep;
  lockstep.options.summed_terms = {{"gradient/fc1.weight", 32}};
  lockstep.options.legitimate_ratios = {{"gradient/fc1.weight", 1.34}};
  lockstep.options.is_learned = true;
  lockstep.tensors.resize(2);
  lockstep.tensors[0].name = "gradient/fc1.weight";
  lockstep.tensors[0].ulp_histogram = {0, 0, 0, 7};
  lockstep.tensors[0].pooled = PooledJudgement{};
  lockstep.tensors[0].pooled->upper = std::numeric_limits<double>::infinity();
  write("lockstep.json", to_json(lockstep).dump());
  MemoryPredictions predictions;
  predictions.needs.resize(2);
  predictions.needs[0].parameter_bytes = 407'080;
  predictions.needs[1].why_not = "attention=flash";
  write("memory.json", to_json(predictions).dump());
  BatchFit fit;
  fit.available_bytes = 1'000'000'000;
  fit.available_source = "--memory";
  fit.wished_batch = 128;
  const auto of_samples = [](const std::vector<BatchQuestion>& questions) {
    std::vector<AttemptMemory> needs(questions.size());
    for (std::size_t at = 0; at < needs.size(); ++at) {
      const int micro_batches =
          questions[at].knobs.contains("accumulate") ? std::stoi(questions[at].knobs.at("accumulate")) : 1;
      needs[at].activation_bytes = 10'000'000 * questions[at].batch_size / micro_batches;
    }
    return needs;
  };
  fit = fitted(fit, of_samples);
  REQUIRE(fit.wished);
  REQUIRE_FALSE(fit.ways.empty());
  write("batch_fit.json", written(fit).dump());
}

}  // namespace
}  // namespace reprobench
