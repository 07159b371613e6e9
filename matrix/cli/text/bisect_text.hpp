// The text of `bisect`.
#pragma once

#include <string>
#include <vector>

#include "matrix/inquiry/bisect/bisect_document.hpp"

namespace reprobench {

// A row for each thing that is told of an answer.
constexpr const char* kBisectLayout = "  <12 <";

// Of which cell, run and bound the check is.
std::string asked_text(const AskedCheck& asked);

// "fc1.weight, fc2.weight, loss, fc1.bias and 3 more"
std::string first_names(const std::vector<std::string>& names);

std::string confidence_text(double margin, double confidence);

// One line for each evaluation: "  [3] torch-2.11.0-cu130: as the bad end".
std::string evaluation_line(std::size_t number, const std::string& stack, const PointEvaluation& evaluation);

std::string bisect_text(const BisectDocument& document);

}  // namespace reprobench
