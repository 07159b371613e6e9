// Which declared calls may run. A list of calls may come from anywhere, and LibTorch has operators that read, write or
// create any file (`from_file`). So a call may name only operators of ATen that change nothing but tensors. Text is
// allowed only where the argument is known to choose among words. The coordinator checks every list. The worker checks
// again, and also checks the operator's own schema.
#pragma once

#include <string>
#include <string_view>

#include "matrix/contract/declared_call.hpp"

namespace reprobench {

// Whether the argument with this name takes text, and `text` is one of the words that it chooses among.
bool is_known_text(std::string_view argument, std::string_view text);

// Why the call may not run; empty if it may, as far as its text shows.
std::string refusal_of(const DeclaredCall& call);

}  // namespace reprobench
