#include <charconv>

#include "kernels/device/nvrtc.hpp"

namespace reprobench {
namespace {

// The number that stands right before `unit` in `line`; 0 if the unit is not there.
int number_before(std::string_view line, std::string_view unit) {
  const std::size_t at = line.find(unit);
  if (at == std::string_view::npos) return 0;
  std::size_t begin = at;
  while (begin > 0 && line[begin - 1] >= '0' && line[begin - 1] <= '9') --begin;
  int number = 0;
  std::from_chars(line.data() + begin, line.data() + at, number);
  return number;
}

}  // namespace

// Compiling entry function 'NAME' for 'sm_90'
//     320 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
// Used 42 registers, used 1 barriers, 2048 bytes smem
std::vector<KernelResources> parse_resources(std::string_view log) {
  constexpr std::string_view kEntry = "Compiling entry function '";
  std::vector<KernelResources> kernels;
  while (!log.empty()) {
    const std::size_t end = std::min(log.find('\n'), log.size());
    const std::string_view line = log.substr(0, end);
    log.remove_prefix(std::min(end + 1, log.size()));
    if (const std::size_t at = line.find(kEntry); at != std::string_view::npos) {
      const std::string_view rest = line.substr(at + kEntry.size());
      kernels.push_back({std::string(rest.substr(0, rest.find('\''))), 0, 0, 0, 0});
    }
    if (kernels.empty()) continue;
    KernelResources& kernel = kernels.back();
    if (line.find(" bytes stack frame") != std::string_view::npos) {
      kernel.stack_bytes = number_before(line, " bytes stack frame");
      kernel.spill_bytes =
          std::max(number_before(line, " bytes spill stores"), number_before(line, " bytes spill loads"));
    }
    if (line.find(" registers") != std::string_view::npos) {
      kernel.registers = number_before(line, " registers");
      kernel.shared_bytes = number_before(line, " bytes smem");
    }
  }
  return kernels;
}

}  // namespace reprobench
