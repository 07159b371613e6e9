// The cause of a difference of bits between a cell and its reference. The run that saw the difference looks for it once
// its cells have ended, and keeps the answer in its journal.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "matrix/contract/document/description.hpp"
#include "matrix/contract/document/words.hpp"

namespace reprobench {

// The cause of a difference, by all that is known of it.
enum class ExplainedWord { rounding, another_computation, defect, undecided };
template <>
struct Words<ExplainedWord> {
  static constexpr std::array<std::string_view, 4> table = {"rounding", "another computation", "defect", "undecided"};
};

struct CellDiagnosis {
  std::string cell_id;
  std::string reference_cell_id;
  ExplainedWord word = ExplainedWord::undecided;
  std::string sentence;
};

template <>
struct Description<CellDiagnosis> {
  static constexpr About about =
      About::line("journal", "diagnosis", "What the difference between a cell and its reference is.");
  static void fields(auto& field, CellDiagnosis& diagnosis) {
    field("cell_id", diagnosis.cell_id, rule::not_empty);
    field("reference_cell_id", diagnosis.reference_cell_id, rule::not_empty);
    field("word", diagnosis.word);
    field("sentence", diagnosis.sentence, rule::not_empty);
  }
};

}  // namespace reprobench
