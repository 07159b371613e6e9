// A declared call's arguments by place, in the form in which its sums are read.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "matrix/contract/declared_call.hpp"

namespace reprobench {

class CallArguments {
 public:
  explicit CallArguments(const DeclaredCall& call) : call_(call) {
    for (const DeclaredArgument& argument : call.arguments) {
      if (const auto* tensor = std::get_if<DeclaredTensor>(&argument.value)) {
        tensors_.push_back({tensor, static_cast<int>(tensors_.size())});
      } else {
        tensors_.push_back({nullptr, -1});
        const auto* several = std::get_if<DeclaredTensors>(&argument.value);
        if (several != nullptr) has_list_ = true;
      }
    }
    int number = 0;
    for (auto& [tensor, place] : tensors_) place = tensor == nullptr ? -1 : number++;
  }

  // Whether the call has neither a list of tensors nor an argument by its name. Only then are places those of the
  // schema.
  bool is_positional() const {
    return !has_list_ && std::ranges::all_of(call_.arguments, [](const auto& one) { return one.name.empty(); });
  }
  int seed() const {
    return static_cast<int>(std::count_if(tensors_.begin(), tensors_.end(), [](const auto& one) { return one.first; }));
  }
  const DeclaredTensor* tensor(std::size_t at) const { return at < tensors_.size() ? tensors_[at].first : nullptr; }
  int number(std::size_t at) const { return tensors_[at].second; }

  // A list of whole numbers, or one number that stands for all; `otherwise` if it is not given.
  std::vector<std::int64_t> integers(std::size_t at, std::size_t count, std::int64_t otherwise) const {
    if (at < call_.arguments.size()) {
      const auto& value = call_.arguments[at].value;
      if (const auto* list = std::get_if<DeclaredIntegers>(&value)) {
        if (list->size() == count) return *list;
        if (list->size() == 1) return std::vector<std::int64_t>(count, list->front());
      }
      if (const auto* one = std::get_if<std::int64_t>(&value)) return std::vector<std::int64_t>(count, *one);
    }
    return std::vector<std::int64_t>(count, otherwise);
  }

  bool is_given(std::size_t at) const {
    return at < call_.arguments.size() && !std::holds_alternative<NoValue>(call_.arguments[at].value);
  }
  const DeclaredCall& call() const { return call_; }

 private:
  const DeclaredCall& call_;
  std::vector<std::pair<const DeclaredTensor*, int>> tensors_;
  bool has_list_ = false;
};

// The schema's name of an output. Records count outputs without those that a backward call's mask leaves out. With the
// mask [false, true, true], "output.0" is the schema's "output.1".
inline std::string output_of_schema(const DeclaredCall& call, std::string_view output) {
  constexpr std::string_view kPrefix = "output.";
  const auto* mask = call.arguments.empty() ? nullptr : std::get_if<DeclaredFlags>(&call.arguments.back().value);
  if (mask == nullptr || !output.starts_with(kPrefix) || output.size() != kPrefix.size() + 1)
    return std::string(output);
  int left = output.back() - '0';
  for (std::size_t i = 0; i < mask->size(); ++i) {
    if ((*mask)[i] && left-- == 0) return std::string(kPrefix) + std::to_string(i);
  }
  return "";
}

// The tensor that an output belongs to: 1 for "gradient.1", nothing for "output.0".
inline std::optional<std::size_t> gradient_of(std::string_view output) {
  constexpr std::string_view kPrefix = "gradient.";
  if (!output.starts_with(kPrefix) || output.size() != kPrefix.size() + 1) return std::nullopt;
  return static_cast<std::size_t>(output.back() - '0');
}

}  // namespace reprobench
