// A stack that somebody else installed and that is used as it is: its file, and whether it is unchanged.
#pragma once

#include <string>

#include "matrix/provision/environment_survey.hpp"
#include "matrix/spec/stack_spec.hpp"

namespace reprobench {

// The text of matrix/stacks/NAME.yaml. The same environment gives the same text.
std::string adopted_stack_file(const std::string& name, const TorchPlace& place, const EnvironmentSurvey& survey);

// The same for an image's PyTorch, with paths as its own programs see them.
struct ImagePlace {
  std::string name, digest, root;
  std::vector<std::string> host_include_dirs = {};  // of headers that it lacks
};
std::string image_stack_file(const std::string& name, const ImagePlace& image, const TorchPlace& place,
                             const EnvironmentSurvey& survey);

// One sentence on what has changed in the environment of an adopted stack since; empty if nothing has. `again` is the
// command that takes a change in.
std::string find_adopted_problem(const StackSpec& spec,
                                 const std::string& again = "`reprobench stack adopt` takes the change in");

}  // namespace reprobench
