// Compares the answer of `compare --explain` about a planted fault with the right one.
#pragma once

#include <string>

#include "matrix/inquiry/comparison.hpp"
#include "matrix/inquiry/selftest/selftest_table.hpp"

namespace reprobench {

struct SelftestAnswer {
  std::string text;  // "defect at aten::addmm"
  std::string why;   // the diagnosis's own sentence
  bool is_right = false;
};

// An answer is right if it has the word of the table's row, for one of the row's operators.
SelftestAnswer answer_to(const SelftestFault& fault, const Explanation& explanation);

}  // namespace reprobench
