// The model, preset and batch size that a package was made of. Its compiled code does not tell them, so its maker
// writes them into its metadata:
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

// Reads these from the metadata. Throws RunFailure "input_refused" if it does not have them, or names a model or preset
// that is none of ours; "unsupported" for a model that cannot be packaged.
PackagedWork packaged_work_of(const ForwardPackage& package);

// Checks that every weight of the model is in the package with its shape and type, and that the package has no other
// floating-point numbers. Tables of integers and truth values are the package's own. Throws RunFailure "input_refused"
// with all constants that do not fit.
void check_constants(const ForwardPackage& package, const std::map<std::string, at::Tensor>& weights,
                     const std::string& file);

}  // namespace reprobench
