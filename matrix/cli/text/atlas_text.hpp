// An atlas of operators as people read it: a table in the terminal, a page in Markdown, and pair by pair.
#pragma once

#include <string>

#include "matrix/cli/text/terminal.hpp"
#include "matrix/inquiry/pair_inquiry.hpp"
#include "matrix/verdict/atlas/operator_atlas.hpp"

namespace reprobench {

// One line a call, releases as columns; calls that are equal everywhere are counted, or shown with `with_equal`.
std::string atlas_table(const OperatorAtlas& atlas, bool with_equal, const Terminal& terminal);

std::string atlas_markdown(const OperatorAtlas& atlas);

// Column by column: which operators' bits differ from the reference's, at which shapes, and at which they are equal; of
// two runs also what changed between them. `only_changed` leaves out columns with equal bits throughout.
std::string atlas_pairs(const OperatorAtlas& atlas, const Terminal& terminal, bool only_changed = false);

// "operator calls: 284 compared in 2 columns: 270 equal, 14 rounding; not compared: 1 column"
std::string atlas_count_text(const OperatorAtlas& atlas);

// All of its calls in one word. A difference that was asked for wins over what is not known; a column of which no call
// was compared is never equal, nor is an operator that one of two runs alone has.
Match overall_word(const OperatorAtlas& atlas, FailOn fail_on);

}  // namespace reprobench
