// Which declared calls may run. A list of calls is data from anywhere, and LibTorch has operators that read, write or
// create any file (`from_file`), so a call may name only what changes nothing but tensors: an operator of ATen, and
// text only where the argument is known to choose among words. The coordinator asks this of every list. The worker asks
// it again, and of the operator's own schema.
#pragma once

#include <string>
#include <string_view>

#include "matrix/contract/declared_call.hpp"

namespace reprobench {

// Whether the argument of that name is one of text, and this one of the words it chooses among.
bool is_known_text(std::string_view argument, std::string_view text);

// Why the call may not run; empty: it may, as far as its text tells.
std::string refusal_of(const DeclaredCall& call);

}  // namespace reprobench
