// What `compare --explain` says of a planted fault, held against what it has to say.
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

// Right is the word that the row of the table asks for, said of one of its operators.
SelftestAnswer answer_to(const SelftestFault& fault, const Explanation& explanation);

}  // namespace reprobench
