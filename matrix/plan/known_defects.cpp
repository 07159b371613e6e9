#include "matrix/plan/known_defects.hpp"

#include <algorithm>
#include <iterator>

namespace reprobench {
namespace {

constexpr std::string_view kComponents[] = {"torch", "cuda", "cudnn", "nccl", "mkl", "onednn", "driver", "sm"};

// How much of a defect's conditions a stack meets.
struct Met {
  int affected = 0;
  int open = 0;  // perhaps affected by a version that is stated too short
  int missing = 0;
  bool is_unaffected = false;
};

Met met_by(const KnownDefect& defect, const std::map<std::string, std::string>& components) {
  Met met;
  for (const auto& [name, range] : defect.components) {
    const auto stated = components.find(name);
    if (stated == components.end()) {
      ++met.missing;
      continue;
    }
    const Within match = range.match(stated->second);
    met.affected += match == Within::yes ? 1 : 0;
    met.open += match == Within::maybe ? 1 : 0;
    met.is_unaffected = met.is_unaffected || match == Within::no;
  }
  return met;
}

}  // namespace

std::span<const std::string_view> components_of_defects() { return kComponents; }

std::map<std::string, std::string> loaded_versions(const Fingerprint& fingerprint) {
  std::map<std::string, std::string> versions;
  for (const ComponentVersion& component : fingerprint.components) {
    const std::string& name = component.name == "blas" ? fingerprint.blas_provider : component.name;
    const bool is_asked = std::ranges::find(kComponents, name) != std::end(kComponents);
    if (is_asked && !component.loaded.empty()) versions[name] = component.loaded;
  }
  return versions;
}

DefectsOfStack known_defects_of(std::span<const KnownDefect> known,
                                const std::map<std::string, std::string>& components) {
  DefectsOfStack found;
  for (const KnownDefect& defect : known) {
    const Met met = met_by(defect, components);
    if (met.is_unaffected) continue;
    if (met.open == 0 && met.missing == 0) {
      found.apply.push_back(defect);
    } else if (met.affected + met.open > 0) {
      found.may_apply.push_back(defect);
    }
  }
  return found;
}

}  // namespace reprobench
