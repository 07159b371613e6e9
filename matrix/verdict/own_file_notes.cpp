#include "matrix/verdict/own_file_notes.hpp"

#include <fmt/format.h>

namespace reprobench {
namespace {

std::string use_text(const DataUse& use) {
  std::string text = fmt::format(": of {} record{} {} {}", use.records, use.records == 1 ? "" : "s", use.samples,
                                 use.samples == 1 ? "is a sample" : "are samples");
  if (const std::int64_t left_out = use.records - use.samples; left_out > 0) {
    text += fmt::format(", {} {} no room for a response in the context", left_out, left_out == 1 ? "has" : "have");
  }
  if (use.cut > 0) text += fmt::format("; of {} sample{} the response is cut", use.cut, use.cut == 1 ? "" : "s");
  return text;
}

std::string use_text(const WeightsUse& use) {
  std::string text = fmt::format(": {} tensor{} loaded", use.loaded, use.loaded == 1 ? " is" : "s are");
  if (use.drawn > 0) text += fmt::format(", {} {} drawn", use.drawn, use.drawn == 1 ? "is" : "are");
  if (use.passed_over > 0) {
    text += fmt::format(", {} of the file {} passed over", use.passed_over, use.passed_over == 1 ? "is" : "are");
  }
  return text;
}

}  // namespace

std::vector<std::string> own_file_notes(const WorkloadRequest& workload, const CellResult* result) {
  std::vector<std::string> notes;
  const auto add = [&](const OwnFileField& own, const auto& use) {
    if ((workload.*own.sha256).empty()) return;
    notes.push_back(fmt::format("{}: {}, SHA-256 {}{}", own.name, workload.*own.file, workload.*own.sha256,
                                use ? use_text(*use) : ""));
  };
  add(kOwnFiles[0], result == nullptr ? std::optional<DataUse>() : result->data);
  add(kOwnFiles[1], result == nullptr ? std::optional<WeightsUse>() : result->weights);
  add(kOwnFiles[2], std::optional<WeightsUse>());  // the calls themselves say which of its tensors they take
  add(kOwnFiles[3], std::optional<WeightsUse>());  // the measurements say whose package it is
  return notes;
}

}  // namespace reprobench
