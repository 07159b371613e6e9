// The address of a TCP store that another process opens.
#pragma once

#include <chrono>
#include <string>

namespace reprobench {

// Waits until a process listens at `address`:`port`. Throws std::runtime_error if none does within `patience`, or if
// the address has no meaning here. LibTorch's own client waits too, but goes on for seconds after its timeout has
// passed (tried with 2.9.0: up to twice as long). A rank that is silent for that long is stopped before it can say what
// it waited for.
void await_listener(const std::string& address, int port, std::chrono::milliseconds patience);

}  // namespace reprobench
