#include "matrix/spec/files/own_files.hpp"

#include "ci/catch.hpp"
#include "matrix/spec/files/weights_fixture.hpp"
#include "matrix/spec/spec_fixture.hpp"

namespace reprobench {
namespace {

const OwnFileKind& kData = own_file_kinds()[0];
const OwnFileKind& kWeights = own_file_kinds()[1];

// What is said of a workload that is given that file.
std::string refusal(const OwnFileKind& kind, const std::string& path, WorkloadRequest workload,
                    const Vocabulary& vocabulary) {
  Diagnostics diagnostics;
  give_own_file(kind, kind.read(path), workload, {"s.yaml", 4, 5}, vocabulary, diagnostics);
  CHECK(diagnostics.empty() == !(workload.*kind.field.sha256).empty());
  return spec_error_of([&] { diagnostics.throw_if_any(); });
}

TEST_CASE("every kind of file that a workload takes has a row, in the order of the workload's fields", "[spec]") {
  REQUIRE(own_file_kinds().size() == 3);
  for (std::size_t i = 0; i < 2; ++i) CHECK(&own_file_kinds()[i].field == &kOwnFiles[i]);
  CHECK(kOwnFiles[2].name == "tensors");  // those of a list of calls, which names its own
  CHECK(&own_file_kinds()[2].field == &kOwnFiles[3]);
  CHECK(own_file_kinds()[2].option() == "--package");
  CHECK(own_file_kinds()[2].probe == "package");
  CHECK_FALSE(kWeights.is_of_probe());
  CHECK(kData.option() == "--data");
  CHECK(kWeights.option() == "--weights");
}

TEST_CASE("only a model that takes a kind of file is given one", "[spec]") {
  const WeightsScene scene;
  scene.write_tensors("w.safetensors", {{"a", {2}, {1, 2}}});
  const std::string records = scene.write("my.jsonl",
                                          "{\"instruction\": \"a\", \"input\": \"\", \"output\": \"b\"}\n"
                                          "{\"instruction\": \"c\", \"input\": \"\", \"output\": \"d\"}\n");
  Vocabulary vocabulary = spec_test_vocabulary();
  vocabulary.takes_data = {{"llama", "instructions"}, {"gpt2", ""}, {"mlp", ""}};
  vocabulary.takes_weights = {{"llama", "Hugging Face LLaMA"}, {"gpt2", "Hugging Face GPT-2"}, {"mlp", ""}};
  const std::string weights = scene.path("w.safetensors");
  CHECK(refusal(kData, records, {"llama", "tiny", 20, 2}, vocabulary).empty());
  CHECK(refusal(kData, records, {"new", "tiny", 20, 2}, vocabulary).empty());  // its worker will say
  CHECK(refusal(kWeights, weights, {"gpt2", "tiny", 20, 2}, vocabulary).empty());
  CHECK(refusal(kWeights, weights, {"new", "tiny", 20, 2}, vocabulary).empty());
  CHECK(refusal(kData, records, {"gpt2", "tiny", 20, 2}, vocabulary) ==
        "s.yaml:4:5: error[RB009]: model `gpt2` reads no instructions; `llama` does");
  CHECK(refusal(kWeights, weights, {"mlp", "base", 20, 2}, vocabulary) ==
        "s.yaml:4:5: error[RB009]: model `mlp` takes no published weights; `gpt2`, `llama` do");
  vocabulary.takes_weights = {{"mlp", ""}};
  CHECK(refusal(kWeights, weights, {"mlp", "base", 20, 2}, vocabulary) ==
        "s.yaml:4:5: error[RB009]: model `mlp` takes no published weights; no model does");
}

TEST_CASE("instructions must fill a batch of the model", "[spec]") {
  const WeightsScene scene;
  const std::string file = scene.write("my.jsonl", "{\"instruction\": \"a\", \"input\": \"\", \"output\": \"b\"}\n");
  WorkloadRequest workload{"llama", "tiny", 20, 2};
  Diagnostics diagnostics;
  give_own_file(kData, kData.read(file), workload, {"s.yaml", 4, 5}, spec_test_vocabulary(), diagnostics);
  CHECK(spec_error_of([&] { diagnostics.throw_if_any(); }) ==
        "s.yaml:4:5: error[RB021]: " + file + " has 1 record, and a batch of `llama` takes 2");
}

}  // namespace
}  // namespace reprobench
