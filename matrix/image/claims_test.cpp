#include "matrix/image/claims.hpp"

#include "ci/catch.hpp"
#include "ci/thrown.hpp"
#include "matrix/spec/spec_error.hpp"

namespace reprobench {
namespace {

using Catch::Contains;

TEST_CASE("a choice names every version that begins with it, or is at least it", "[image]") {
  struct Row {
    const char* choice;
    const char* found;
    bool names;
  };
  for (const Row& row :
       {Row{"2.9", "2.9.1+cu128", true}, Row{"2.9", "2.90.0", false}, Row{"2.9", "2.10.0", false},
        Row{"8", "8.9.7.29", true}, Row{"8", "9.8.0", false}, Row{"12.8.1", "12.8", true}, Row{"12.8.1", "12.6", false},
        Row{">=3.10", "3.10", true}, Row{">=3.10", "3.9.18", false}, Row{">=3.10", "3.12.3", true},
        Row{"any", "0.1", true}, Row{"any", "", false}, Row{"2.9", "unknown", false}, Row{">=2.9", "", false}}) {
    CAPTURE(row.choice, row.found);
    CHECK(choice_names(row.choice, row.found) == row.names);
  }
}

std::vector<std::string> said_by_tag(const std::string& tag) {
  std::vector<std::string> said;
  for (const ImageClaim& claim : claims_of_tag(tag)) said.push_back(claim.component + " " + claim.choices.front());
  return said;
}

using Texts = std::vector<std::string>;

TEST_CASE("a tag claims what its words name, and nothing else", "[image]") {
  CHECK(said_by_tag("pytorch/pytorch:2.1.0-cuda11.8-cudnn8-runtime") == Texts{"torch 2.1.0", "cuda 11.8", "cudnn 8"});
  CHECK(said_by_tag("torch:v2.9.0-cu128-py312") == Texts{"torch 2.9.0", "cuda 12.8", "python 3.12"});
  CHECK(said_by_tag("localhost:5000/pytorch:2.9.0") == Texts{"torch 2.9.0"});
  CHECK(said_by_tag("localhost:5000/pytorch") == Texts{});
  CHECK(said_by_tag("nvidia/cuda:11.8.0-cudnn8-devel") == Texts{"cudnn 8"});
  CHECK(said_by_tag("team/pytorch:nightly-cudagraphs-customer1") == Texts{});
  CHECK(said_by_tag("team/pytorch:latest") == Texts{});
  CHECK(said_by_tag("team/pytorch:2.8.0_cuda12.6_cudnn9") == Texts{"torch 2.8.0", "cuda 12.6", "cudnn 9"});
  CHECK(said_by_tag("team/trainer:v7-torch2.8.0-cuda12.6") == Texts{"torch 2.8.0", "cuda 12.6"});
  CHECK(said_by_tag("team/trainer:pytorch2.8") == Texts{"torch 2.8"});
  const std::string digest = "@sha256:" + std::string(64, '0');
  CHECK(said_by_tag("team/pytorch:2.9.0-cuda12.8" + digest) == Texts{"torch 2.9.0", "cuda 12.8"});
  CHECK(said_by_tag("team/pytorch" + digest) == Texts{});
  CHECK(said_by_tag("localhost:5000/pytorch" + digest) == Texts{});
  CHECK(said_by_tag("2.9.0-cuda12.8-cudnn9") == Texts{"cuda 12.8", "cudnn 9"});
  CHECK(said_by_tag("pytorch") == Texts{});
  // Versions of something else.
  CHECK(said_by_tag("nvcr.io/nvidia/pytorch:25.09-py3") == Texts{"python 3"});
  for (const char* tag : {"pytorch/torchserve:0.12.0-gpu", "team/torch-app:1.4.2", "team/pytorch-lightning:2.5.0",
                          "torch.example.org/team/app:1.0.3", "pytorch/manylinux:1.2"}) {
    CAPTURE(tag);
    CHECK(said_by_tag(tag) == Texts{});
  }
  CHECK(said_by_tag("") == Texts{});
}

std::string refusal(const std::string& text) {
  return message_of<SpecError>([&] { parse_claims(text, "c.yaml"); });
}

TEST_CASE("a claims file that cannot mean what it says is refused with its place", "[image]") {
  const std::string head = "schema: 1\nname: x\nclaims:\n";
  CHECK(refusal(head + "  torch: \"2.9\"\n  numpy: any\n  cuda: [\"11.8\", \">=12.1\"]\n") == "nothing was thrown");
  CHECK_THAT(refusal(head + "  torch: 2.9\n"), Contains("c.yaml:4:10: error[RB022]"));
  CHECK_THAT(refusal(head + "  torch: \">=\"\n"), Contains("c.yaml:4:10: error[RB019]: `torch` must be a version"));
  CHECK_THAT(refusal(head + "  torch: \">=two\"\n"), Contains("error[RB019]"));
  CHECK_THAT(refusal(head + "  torch: {a: b}\n"), Contains("c.yaml:4:10: error[RB019]"));
  CHECK(refusal("schema: 1\nname: x\ngpus: [\"8.0\", \"10.3\"]\nclaims:\n  torch: any\n") == "nothing was thrown");
  for (const char* bad : {"sm_90", "9", "9.0.1", ">=8.0"}) {
    CAPTURE(bad);
    CHECK_THAT(refusal(std::string("schema: 1\nname: x\ngpus: [\"") + bad + "\"]\nclaims:\n  torch: any\n"),
               Contains("c.yaml:3:8: error[RB019]: `gpus` must be "));
  }
  CHECK_THAT(refusal("schema: 1\nname: x\n"), Contains("error[RB018]: required key `claims` is missing"));
  CHECK_THAT(refusal(head + "  torch: \"2.9\"\nclaim: 1\n"),
             Contains("error[RB009]: unknown key `claim`; did you mean `claims`?"));
}

}  // namespace
}  // namespace reprobench
