#include "suites/worker/weights/weight_names.hpp"

#include <algorithm>
#include <set>

#include "matrix/base/nearest_name.hpp"
#include "suites/worker/weights/weight_elements.hpp"

namespace reprobench {
namespace {

// With whose they are and how many more there are, as many as are printed.
constexpr std::size_t kMostProblems = 18;
constexpr std::size_t kMostNames = 1'000;  // that one is held against

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string text = "(";
  for (const std::int64_t extent : shape) text += (text.size() > 1 ? ", " : "") + std::to_string(extent);
  return text + ")";
}

bool has_end(std::string_view name, std::span<const std::string_view> ends) {
  return std::ranges::any_of(ends, [&](std::string_view end) { return name.ends_with(end); });
}

bool has_part(std::string_view name, std::span<const std::string_view> parts) {
  return std::ranges::any_of(parts, [&](std::string_view part) { return name.find(part) != std::string_view::npos; });
}

class Matcher {
 public:
  Matcher(const Model& model, const ModelPreset& preset)
      : naming_(model.published_naming()), label_(std::string(model.name()) + "/" + std::string(preset.name)) {
    for (const ParameterSpec& spec : model.parameters(preset)) expect(spec.name, spec.shape);
    for (const BufferSpec& spec : model.buffers(preset)) {
      if (spec.values.empty()) expect(spec.name, spec.shape);  // a table of constants is nobody's weights
    }
  }

  std::vector<WeightTarget> expected(std::int64_t& drawn) const {
    drawn = result_.drawn;
    std::vector<WeightTarget> targets;
    for (const auto& [_, target] : wanted_) targets.push_back(target);
    return targets;
  }

  WeightNames match(std::span<const SafetensorsEntry> tensors) {
    std::vector<const SafetensorsEntry*> extra;
    for (const SafetensorsEntry& tensor : tensors) {
      if (!take(tensor)) extra.push_back(&tensor);
    }
    std::vector<std::string> missing;
    for (const auto& [name, _] : wanted_) {
      if (!taken_.contains(name)) missing.push_back(name);
    }
    report_missing(missing, extra);
    report_extra(extra, missing);
    return std::move(result_);
  }

 private:
  void expect(const std::string& name, const std::vector<std::int64_t>& shape) {
    if (has_part(name, naming_.added)) {
      ++result_.drawn;
    } else {
      wanted_[name] = {name, shape, shape.size() == 2 && has_end(name, naming_.transposed)};
    }
  }

  std::string without_prefix(const std::string& name) const {
    const bool has_prefix = !naming_.prefix.empty() && name.starts_with(naming_.prefix);
    return has_prefix ? name.substr(naming_.prefix.size()) : name;
  }

  // False for a tensor that the model has no use for.
  bool take(const SafetensorsEntry& tensor) {
    const std::string name = without_prefix(tensor.name);
    if (const auto wanted = wanted_.find(name); wanted != wanted_.end()) {
      if (const auto [first, is_new] = taken_.try_emplace(name, tensor.name); !is_new) {
        problem("`" + tensor.name + "` and `" + first->second + "` are both `" + name + "` of " + label_);
        return true;
      }
      check(tensor, wanted->second);
      result_.targets[tensor.name] = wanted->second;
      return true;
    }
    const auto copy = std::ranges::find(naming_.copies, name, &PublishedNaming::Copy::name);
    if (copy != naming_.copies.end()) {
      const auto original = wanted_.find(std::string(copy->of));
      if (original != wanted_.end()) check(tensor, original->second);
      result_.copies[tensor.name] = copy->of;
    } else if (!has_end(name, naming_.constants)) {
      return false;
    }
    ++result_.passed_over;
    return true;
  }

  void check(const SafetensorsEntry& tensor, const WeightTarget& target) {
    if (weight_element_bytes(tensor.dtype) == 0) {
      problem("`" + tensor.name + "` is of type " + tensor.dtype + "; F32, F16, BF16 and F64 are taken");
    }
    std::vector<std::int64_t> shape = target.shape;
    if (target.is_transposed) std::reverse(shape.begin(), shape.end());
    if (tensor.shape == shape) return;
    problem("`" + tensor.name + "` has the shape " + shape_text(tensor.shape) + ", " + label_ + " takes " +
            shape_text(shape));
  }

  void report_missing(const std::vector<std::string>& missing, const std::vector<const SafetensorsEntry*>& extra) {
    std::vector<std::string> others;
    for (const SafetensorsEntry* tensor : extra) others.push_back(without_prefix(tensor->name));
    for (const std::string& name : missing) {
      const std::string near = near_name(name, others);
      problem("`" + name + "` is missing" + (near.empty() ? "" : "; the file has `" + near + "`"));
    }
  }

  void report_extra(const std::vector<const SafetensorsEntry*>& extra, const std::vector<std::string>& missing) {
    for (const SafetensorsEntry* tensor : extra) {
      const std::string near = near_name(without_prefix(tensor->name), missing);
      problem("`" + tensor->name + "` is nothing of " + label_ +
              (near.empty() ? "" : "; did you mean `" + near + "`?"));
    }
  }

  // Only of what will be told, and among so many names: a file of another model has nothing but problems.
  std::string near_name(const std::string& name, std::span<const std::string> known) const {
    if (result_.problems.size() >= kMostProblems) return "";
    return nearest_name(name, known.first(std::min(known.size(), kMostNames)));
  }

  void problem(std::string sentence) { result_.problems.push_back(std::move(sentence)); }

  PublishedNaming naming_;
  std::string label_;
  std::map<std::string, WeightTarget> wanted_;
  std::map<std::string, std::string> taken_;  // by our name, the name in the file
  WeightNames result_;
};

// "model/preset" that takes all of these tensors and misses none; of the same model first.
std::string fitting_preset(const Model& model, const ModelPreset& asked, std::span<const SafetensorsEntry> tensors,
                           std::span<const Model* const> all) {
  std::vector<const Model*> order = {&model};
  for (const Model* other : all) {
    if (other != &model && !other->published_naming().by.empty()) order.push_back(other);
  }
  for (const Model* candidate : order) {
    for (const ModelPreset& preset : candidate->presets()) {
      if (candidate == &model && preset.name == asked.name) continue;
      if (!Matcher(*candidate, preset).match(tensors).problems.empty()) continue;
      return std::string(candidate->name()) + "/" + std::string(preset.name);
    }
  }
  return "";
}

}  // namespace

std::vector<WeightTarget> published_weights(const Model& model, const ModelPreset& preset, std::int64_t& drawn) {
  return Matcher(model, preset).expected(drawn);
}

WeightNames match_weights(const Model& model, const ModelPreset& preset, std::span<const SafetensorsEntry> tensors) {
  return Matcher(model, preset).match(tensors);
}

std::vector<std::string> told_problems(const Model& model, const ModelPreset& preset,
                                       std::span<const SafetensorsEntry> tensors, std::span<const Model* const> all,
                                       const std::vector<std::string>& problems) {
  std::string whose = "these weights are not " + std::string(model.name()) + "/" + std::string(preset.name) + "'s";
  if (const std::string fits = fitting_preset(model, preset, tensors, all); !fits.empty())
    whose += " but " + fits + "'s";
  std::vector<std::string> told = {whose};
  const std::size_t shown = std::min(problems.size(), kMostProblems);
  told.insert(told.end(), problems.begin(), problems.begin() + static_cast<std::ptrdiff_t>(shown));
  if (problems.size() > shown) {
    told.push_back("and " + std::to_string(problems.size() - shown) + " more of " + std::to_string(problems.size()));
  }
  return told;
}

}  // namespace reprobench
