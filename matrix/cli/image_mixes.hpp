// The mixes of two images, whose files cannot be exchanged. The libraries that their workers had loaded are compared.
// If only one component differs, the bad image is the good one with that component.
#pragma once

#include <string>
#include <vector>

#include "matrix/cli/component_mixes.hpp"
#include "matrix/contract/result.hpp"
#include "matrix/spec/stack_spec.hpp"

namespace reprobench {

struct ImageEnd {
  const StackSpec& spec;
  const Fingerprint* loaded = nullptr;  // null: its worker does not run
};

class ImageMixes : public ComponentMixes {
 public:
  // If an end does not run, nothing is known of it, and no component differs.
  ImageMixes(const ImageEnd& good, const ImageEnd& bad);

  std::vector<std::string> names() const override;
  std::vector<DifferingComponent> components() const override { return components_; }
  MixedStack made_with(const std::vector<std::string>& from_bad) override;
  std::string making(const std::vector<std::string>&) const override { return ""; }
  void keep_only(const std::vector<std::string>&) override {}

 private:
  std::string bad_;
  std::vector<DifferingComponent> components_;
};

}  // namespace reprobench
