// Lists of operator calls on tensors of a file of the user's.

#include "ci/catch.hpp"
#include "matrix/base/sha256.hpp"
#include "matrix/spec/files/call_list.hpp"
#include "matrix/spec/files/weights_fixture.hpp"
#include "matrix/spec/spec_fixture.hpp"

namespace reprobench {
namespace {

using Catch::Contains;

const std::string kListHeadOfTensors = "schema: 1\nname: mine\n";

// A file with x[2, 3] and weight[3], and lists beside it.
struct TensorScene {
  TensorScene() {
    scene.write_tensors("t.safetensors", {{"x", {2, 3}, {1, 2, 3, 4, 5, 6}}, {"weight", {3}, {1, 2, 3}}});
  }

  CallList list(const std::string& rest) const {
    return load_call_list(scene.write("mine.yaml", kListHeadOfTensors + rest));
  }
  std::string error(const std::string& rest) const {
    return scene.without_folder(spec_error_of([&] { list(rest); }));
  }

  WeightsScene scene;
};

TEST_CASE("a list of calls on tensors of a file is planned with what the file holds", "[spec]") {
  const TensorScene place;
  const CallList list = place.list(
      "tensors: t.safetensors\n"
      "calls:\n  - call: native_layer_norm(f32[2, 3] from 'x', [3], f32[3] from 'weight', f32[3], 1e-5)\n");
  CHECK(list.tensors_sha256 == sha256_of_text(place.scene.text("t.safetensors")));
  CHECK(list.tensors_file == place.scene.path("t.safetensors"));
  WorkloadRequest workload;
  give_calls(list, workload);
  CHECK(workload.calls == list.calls);
  CHECK(workload.memory_bytes == list.memory_bytes);
  CHECK(workload.tensors_sha256 == list.tensors_sha256);
  CHECK(workload.tensors_file == list.tensors_file);
  give_calls(place.list("calls: [{call: 'relu(f32[2])'}]\n"), workload);
  CHECK(workload.tensors_sha256.empty());  // another list leaves nothing of the first
  CHECK(workload.tensors_file.empty());
}

TEST_CASE("a tensor that is not in the file as a call declares it is refused at the call", "[spec]") {
  const TensorScene place;
  const auto of = [&](const std::string& call) {
    return place.error("tensors: t.safetensors\ncalls:\n  - call: " + call + "\n");
  };
  CHECK(of("relu(f32[3] from 'wieght')") ==
        "mine.yaml:5:11: error[RB044]: t.safetensors: there is no tensor `wieght`; did you mean `weight`?");
  CHECK_THAT(of("relu(f32[3] from 'entirely.else')"), Contains("there are weight, x"));
  CHECK(of("relu(f32[3, 2] from 'x')") ==
        "mine.yaml:5:11: error[RB044]: `x` of t.safetensors is f32[2, 3], and the call declares f32[3, 2]");
  CHECK_THAT(of("relu(bf16[2, 3] from 'x')"), Contains("is f32[2, 3], and the call declares bf16[2, 3]"));
  // Every row of values is a call, and each is said.
  CHECK_THAT(of("relu(f32[N, 3] from 'x')\n    with: [{N: 4}, {N: 2}, {N: 5}]"),
             Contains("declares f32[4, 3]") && Contains("declares f32[5, 3]") && !Contains("declares f32[2, 3]"));
}

TEST_CASE("a list names its file where calls take tensors of one, and nowhere else", "[spec]") {
  const TensorScene place;
  CHECK(place.error("calls:\n  - call: relu(f32[3] from 'x')\n") ==
        "mine.yaml:4:11: error[RB018]: `x` is of a file, and the list names none: `tensors: mine.safetensors`");
  CHECK_THAT(place.error("tensors: t.safetensors\ncalls: [{call: 'relu(f32[2])'}]\n"),
             Contains("mine.yaml:3:10: error[RB040]: no call takes a tensor of t.safetensors"));
}

TEST_CASE("a file of tensors that is not whole, or not there, is refused where the list names it", "[spec]") {
  const TensorScene place;
  const auto named = [&](const std::string& file) {
    return place.error("tensors: " + file + "\ncalls: [{call: \"relu(f32[3] from 'x')\"}]\n");
  };
  CHECK_THAT(named("nowhere.safetensors"),
             Contains("mine.yaml:3:10: error[RB027]: nowhere.safetensors: cannot be read: No such file"));
  CHECK_THAT(named("../t.safetensors"), Contains("mine.yaml:3:10: error[RB027]") && !Contains("RB018"));
  CHECK_THAT(named(place.scene.path("t.safetensors")), Contains("mine.yaml:3:10: error[RB027]"));
  place.scene.write("folder.txt", "x");
  CHECK_THAT(named("folder.txt"), Contains("mine.yaml:3:10: error[RB041]: folder.txt: no whole safetensors file"));
  const std::string whole = place.scene.text("t.safetensors");
  place.scene.write("cut.safetensors", whole.substr(0, whole.size() - 1));
  CHECK_THAT(named("cut.safetensors"), Contains("error[RB041]: cut.safetensors: no whole safetensors file"));
  place.scene.write_header("overlap.safetensors",
                           R"({"x":{"dtype":"F32","shape":[3],"data_offsets":[0,12]},)"
                           R"("y":{"dtype":"F32","shape":[3],"data_offsets":[8,20]}})",
                           20);
  const std::string overlap = named("overlap.safetensors");
  CHECK_THAT(overlap, Contains("mine.yaml:3:10: error[RB041]") && Contains("overlap"));
  CHECK(overlap.find("RB018") == std::string::npos);  // that the file is wrong is said once
}

}  // namespace
}  // namespace reprobench
