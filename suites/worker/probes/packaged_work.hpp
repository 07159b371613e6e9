// Of which model, preset and batch a package is. Nothing in its compiled code says it, so its maker does, in its
// metadata:
//   reprobench.model "mlp", reprobench.preset "base", reprobench.batch_size "32", reprobench.inputs "input": the fields
//   of a batch that are its arguments, in order, with commas between them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "models/model_spec.hpp"

namespace reprobench {

class ForwardPackage;

struct PackagedWork {
  const Model& model;
  const ModelPreset& preset;
  std::int64_t batch_size;
  std::vector<std::string> inputs;
};

// Throws RunFailure "input_refused".
[[noreturn]] void refuse_package(const std::string& why);

std::string listed(const std::vector<std::string>& names);  // "`input`, `label`"

// Throws RunFailure "input_refused" for one that says nothing, or what is none of ours, "unsupported" for a model that
// no package can be of.
PackagedWork packaged_work_of(const ForwardPackage& package);

// Every weight of the model must be in the package with its shape and type, and every number in the package must be one
// of them; its tables of integers and truth values are its own. Throws RunFailure "input_refused" with all that do not
// fit.
void check_constants(const ForwardPackage& package, const std::map<std::string, at::Tensor>& weights,
                     const std::string& file);

}  // namespace reprobench
