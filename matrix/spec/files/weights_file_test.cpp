#include "matrix/spec/files/weights_file.hpp"

#include <sys/stat.h>

#include "ci/catch.hpp"
#include "matrix/base/sha256.hpp"
#include "matrix/spec/files/own_files.hpp"
#include "matrix/spec/files/weights_fixture.hpp"
#include "matrix/spec/matrix_spec.hpp"
#include "matrix/spec/spec_fixture.hpp"
#include "matrix/spec/suite_spec.hpp"

namespace reprobench {
namespace {

const std::string kIndex = "model.safetensors.index.json";

std::string refusal_of(const WeightsScene& scene, const std::string& name) {
  return scene.without_folder(spec_error_of([&] { read_weights_file(scene.path(name)); }));
}

// Two shards of two tensors each, and their index.
struct Sharded : WeightsScene {
  Sharded() {
    write_tensors("a.safetensors", {{"t.0", {2}, {1, 2}}, {"t.1", {1}, {3}}});
    write_tensors("b.safetensors", {{"t.2", {2}, {4, 5}}});
    write_index(R"("t.0": "a.safetensors", "t.1": "a.safetensors", "t.2": "b.safetensors")");
  }
  void write_index(const std::string& map) const {
    write(kIndex, "{\"metadata\": {\"total_size\": 20},\n \"weight_map\": {" + map + "}}\n");
  }
};

TEST_CASE("one file of weights is what it holds", "[spec]") {
  const WeightsScene scene;
  scene.write_tensors("w.safetensors", {{"a", {2, 1}, {1, 2}}});
  const WeightsFile weights = read_weights_file(scene.path("w.safetensors"));
  CHECK(weights.file == scene.path("w.safetensors"));
  CHECK(weights.shards.empty());
  CHECK(weights.sha256 == sha256_of_text(scene.text("w.safetensors")));

  std::filesystem::create_symlink(scene.path("w.safetensors"), scene.path("link.safetensors"));
  CHECK(read_weights_file(scene.path("link.safetensors")).sha256 == weights.sha256);
  scene.write_tensors("w.safetensors", {{"a", {2, 1}, {1, 3}}});
  CHECK(read_weights_file(scene.path("w.safetensors")).sha256 != weights.sha256);
}

TEST_CASE("a file of more than one piece is hashed to its end", "[spec]") {
  const WeightsScene scene;
  std::vector<float> values(600'000, 1);
  scene.write_tensors("w.safetensors", {{"a", {600'000}, values}});
  const std::string before = read_weights_file(scene.path("w.safetensors")).sha256;
  CHECK(before == sha256_of_text(scene.text("w.safetensors")));
  values.back() = 2;
  scene.write_tensors("w.safetensors", {{"a", {600'000}, values}});
  CHECK(read_weights_file(scene.path("w.safetensors")).sha256 != before);
}

TEST_CASE("a folder stands for the one usual file or index in it", "[spec]") {
  const Sharded scene;
  CHECK(read_weights_file(scene.folder()).file == scene.path(kIndex));
  scene.write_tensors("model.safetensors", {{"a", {1}, {1}}});
  CHECK(spec_error_of([&] { read_weights_file(scene.folder()); }) ==
        scene.folder() +
            ": error[RB027]: the folder has `model.safetensors` and `model.safetensors.index.json`; name "
            "the one of the two that is meant");
  std::filesystem::remove(scene.path(kIndex));
  CHECK(read_weights_file(scene.folder()).file == scene.path("model.safetensors"));
  std::filesystem::remove(scene.path("model.safetensors"));
  CHECK_THAT(refusal_of(scene, ""),
             Catch::Contains("has neither `model.safetensors` nor `model.safetensors.index.json`; it has "
                             "a.safetensors, b.safetensors"));
}

TEST_CASE("shards are named together by what sha256sum prints of them, wherever they lie", "[spec]") {
  const Sharded scene;
  const WeightsFile weights = read_weights_file(scene.path(kIndex));
  CHECK(weights.shards == std::vector<std::string>{"a.safetensors", "b.safetensors"});
  CHECK(weights.sha256 == sha256_of_text(sha256_of_text(scene.text(kIndex)) + "  " + kIndex + "\n" +
                                         sha256_of_text(scene.text("a.safetensors")) + "  a.safetensors\n" +
                                         sha256_of_text(scene.text("b.safetensors")) + "  b.safetensors\n"));
  scene.write_tensors("b.safetensors", {{"t.2", {2}, {4, 6}}});
  CHECK(read_weights_file(scene.path(kIndex)).sha256 != weights.sha256);
}

TEST_CASE("an index and its shards that do not agree are refused with every place", "[spec]") {
  const Sharded scene;
  SECTION("a shard that is not there") {
    std::filesystem::remove(scene.path("a.safetensors"));
    CHECK(refusal_of(scene, kIndex) ==
          kIndex + ":2:24: error[RB027]: `a.safetensors` is not beside the index; 2 tensors would be in it");
  }
  SECTION("a tensor that is not there, and one too many") {
    scene.write_tensors("b.safetensors", {{"t.3", {2}, {4, 5}}});
    CHECK(refusal_of(scene, kIndex) ==
          kIndex + ": error[RB041]: `b.safetensors` has tensor `t.3`, which the index does not place there\n" + kIndex +
              ":2:72: error[RB041]: `b.safetensors` has no tensor `t.2`");
  }
  SECTION("a tensor in two shards") {
    scene.write_tensors("b.safetensors", {{"t.2", {2}, {4, 5}}, {"t.0", {1}, {9}}});
    CHECK_THAT(refusal_of(scene, kIndex), Catch::Contains("tensor `t.0` is in `a.safetensors` and in `b.safetensors`"));
  }
  SECTION("a shard that is cut") {
    scene.write("b.safetensors", scene.text("b.safetensors").substr(0, scene.text("b.safetensors").size() - 1));
    CHECK_THAT(refusal_of(scene, kIndex),
               Catch::StartsWith("b.safetensors: error[RB041]: no whole safetensors file: "));
  }
  SECTION("names that are no file beside it") {
    for (const char* name :
         {"../b.safetensors", "/b.safetensors", "sub/b.safetensors", "b.bin", ".safetensors", "", ".b.safetensors"}) {
      scene.write_index(std::string(R"("t.2": ")") + name + "\"");
      CHECK_THAT(refusal_of(scene, kIndex), Catch::Contains(":2:24: error[RB027]: ") &&
                                                Catch::Contains("is no .safetensors file beside the index"));
    }
  }
  SECTION("a tensor twice, and one that names no file") {
    scene.write_index(R"("t.2": "b.safetensors", "t.2": "b.safetensors", "t.0": 7)");
    CHECK(refusal_of(scene, kIndex) == kIndex + ":2:41: error[RB008]: tensor `t.2` appears twice; first at 2:17\n" +
                                           kIndex + ":2:72: error[RB019]: `t.0` must be the name of a file, got 7");
  }
  SECTION("no map") {
    scene.write(kIndex, R"({"weightmap": {}})");
    CHECK(refusal_of(scene, kIndex) ==
          kIndex + ":1:1: error[RB018]: an index of weights needs the key `weight_map`; did you mean `weightmap`?");
    scene.write(kIndex, R"({"weight_map": {}})");
    CHECK_THAT(refusal_of(scene, kIndex), Catch::Contains("error[RB023]: `weight_map` names no tensor"));
    scene.write(kIndex, R"({"weight_map": []})");
    CHECK_THAT(refusal_of(scene, kIndex), Catch::Contains("error[RB019]: `weight_map` must be an object"));
    scene.write(kIndex, R"({"weight_map": {)");
    CHECK_THAT(refusal_of(scene, kIndex), Catch::Contains("error[RB005]"));
  }
}

TEST_CASE("what is no whole safetensors file is refused with the byte", "[spec]") {
  const WeightsScene scene;
  const auto refused = [&](const std::string& header, std::size_t data_bytes) {
    scene.write_header("w.safetensors", header, data_bytes);
    return refusal_of(scene, "w.safetensors");
  };
  const std::string begin = "w.safetensors: error[RB041]: no whole safetensors file: byte ";
  CHECK_THAT(refused(R"({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]},
                         "b": {"dtype": "F32", "shape": [2], "data_offsets": [4, 12]}})",
                     12),
             Catch::StartsWith(begin) && Catch::Contains("tensor `b` overlaps the one before it"));
  CHECK_THAT(refused(R"({"a": {"dtype": "F32", "shape": [9223372036854775807], "data_offsets": [0, 8]}})", 8),
             Catch::Contains("more than 2^64 bytes"));
  CHECK_THAT(refused(R"({"a": {"dtype": "F32", "shape": [9223372036854775808], "data_offsets": [0, 8]}})", 8),
             Catch::Contains("`shape` holds 9223372036854775808, not a size"));
  CHECK_THAT(refused(R"({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 9223372036854775808]}})", 8),
             Catch::Contains("the file is cut, or an offset is wrong"));
  CHECK_THAT(refused(R"({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}})", 7), Catch::Contains("is cut"));
  CHECK_THAT(refused(R"({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}})", 9),
             Catch::Contains("1 bytes after the last tensor belong to none"));
  CHECK_THAT(refused(R"({"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]},
                         "a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}})",
                     4),
             Catch::Contains("twice"));
  scene.write("w.safetensors", std::string("\xff\xff\xff\xff\xff\xff\xff\x7f", 8) + "{}");
  CHECK_THAT(refusal_of(scene, "w.safetensors"), Catch::Contains("a header of 9223372036854775807 bytes is announced"));
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{7}}) {
    scene.write("w.safetensors", std::string(bytes, '\0'));
    CHECK_THAT(refusal_of(scene, "w.safetensors"), Catch::Contains("the header's length alone takes 8"));
  }
}

TEST_CASE("what is no file is refused and not waited for", "[spec]") {
  const WeightsScene scene;
  CHECK(refusal_of(scene, "none.safetensors") ==
        "none.safetensors: error[RB027]: cannot be read: No such file or directory");
  REQUIRE(mkfifo(scene.path("pipe").c_str(), 0600) == 0);
  CHECK(refusal_of(scene, "pipe") == "pipe: error[RB027]: cannot be read: it is not a regular file");
  REQUIRE(mkfifo(scene.path(kIndex).c_str(), 0600) == 0);
  CHECK(refusal_of(scene, kIndex) == kIndex + ": error[RB027]: cannot be read: it is not a regular file");
}

TEST_CASE("a suite's and a matrix's weights lie below their own folder", "[spec]") {
  const WeightsScene scene;
  scene.write_tensors("w.safetensors", {{"a", {2}, {1, 2}}});
  const std::string suite =
      "schema: 1\nname: s\nworkloads:\n  - {weights: PATH, model: gpt2, preset: tiny, steps: 5, batch_size: 1}\n";
  const auto with = [](std::string text, const std::string& path) { return text.replace(text.find("PATH"), 4, path); };
  const SuiteSpec read = parse_suite(with(suite, "w.safetensors"), scene.path("s.yaml"), spec_test_vocabulary());
  CHECK(read.workloads[0].weights_sha256 == sha256_of_text(scene.text("w.safetensors")));
  CHECK(read.workloads[0].weights_file == scene.path("w.safetensors"));
  CHECK_THAT(
      spec_error_of([&] { parse_suite(with(suite, "/w.safetensors"), scene.path("s.yaml"), spec_test_vocabulary()); }),
      Catch::Contains("s.yaml:4:15: error[RB027]"));
  Vocabulary vocabulary = spec_test_vocabulary();
  vocabulary.takes_weights = {{"gpt2", ""}, {"llama", "Hugging Face LLaMA"}};
  CHECK_THAT(spec_error_of([&] { parse_suite(with(suite, "w.safetensors"), scene.path("s.yaml"), vocabulary); }),
             Catch::Contains("s.yaml:4:15: error[RB009]: model `gpt2` takes no published weights; `llama` does"));

  const MatrixSpec matrix =
      parse_matrix(kGoodMatrix + std::string("weights: some/folder\n"), scene.path("m.yaml"), spec_test_vocabulary());
  CHECK(matrix.weights == scene.path("some/folder"));
  CHECK(matrix.weights_mark.column == 10);
  CHECK_THAT(matrix_error(kGoodMatrix + std::string("weights: ../w.safetensors\n")), Catch::Contains("error[RB027]"));
}

}  // namespace
}  // namespace reprobench
