// How a library did a convolution, a product or attention, told from the names of the kernels it launched. The names
// are no contract of any library: what nothing here recognises stays without a word, and the names are kept beside it.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace reprobench {

// "winograd", "implicit_gemm", "flash" ...; empty where no kernel gives it away.
std::string_view library_algorithm(std::span<const std::string> kernels);

// Where that is empty: the reason, in a few words. `unheard`: WatchedWork's.
std::string why_not_told(std::span<const std::string> kernels, const std::string& unheard);

}  // namespace reprobench
