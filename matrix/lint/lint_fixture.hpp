// Shared by tests of the rules: a situation in which everything is known, and a configuration given as text.
#pragma once

#include <string>

#include <fmt/format.h>

#include "ci/catch.hpp"
#include "matrix/lint/lint.hpp"
#include "matrix/spec/files/json_reader.hpp"

namespace reprobench {

inline constexpr std::int64_t kGiB = std::int64_t{1} << 30;

// Eight GPUs of 80 GiB on one host of 1 TiB, 1.3e9 parameters, a DeepSpeed without the failures of 0.14.1, and existing
// folders for offload.
inline LintSituation known_situation() {
  LintSituation situation;
  situation.world_size = SourcedNumber{8, "--world-size"};
  situation.gpus_per_host = SourcedNumber{8, "--gpus-per-host"};
  situation.gpu_memory_bytes = SourcedNumber{80 * kGiB, "--gpu-memory"};
  situation.host_memory_bytes = SourcedNumber{1024 * kGiB, "--host-memory"};
  situation.parameters = 1'300'000'000;
  situation.largest_layer = 100'000'000;
  situation.deepspeed_version = "0.16.4";
  const auto folder = [](const char* resolved) { return OffloadFolder{true, true, false, resolved, 4096 * kGiB}; };
  situation.folders["/local_nvme/states"] = folder("/local_nvme/states");
  situation.folders["/local_nvme/params"] = folder("/local_nvme/params");
  situation.folders["/local_nvme/../etc/states"] = folder("/etc/states");
  situation.folders["/scratch/memory"] = folder("/scratch/memory");
  situation.folders["/scratch/memory"].is_in_memory = true;
  return situation;
}

inline LintDocument lint_text(const std::string& text, const LintSituation& situation = known_situation()) {
  return lint(DeepSpeedConfig(read_json(text, "ds.json")), "ds.json", situation);
}

// "3:5 DS020, DS083": the place and code of every finding; those about the environment have no place.
inline std::string codes(const LintDocument& document) {
  std::string text;
  for (const LintFinding& finding : document.findings) {
    if (!text.empty()) text += ", ";
    if (finding.mark.line > 0) text += fmt::format("{}:{} ", finding.mark.line, finding.mark.column);
    text += finding.code;
  }
  return text;
}

// The text of the only finding with this code; empty if there is none, or more than one.
inline std::string said(const LintDocument& document, const std::string& code) {
  std::string text;
  int count = 0;
  for (const LintFinding& finding : document.findings) {
    if (finding.code != code) continue;
    text = finding.what;
    ++count;
  }
  return count == 1 ? text : "";
}

inline int count_of(const LintDocument& document, const std::string& code) {
  int count = 0;
  for (const LintFinding& finding : document.findings) count += finding.code == code;
  return count;
}

}  // namespace reprobench
