// How a library did a convolution, a product or attention, told from the names of the kernels it launched. The names
// are no contract of any library: a kernel that nothing here recognises has no algorithm, and its name is kept on
// record.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace reprobench {

// The algorithm, "winograd", "implicit_gemm", "flash" ...; empty where no kernel tells it.
std::string_view library_algorithm(std::span<const std::string> kernels);

// The reason, in a few words, why library_algorithm() is empty. `unheard` is WatchedWork's.
std::string why_not_told(std::span<const std::string> kernels, const std::string& unheard);

}  // namespace reprobench
