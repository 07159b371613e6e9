// An atlas of operators as people read it: a table in the terminal, a page in Markdown, and pair by pair.
#pragma once

#include <string>

#include "matrix/cli/text/terminal.hpp"
#include "matrix/inquiry/pair_inquiry.hpp"
#include "matrix/verdict/atlas/operator_atlas.hpp"

namespace reprobench {

// One line for each call, with releases as columns. Calls that are equal everywhere are counted, or shown with
// `with_equal`.
std::string atlas_table(const OperatorAtlas& atlas, bool with_equal, const Terminal& terminal);

std::string atlas_markdown(const OperatorAtlas& atlas);

// For each column: which operators have other bits than the reference, at which shapes, and at which shapes bits are
// equal. For two runs it also says what changed between them. `only_changed` leaves out columns with equal bits
// throughout.
std::string atlas_pairs(const OperatorAtlas& atlas, const Terminal& terminal, bool only_changed = false);

// "operator calls: 284 compared in 2 columns: 270 equal, 14 rounding; not compared: 1 column"
std::string atlas_count_text(const OperatorAtlas& atlas);

// The answer for all calls of an atlas, in one word. A difference that was asked for wins over anything unknown. A
// column without a compared call is never equal, nor is an operator that only one of two runs has.
Match overall_word(const OperatorAtlas& atlas, FailOn fail_on);

}  // namespace reprobench
