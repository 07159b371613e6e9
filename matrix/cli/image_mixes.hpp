// The mixes of two images, whose files are not exchanged: what their workers had loaded is held against each other, and
// where one component alone differs, the bad image is the good one with it.
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
  // Of ends that do not run nothing is known: no component differs.
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
