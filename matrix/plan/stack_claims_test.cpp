// Claims against the shipped facts: the two published claims with their verdicts, and the ways to be fooled.
#include "matrix/plan/stack_claims.hpp"

#include "ci/catch.hpp"
#include "matrix/plan/resolve_fixture.hpp"

using namespace reprobench;

namespace {

using Texts = std::vector<std::string>;

// "wheel yes": each finding in the order of the rules.
Texts verdicts(const StackClaims& claims) {
  Texts texts;
  for (const ClaimFinding& finding : check_stack_claims(claims, shipped_facts())) {
    texts.push_back(fmt::format("{} {}", finding.rule, to_string(finding.holds)));
  }
  return texts;
}

ClaimFinding finding_of(const StackClaims& claims, const std::string& rule) {
  for (const ClaimFinding& finding : check_stack_claims(claims, shipped_facts())) {
    if (finding.rule == rule) return finding;
  }
  return {};
}

std::string overall(const StackClaims& claims) {
  return std::string(to_string(overall_of(check_stack_claims(claims, shipped_facts()))));
}

Texts ids(const std::vector<KnownDefect>& defects) {
  Texts names;
  for (const KnownDefect& defect : defects) names.push_back(defect.id);
  return names;
}

}  // namespace

TEST_CASE("torch 2.9 with CUDA 11.8 or 12.1, cuDNN 8, Python 3.10 and driver 525 never was", "[plan]") {
  for (const char* cuda : {"11.8", "12.1"}) {
    const StackClaims claims = {
        {"torch", "2.9"}, {"cuda", cuda}, {"cudnn", "8"}, {"python", "3.10"}, {"driver", "525"}};
    CHECK(verdicts(claims) == Texts{"wheel no", "cudnn no", "python yes", "cudnn-cuda yes", "driver depends"});
    CHECK(overall(claims) == "contradicted");
    const ClaimFinding wheel = finding_of(claims, "wheel");
    CHECK(wheel.sentence == fmt::format("torch 2.9 never shipped with CUDA {}", cuda));
    CHECK(wheel.instead == fmt::format("it exists with CUDA 12.6, 12.8, 12.9, 13.0; CUDA {} ended with torch {}", cuda,
                                       std::string(cuda) == "11.8" ? "2.7.1" : "2.5.1"));
    CHECK(wheel.sources == Texts{"E1", "E4", "E20", "E9", "E7"});
    CHECK(wheel.confidence == "I");  // one of its rows is inferred
    const ClaimFinding cudnn = finding_of(claims, "cudnn");
    CHECK(cudnn.sentence ==
          "cuDNN 8 is claimed; wheels of torch 2.9 have 9.10.2.21 (cu126, cu128), 9 (cu129), 9.13.0.50 (cu130)");
    CHECK(cudnn.instead == "cuDNN 8 is in wheels of torch 1.13 to 2.3");
    CHECK(
        finding_of(claims, "driver").sentence ==
        "driver 525: cu126 runs from 525.60.13 on, the floor of CUDA 12 (toolkit 12.6.3 installs 560.35.05); cu128 "
        "runs from 525.60.13 on, the floor of CUDA 12 (toolkit 12.8.1 installs 570.124.06); cu129 runs from 525.60.13 "
        "on, the floor of CUDA 12 (which driver its toolkit installs is not verified); cu130 does not run before "
        "580.65.06, the floor of CUDA 13");
  }
}

TEST_CASE("torch 2.1.0 with CUDA 11.8 is real, and cuDNN 8.6 and NCCL 2.12.12 are not its", "[plan]") {
  const StackClaims claims = {{"torch", "2.1.0"},    {"cuda", "11.8"},        {"cudnn", "8.6"},
                              {"nccl", "2.12.12"},   {"driver", "470.57.02"}, {"torchvision", "0.16.0"},
                              {"deepspeed", "0.9.5"}};
  CHECK(verdicts(claims) == Texts{"wheel yes", "cudnn no", "nccl no", "cudnn-cuda yes", "nccl-cuda no",
                                  "torchvision yes", "driver depends", "no-facts unknown"});
  CHECK(overall(claims) == "contradicted");
  CHECK(finding_of(claims, "cudnn").sentence == "cuDNN 8.6 is claimed; wheels of torch 2.1 have 8.7.0.84 (cu118)");
  CHECK(finding_of(claims, "cudnn").confidence == "I");
  CHECK(finding_of(claims, "cudnn-cuda").sentence ==
        "NVIDIA built cuDNN 8.6.0.163 for CUDA 10.2, 11.8 (shipped in NVIDIA 22.10 containers and the first "
        "nvidia/cuda:11.8.0-cudnn8 images)");
  CHECK(finding_of(claims, "nccl").sentence == "NCCL 2.12.12 is claimed; wheels of torch 2.1 have 2.18.5 (cu118)");
  CHECK(finding_of(claims, "nccl-cuda").sentence ==
        "NVIDIA built NCCL 2.12.12 for CUDA 10.2, 11.0, 11.6 (last 2.12; predates CUDA 11.8 and sm_90)");
  CHECK(finding_of(claims, "driver").sentence ==
        "driver 470.57.02: cu118 runs in minor-version mode, without PTX of its toolkit (floor 450.80.02, toolkit "
        "11.8.0 installs 520.61.05); NVIDIA lists branch 470.57 for the cuda-compat package of CUDA 11.8, on "
        "data-center GPUs alone");
}

TEST_CASE("a stack of which every part is known and fits exists", "[plan]") {
  CHECK(overall({{"torch", "2.9.0"}, {"cuda", "12.8"}}) == "exists");
  CHECK(overall({{"torch", "2.9.0+cu128"}}) == "exists");
  CHECK(overall({{"torch", "2.9.0+cu118"}}) == "contradicted");
  CHECK(overall({{"torch", "2.9"},
                 {"cuda", "cu128"},
                 {"cudnn", "9.10.2"},
                 {"nccl", "2.27.5"},
                 {"python", "3.12"},
                 {"abi", "1"},
                 {"cxx", "20"},
                 {"driver", "570.124.06"},
                 {"sm", "9.0"},
                 {"glibc", "2.28"}}) == "exists");
  CHECK(overall({{"torch", "2.9"}, {"cuda", "12.8"}, {"driver", "550.54.14"}, {"sm", "sm_90"}}) == "exists");
}

TEST_CASE("torchvision and torchaudio belong to one torch each, and the right one is named", "[plan]") {
  CHECK(overall({{"torch", "2.9.0"}, {"torchvision", "0.24.0"}, {"torchaudio", "2.9.0"}}) == "exists");
  CHECK(overall({{"torch", "2.9"}, {"torchvision", "0.24"}}) == "exists");
  const StackClaims mixed = {{"torch", "2.9.0+cu128"}, {"torchvision", "0.23.0"}};
  CHECK(overall(mixed) == "contradicted");
  CHECK(finding_of(mixed, "torchvision").sentence == "torchvision 0.23.0 is built for torch 2.8.0");
  CHECK(finding_of(mixed, "torchvision").instead == "for torch 2.9.0+cu128 it is torchvision 0.24.0");
  CHECK(finding_of(mixed, "torchvision").sources == Texts{"E21"});
  CHECK(overall({{"torch", "2.9.1"}, {"torchvision", "0.24.0"}}) == "contradicted");
  CHECK(overall({{"torch", "2.15.0"}, {"torchvision", "0.29.1"}}) == "exists");  // from 2.14.0 on
  CHECK(overall({{"torch", "2.13.0"}, {"torchvision", "0.29.1"}}) == "contradicted");
  CHECK(finding_of({{"torch", "2.13.0"}, {"torchvision", "0.29.1"}}, "torchvision").instead ==
        "for torch 2.13.0 it is torchvision 0.28.0");
  CHECK(finding_of({{"torch", "1.13.0"}, {"torchvision", "0.16.0"}}, "torchvision").instead ==
        "no release of torchvision is for torch 1.13.0");
  CHECK(finding_of({{"torch", "2.9.0"}, {"torchvision", "0.99"}}, "torchvision").sentence ==
        "the facts have no torchvision 0.99");
  CHECK(overall({{"torch", "2.9.0"}, {"torchvision", "0.99"}}) == "unknown");
  CHECK(overall({{"torchvision", "0.24.0"}}) == "exists");
}

TEST_CASE("one part that is wrong contradicts a stack", "[plan]") {
  const StackClaims right = {{"torch", "2.9"}, {"cuda", "12.8"}};
  for (const auto& [name, wrong] : StackClaims{{"cudnn", "9.10.3"},
                                               {"nccl", "2.27.6"},
                                               {"python", "3.9"},
                                               {"abi", "0"},
                                               {"cxx", "14"},
                                               {"driver", "525.60.12"},
                                               {"sm", "6.1"},
                                               {"glibc", "2.27"},
                                               {"cuda", "12.8.0"}}) {
    INFO(name << " " << wrong);
    StackClaims claims = right;
    claims[name] = wrong;
    CHECK(overall(claims) == "contradicted");
  }
}

TEST_CASE("what the facts do not know is unknown, and never yes", "[plan]") {
  CHECK(overall({}) == "unknown");
  CHECK(overall({{"torch", "2.16"}}) == "unknown");
  CHECK(overall({{"torch", "2.9.7"}, {"cuda", "12.8"}}) == "unknown");
  CHECK(overall({{"torch", "2.9.7"}}) == "unknown");
  CHECK(overall({{"torch", "newest"}}) == "unknown");
  CHECK(overall({{"torch", "2.9"}, {"cuda", "new"}}) == "unknown");
  CHECK(overall({{"torch", "2.9"}, {"cuda", "12.9"}, {"nccl", "2.27.5"}}) == "unknown");
  CHECK(overall({{"torch", "2.9"}, {"cuda", "12.9"}, {"sm", "9.0"}}) == "unknown");
  CHECK(overall({{"torch", "1.13.0"}, {"cuda", "11.7"}, {"nccl", "2.14.3"}}) == "unknown");
  CHECK(overall({{"torch", "2.9"}, {"cuda", "12.8"}, {"sm", "big"}}) == "unknown");
  CHECK(overall({{"torch", "2.9"}, {"cuda", "12.8"}, {"transformers", "4.30.0"}}) == "unknown");
  CHECK(overall({{"cuda", "14.0"}}) == "unknown");
  for (const char* alone : {"sm", "glibc", "driver", "cudnn", "nccl", "python", "abi", "cxx"}) {
    INFO(alone);
    CHECK(overall({{alone, "9.0"}}) == "unknown");
  }
}

TEST_CASE("parts that are each in some wheel and together in none contradict", "[plan]") {
  CHECK(verdicts({{"torch", "2.8"}, {"cuda", "12"}, {"cudnn", "9.10.2"}, {"nccl", "2.27.3"}}) ==
        Texts{"wheel yes", "cudnn yes", "nccl yes"});
  // 2.11: cu126 has cuDNN 9.10.2.21, cu130 alone is of CUDA 13.
  CHECK(overall({{"torch", "2.11"}, {"cuda", "13"}, {"cudnn", "9.10.2"}}) == "contradicted");
  CHECK(verdicts({{"torch", "2.14"}, {"cudnn", "9.24.0"}, {"nccl", "2.29.3"}}) ==
        Texts{"wheel yes", "cudnn yes", "nccl yes", "together no"});
  // The GPU wants cu126, the glibc any; the driver is under the floor of none but 13.
  CHECK(verdicts({{"torch", "2.6"}, {"sm", "3.7"}, {"glibc", "2.27"}, {"driver", "470.57.02"}, {"cudnn", "9"}}) ==
        Texts{"wheel yes", "cudnn yes", "kernels depends", "driver depends", "gpu-driver yes", "glibc depends"});
  CHECK(verdicts({{"torch", "2.14"}, {"sm", "7.0"}, {"cudnn", "9.24"}}) ==
        Texts{"wheel yes", "cudnn yes", "kernels no"});
}

TEST_CASE("what differs between the wheels of a release depends on which one is meant", "[plan]") {
  CHECK(finding_of({{"torch", "2.9"}, {"driver", "580.65.06"}}, "driver").holds == Holds::depends);
  CHECK(finding_of({{"torch", "2.9"}, {"driver", "525.60.12"}}, "driver").holds == Holds::no);
  CHECK(finding_of({{"torch", "2.9"}, {"cuda", "13.0"}, {"driver", "580.65.06"}}, "driver").holds == Holds::yes);
  CHECK(finding_of({{"torch", "2.9"}, {"sm", "7.0"}}, "kernels").holds == Holds::depends);
  // The component says which wheel it is.
  CHECK(finding_of({{"torch", "2.9"}, {"cudnn", "9.13"}, {"driver", "525.60.13"}}, "driver").holds == Holds::no);
}

TEST_CASE("a later release of a line has what it changed, an earlier one has not", "[plan]") {
  CHECK(overall({{"torch", "2.1.0"}, {"cuda", "11.8"}, {"nccl", "2.18.5"}}) == "exists");
  CHECK(overall({{"torch", "2.1.0"}, {"cuda", "11.8"}, {"nccl", "2.18.6"}}) == "contradicted");
  CHECK(overall({{"torch", "2.1.2"}, {"cuda", "11.8"}, {"nccl", "2.18.6"}}) == "exists");
  CHECK(overall({{"torch", "2.1.2"}, {"cuda", "11.8"}, {"nccl", "2.18.5"}}) == "contradicted");
  CHECK(overall({{"torch", "2.1"}, {"cuda", "11.8"}, {"nccl", "2.18.6"}}) == "exists");
}

TEST_CASE("GPU, driver and CUDA are held against each other without torch", "[plan]") {
  CHECK(overall({{"cuda", "13.0"}, {"sm", "7.0"}}) == "contradicted");
  CHECK(overall({{"cuda", "12.8"}, {"sm", "7.0"}}) == "exists");
  CHECK(overall({{"driver", "590.44.01"}, {"sm", "7.0"}}) == "contradicted");
  CHECK(overall({{"driver", "580.95.05"}, {"sm", "7.0"}}) == "exists");
  CHECK(overall({{"driver", "550.54.14"}, {"sm", "12.0"}}) == "contradicted");
  CHECK(overall({{"driver", "570.26"}, {"sm", "12.0"}}) == "exists");
  CHECK(overall({{"cuda", "12.8"}, {"driver", "525.60.12"}}) == "contradicted");
  CHECK(overall({{"cuda", "12.8"}, {"driver", "570.26"}}) == "exists");
  CHECK(overall({{"cuda", "11.8"}, {"nccl", "2.12.12"}}) == "contradicted");
}

TEST_CASE("an older driver may do with the package of its branch, on some GPUs", "[plan]") {
  CHECK(finding_of({{"cuda", "12.6"}, {"driver", "470.57.02"}}, "driver").holds == Holds::depends);
  CHECK(finding_of({{"cuda", "12.6"}, {"driver", "510.47.03"}}, "driver").holds == Holds::no);
  CHECK_THAT(finding_of({{"cuda", "12.8"}, {"driver", "535.183.01"}}, "driver").sentence,
             Catch::EndsWith("; branch R535 (LTS) is supported until 2026-06"));
}

TEST_CASE("what comes by another way than a wheel has no wheel's row", "[plan]") {
  CHECK(overall({{"torch", "2.9"}, {"cuda", "12.8"}, {"channel", "docker"}}) == "exists");
  CHECK(overall({{"torch", "2.1.0"}, {"cuda", "11.8"}, {"cudnn", "8"}, {"channel", "docker"}}) == "exists");
  CHECK(overall({{"torch", "2.1.0"}, {"cuda", "11.8"}, {"cudnn", "9"}, {"channel", "docker"}}) == "contradicted");
  CHECK(overall({{"torch", "2.9"}, {"cuda", "12.9"}, {"channel", "docker"}}) == "contradicted");
  CHECK(overall({{"torch", "2.9.7"}, {"cuda", "12.8"}, {"channel", "docker"}}) == "unknown");
  CHECK(overall({{"torch", "2.8"}, {"cuda", "12.8"}, {"channel", "docker"}}) == "unknown");
  CHECK(overall({{"torch", "2.9"}, {"cuda", "12.8"}, {"nccl", "2.27.5"}, {"channel", "docker"}}) == "unknown");
  CHECK(overall({{"torch", "2.6"}, {"channel", "conda"}}) == "contradicted");
  CHECK(overall({{"torch", "2.5.1"}, {"channel", "conda"}}) == "unknown");
  CHECK(overall({{"torch", "2.9"}, {"cuda", "12.8"}, {"channel", "zip"}}) == "unknown");
  CHECK(overall({{"torch", "2.9"}, {"cuda", "12.8"}, {"channel", "elsewhere"}}) == "unknown");
  CHECK(verdicts({{"torch", "2.9.0a0+145a3a7bda.nv25.10"}, {"cuda", "13.0"}}) == Texts{"channel-content unknown"});
}

TEST_CASE("defects are those of what the wheel carries, also where it is not asked for", "[plan]") {
  const auto apply = [](const StackClaims& claims) {
    return ids(known_defects_of_claims(claims, shipped_facts()).apply);
  };
  const auto may = [](const StackClaims& claims) {
    return ids(known_defects_of_claims(claims, shipped_facts()).may_apply);
  };
  CHECK(apply({{"torch", "2.8.0+cu128"}}) == Texts{"conv3d-bf16-wrong"});
  CHECK(apply({{"torch", "2.7"}, {"cuda", "12.8"}}).empty());
  CHECK(may({{"torch", "2.7"}, {"cuda", "12.8"}}) == Texts{"sm120-nan-2.7"});
  CHECK(apply({{"torch", "2.7.1"}, {"cuda", "12.8"}, {"sm", "12.0"}}) == Texts{"sm120-nan-2.7"});
  // With CUDA 13.0 it has a cuDNN that is mended, and with CUDA 12.9 a 9 that is not verified further.
  CHECK(may({{"torch", "2.9"}}) == Texts{"conv3d-bf16-wrong", "cudnn-9.20-sublibrary", "nccl-2.27.7-slow"});
  CHECK(apply({{"torch", "2.9"}}) == Texts{"conv3d-bf16-memory", "conv3d-amp-slow"});
  CHECK(apply({{"cudnn", "9.10.2"}}) == Texts{"conv3d-bf16-wrong"});
  // Between releases.
  const StackClaims between = {{"torch", "2.9.0a0+145a3a7bda.nv25.10"}, {"cudnn", "9.13.0"}, {"nccl", "2.27.7"}};
  CHECK(apply(between) == Texts{"nccl-2.27.7-slow"});
  CHECK(may(between) == Texts{"conv3d-bf16-memory", "conv3d-amp-slow"});
}
