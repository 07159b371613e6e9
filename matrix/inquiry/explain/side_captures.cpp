#include "matrix/inquiry/explain/side_captures.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "matrix/inquiry/explain/captured_evidence.hpp"
#include "matrix/inquiry/explain/replay_files.hpp"
#include "matrix/inquiry/explain/source_judgement.hpp"

namespace reprobench {

bool has_both_sides(const DifferenceSource& source) {
  if (source.call) return true;
  const auto is_there = [](const OperatorSubgraph& subgraph) {
    return subgraph.at.step > 0 && !subgraph.not_on_record;
  };
  return source.region && is_there(source.region->measured) && is_there(source.region->expected);
}

std::vector<DifferenceSource*> sources_to_capture(Explanation& explanation, bool on_substituted_inputs, Looks looks) {
  std::vector<DifferenceSource*> sources;
  std::set<std::string> operators;
  std::int64_t bytes = 0;
  if (!on_substituted_inputs && has_both_sides(explanation)) {
    sources.push_back(&explanation);
    operators.insert(operator_of(explanation));
    bytes = capture_bytes(explanation);
  }
  for (const bool is_second_look : {false, true}) {
    if (is_second_look && looks == Looks::first) break;
    for (FurtherSource& source : explanation.further_sources) {
      if (!source.inputs_agree || !has_both_sides(source)) continue;
      if (source.on_substituted_inputs != on_substituted_inputs) continue;
      if (operators.insert(operator_of(source)).second == is_second_look) continue;
      if (std::find(sources.begin(), sources.end(), &source) != sources.end()) continue;
      const std::int64_t with_it = bytes + capture_bytes(source);
      if (!sources.empty() && (sources.size() == kMostCaptures || with_it > kMostCaptureBytes)) continue;
      sources.push_back(&source);
      bytes = with_it;
    }
  }
  return sources;
}

SideCaptures::SideCaptures(Side side, const std::vector<DifferenceSource*>& sources)
    : side_(side), sources_(sources.begin(), sources.end()) {
  for (const DifferenceSource* source : sources_) {
    const auto [measured, expected] = sites_of(*source);
    sites_.push_back(side_ == Side::measured ? measured : expected);
  }
  for (std::size_t source = 0; source < sources_.size(); ++source) {
    if (!sources_[source]->call) add_module(source);
  }
}

const OperatorSubgraph& SideCaptures::subgraph_of(const DifferenceSource& source) const {
  const OperatorRegion& region = source.region.value();
  return side_ == Side::measured ? region.measured : region.expected;
}

// All of a module's calls or none: a part of them bounds nothing.
void SideCaptures::add_module(std::size_t source) {
  const auto calls = module_calls(subgraph_of(*sources_[source]));
  std::int64_t bytes = module_bytes_;
  for (const OperatorRecord* call : calls) bytes = std::min(bytes + capture_bytes(*call), kMostCaptureBytes + 1);
  if (sites_.size() - sources_.size() + calls.size() > kMostCaptures || bytes > kMostCaptureBytes) return;
  module_bytes_ = bytes;
  first_of_module_[source] = sites_.size();
  for (const OperatorRecord* call : calls) sites_.push_back({call->step, call->index});
}

// Nothing: they were too many or too large.
std::optional<std::vector<CapturedModuleCall>> SideCaptures::module_calls_left(
    std::size_t source, const std::filesystem::path& folder) const {
  const auto first = first_of_module_.find(source);
  if (first == first_of_module_.end()) return std::nullopt;
  std::vector<CapturedModuleCall> files;
  for (const OperatorRecord* call : module_calls(subgraph_of(*sources_[source]))) {
    files.push_back({call, tensors_left_in(folder, operator_tensors_file(first->second + files.size()))});
  }
  return files;
}

std::string SideCaptures::captured_otherwise(std::size_t source, const std::filesystem::path& folder) const {
  const auto& call = sources_[source]->call;
  const SafetensorsFile file = tensors_left_in(folder, operator_tensors_file(source));
  if (call) return reprobench::captured_otherwise(side_ == Side::measured ? call->measured : call->expected, file);
  std::string problem = reprobench::captured_otherwise(subgraph_of(*sources_[source]), file);
  if (!problem.empty()) return problem;
  if (const auto calls = module_calls_left(source, folder)) {
    for (const CapturedModuleCall& captured : *calls) {
      problem = reprobench::captured_otherwise(*captured.call, captured.file);
      if (!problem.empty()) return problem;
    }
  }
  return "";
}

ModuleSide SideCaptures::judged_module(std::size_t source, const CellRequest& request,
                                       const std::filesystem::path& folder) const {
  const OperatorSubgraph& subgraph = subgraph_of(*sources_[source]);
  if (const auto calls = module_calls_left(source, folder)) return judge_module_side(subgraph, request, *calls, "");
  return judge_module_side(subgraph, request, {},
                           fmt::format("its calls were not captured: {} of them and {} MiB are at most", kMostCaptures,
                                       kMostCaptureBytes >> 20));
}

}  // namespace reprobench
