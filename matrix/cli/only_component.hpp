// What one component changes by itself: A, B, and the mix of A with B's component are run and held against each other.
#pragma once

#include <string>

#include "matrix/cli/bisect_questions.hpp"
#include "matrix/cli/component_mixes.hpp"
#include "matrix/inquiry/bisect/component_alone.hpp"

namespace reprobench {

struct OnlyComponent {
  std::string component;
  std::string subject;  // the workload, in words
  double margin = 0;    // times that differ by less are equal; 0: times are not asked
};

// `scene.axis` is A and B, `mixes` are of these. Bits are those of two fresh processes of each stack. Times are taken
// by turns, each from a process of its own, until the answer is known or there are as many as planned. A component
// that the workers did not map has no answer: the work does not ask about it. Throws ProvisionError with the reason if
// the mix cannot be made, before anything is run; ReplayInterrupted and StoreError.
ComponentAlone effect_of_component(const BisectScene& scene, ComponentMixes& mixes, const OnlyComponent& asked);

}  // namespace reprobench
