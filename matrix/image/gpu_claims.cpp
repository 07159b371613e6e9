#include "matrix/image/gpu_claims.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "matrix/plan/coverage.hpp"

namespace reprobench {
namespace {

const ImageLibrary* taken_library(const ImageSoftware& software, std::string_view beginning) {
  for (const ImageLibrary& library : software.libraries) {
    if (library.is_taken && library.name.starts_with(beginning)) return &library;
  }
  return nullptr;
}

// `capabilities` names machine code as "12.0", and PTX, in an entry of its own, as "12.0+PTX".
bool runs_on(const std::vector<std::string>& capabilities, const std::string& wanted) {
  std::vector<std::string> machine_code;
  for (const std::string& capability : capabilities) {
    if (!capability.ends_with("+PTX")) machine_code.push_back(capability);
  }
  return has_machine_code(machine_code, wanted) || has_ptx(capabilities, wanted);
}

}  // namespace

JudgedClaim judge_gpu_claim(JudgedClaim judged, const ImageSoftware& software) {
  const ImageLibrary* torch = taken_library(software, "libtorch_cuda.so");
  if (software.torches.empty() || torch == nullptr) {
    judged.word = ClaimWord::contradicted;
    judged.why = "no PyTorch in it has a CUDA part";
    return judged;
  }
  judged.evidence = torch->path;
  judged.found = fmt::format("{}", fmt::join(torch->capabilities, " "));
  if (torch->capabilities.empty()) {
    judged.why = fmt::format("no device code was found in {}", torch->path);
    return judged;
  }
  if (!runs_on(torch->capabilities, judged.claimed)) {
    judged.word = ClaimWord::contradicted;
    judged.why = fmt::format("{} has code for {}, none that runs on {}", torch->path, judged.found, judged.claimed);
    return judged;
  }
  const ImageLibrary* nccl = taken_library(software, "libnccl.so");
  if (nccl != nullptr && !runs_on(nccl->capabilities, judged.claimed)) {
    judged.word = nccl->capabilities.empty() ? ClaimWord::unread : ClaimWord::contradicted;
    judged.why = nccl->capabilities.empty() ? fmt::format("no device code was found in {}", nccl->path)
                                            : fmt::format("{} has code for {}: collectives fail on {}", nccl->path,
                                                          fmt::join(nccl->capabilities, " "), judged.claimed);
    return judged;
  }
  judged.word = ClaimWord::agrees;
  return judged;
}

}  // namespace reprobench
