#include "matrix/numerics/calls/operator_divergence.hpp"

#include <algorithm>
#include <vector>

#include "matrix/numerics/calls/operator_alignment.hpp"

namespace reprobench {
namespace {

// "1, [8, 64], none" in three.
std::vector<std::string> arguments_of(const std::string& constants) {
  std::vector<std::string> arguments;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < constants.size(); ++i) {
    if (constants[i] == '[' || constants[i] == '(') ++depth;
    if (constants[i] == ']' || constants[i] == ')') --depth;
    if (depth > 0 || constants.compare(i, 2, ", ") != 0) continue;
    arguments.push_back(constants.substr(begin, i - begin));
    begin = i + 2;
  }
  arguments.push_back(constants.substr(begin));
  return arguments;
}

}  // namespace

bool same_constants(const std::string& measured, const std::string& expected) {
  if (measured == expected) return true;
  if (measured.empty() || expected.empty()) return false;
  std::vector<std::string> ours = arguments_of(measured);
  std::vector<std::string> theirs = arguments_of(expected);
  if (ours.size() == theirs.size()) return false;
  std::erase(ours, "none");
  std::erase(theirs, "none");
  return ours == theirs && !ours.empty();
}

std::optional<std::size_t> differing_output(const OperatorRecord& measured, const OperatorRecord& expected) {
  for (std::size_t i = 0; i < std::min(measured.outputs.size(), expected.outputs.size()); ++i) {
    const OperatorTensor& ours = measured.outputs[i];
    const OperatorTensor& theirs = expected.outputs[i];
    if (has_content(ours) && has_content(theirs) && ours != theirs) return i;
  }
  return std::nullopt;
}

std::string filled_buffer(const OperatorDivergence& call) {
  if (call.output >= call.measured.outputs.size()) return "";
  const std::string& argument = call.measured.outputs[call.output].argument;
  const std::string& module = call.measured.module;
  return argument.empty() || module.empty() ? argument : module + "." + argument;
}

std::vector<std::string> diverging_operator_names(std::span<const OperatorRecord> measured,
                                                  std::span<const OperatorRecord> expected) {
  std::vector<std::string> names;
  std::vector<bool> diverged_at;  // by depth: a call of it diverged since its caller's last call ended
  for (const auto& [i, j] : aligned_calls(measured, expected)) {
    const OperatorRecord& call = measured[i];
    const auto depth = static_cast<std::size_t>(call.depth);
    if (diverged_at.size() < depth + 2) diverged_at.resize(depth + 2);
    const bool by_callee = diverged_at[depth + 1];
    diverged_at[depth + 1] = false;
    const bool diverged = inputs_agree(call, expected[j]) && differing_output(call, expected[j]);
    if (diverged) diverged_at[depth] = true;
    if (!diverged || by_callee) continue;
    if (std::find(names.begin(), names.end(), call.name) == names.end()) names.push_back(call.name);
  }
  return names;
}

}  // namespace reprobench
