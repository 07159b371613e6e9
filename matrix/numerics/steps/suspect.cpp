#include "matrix/numerics/steps/suspect.hpp"

#include <algorithm>
#include <map>
#include <string_view>

#include <fmt/format.h>

namespace reprobench {
namespace {

void add(std::vector<SideDifference>& differences, const std::string& what, const std::string& measured,
         const std::string& expected) {
  if (measured != expected) differences.push_back({what, measured, expected});
}

void add_map(std::vector<SideDifference>& differences, const std::string& prefix,
             const std::map<std::string, std::string>& measured, const std::map<std::string, std::string>& expected) {
  std::map<std::string, std::pair<std::string, std::string>> merged;
  for (const auto& [name, value] : measured) merged[name].first = value;
  for (const auto& [name, value] : expected) merged[name].second = value;
  for (const auto& [name, values] : merged) add(differences, prefix + name, values.first, values.second);
}

bool can_be_suspected(FingerprintPart part) {
  using enum FingerprintPart;
  return part == component || part == blas || part == instructions || part == gpu;
}

std::string planted(const CellRequest& request) {
  if (!request.inject) return "";
  return fmt::format("{} from step {}", request.inject->kind, request.inject->step);
}

// The libraries that do an operator's work, the likeliest first. An operator without a row is a kernel of torch itself.
// An operator belongs to the first row that has one of its words.
struct OperatorLibrary {
  std::vector<std::string_view> words;
  std::vector<std::string_view> components;
};

const std::vector<OperatorLibrary>& operator_libraries() {
  static const std::vector<OperatorLibrary> kRows = {
      {{"cudnn"}, {"cudnn"}},
      {{"mkldnn"}, {"onednn"}},
      {{"attention"}, {}},  // scaled_dot_product_attention is no dot product
      {{"conv1d", "conv2d", "conv3d", "convolution"}, {"cudnn", "onednn"}},
      {{"addmm", "baddbmm", "bmm", "mm", "matmul", "linear"}, {"cublas", "blas", "blas provider", "onednn"}},
      {{"addmv", "mv", "dot", "vdot"}, {"cublas", "blas", "blas provider"}},
  };
  return kRows;
}

// "aten::_scaled_mm.out" has `scaled`, `mm` and `out`; the backward node "AddmmBackward0" has `addmm` and `backward0`.
std::vector<std::string> words_of(const std::string& operator_name) {
  const auto scope = operator_name.rfind("::");
  std::vector<std::string> words(1);
  for (const char c : scope == std::string::npos ? operator_name : operator_name.substr(scope + 2)) {
    const bool is_capital = c >= 'A' && c <= 'Z';
    if ((is_capital || c == '_' || c == '.') && !words.back().empty()) words.emplace_back();
    if (c != '_' && c != '.') words.back() += static_cast<char>(is_capital ? c - 'A' + 'a' : c);
  }
  return words;
}

const OperatorLibrary* library_of(const std::string& operator_name) {
  const std::vector<std::string> words = words_of(operator_name);
  const auto& rows = operator_libraries();
  const auto found = std::find_if(rows.begin(), rows.end(), [&](const OperatorLibrary& row) {
    return std::find_first_of(words.begin(), words.end(), row.words.begin(), row.words.end()) != words.end();
  });
  return found == rows.end() ? nullptr : &*found;
}

const SideDifference* find(const std::vector<SideDifference>& differences, std::string_view what) {
  const auto found = std::find_if(differences.begin(), differences.end(),
                                  [&](const SideDifference& difference) { return difference.what == what; });
  return found == differences.end() ? nullptr : &*found;
}

Suspect because_of(const SideDifference& difference, const std::string& why) {
  return {difference.what, fmt::format("{}: {}; {}", difference.what, sides_text(difference), why)};
}

}  // namespace

std::vector<SideDifference> side_differences(const CellRequest& measured_request, const CellResult& measured,
                                             const CellRequest& expected_request, const CellResult& expected) {
  std::vector<SideDifference> differences;
  add(differences, "planted fault", planted(measured_request), planted(expected_request));
  add_map(differences, "knob ", measured_request.knobs, expected_request.knobs);
  for (auto& [part, difference] : fingerprint_differences(measured.fingerprint, expected.fingerprint)) {
    if (can_be_suspected(part)) differences.push_back(std::move(difference));
  }
  // Asked for alike and come to otherwise: a consequence of the stack, and the last thing to suspect.
  const auto asked_alike = [&](const auto& knob) {
    const auto other = expected_request.knobs.find(knob.first);
    const auto own = measured_request.knobs.find(knob.first);
    return other != expected_request.knobs.end() && own != measured_request.knobs.end() && other->second == own->second;
  };
  for (const auto& knob : measured.knobs_resolved) {
    const auto other = expected.knobs_resolved.find(knob.first);
    if (other != expected.knobs_resolved.end() && asked_alike(knob)) {
      add(differences, "resolved " + knob.first, knob.second, other->second);
    }
  }
  return differences;
}

Suspect suspect_of(const std::string& operator_name, const std::vector<SideDifference>& differences) {
  if (differences.empty()) {
    return {"", "both sides loaded and set the same: the difference comes from run to run, not from the stack"};
  }
  if (const SideDifference* fault = find(differences, "planted fault")) return because_of(*fault, "it was put there");
  for (const SideDifference& difference : differences) {
    if (difference.what.rfind("knob ", 0) == 0) return because_of(difference, "a setting of the run differs");
  }
  if (differences.size() == 1) return because_of(differences.front(), "nothing else differs");
  if (const OperatorLibrary* library = library_of(operator_name)) {
    for (const std::string_view component : library->components) {
      if (const SideDifference* difference = find(differences, component)) {
        return because_of(*difference, fmt::format("it does the work of {}", operator_name));
      }
    }
  }
  const std::string why = operator_name.empty() ? "no operator could be named"
                                                : fmt::format("{} is a kernel of torch itself", operator_name);
  if (const SideDifference* torch = find(differences, "torch")) return because_of(*torch, why);
  return because_of(differences.front(), why);
}

bool is_of_torch_alone(const std::string& operator_name) { return library_of(operator_name) == nullptr; }

}  // namespace reprobench
