#include "kernels/device/check/resource_budget.hpp"

#include <charconv>
#include <sstream>
#include <stdexcept>

namespace reprobench {
namespace {

constexpr char kColumns[] = "kernel,max_registers,max_spill_bytes";

int number(std::string_view text, int line) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) {
    throw std::invalid_argument("budget, line " + std::to_string(line) + ": no number: " + std::string(text));
  }
  return value;
}

std::string excess(const KernelResources& kernel, const char* what, int used, int allowed) {
  return kernel.kernel + " uses " + std::to_string(used) + " " + what + ", its budget is " + std::to_string(allowed);
}

}  // namespace

std::map<std::string, ResourceBudget> parse_budget(const std::string& csv) {
  std::map<std::string, ResourceBudget> budget;
  std::istringstream stream(csv);
  int line_number = 0;
  bool columns = false;
  for (std::string line; std::getline(stream, line);) {
    ++line_number;
    if (line.empty() || line[0] == '#') continue;
    if (!columns) {
      if (line != kColumns) throw std::invalid_argument(std::string("budget: the columns are not ") + kColumns);
      columns = true;
      continue;
    }
    const std::size_t first = line.find(',');
    const std::size_t second = first == std::string::npos ? first : line.find(',', first + 1);
    if (second == std::string::npos) {
      throw std::invalid_argument("budget, line " + std::to_string(line_number) + ": three columns, not " + line);
    }
    const std::string_view text = line;
    budget[line.substr(0, first)] = {number(text.substr(first + 1, second - first - 1), line_number),
                                     number(text.substr(second + 1), line_number)};
  }
  return budget;
}

std::vector<std::string> over_budget(const std::vector<KernelResources>& kernels,
                                     const std::map<std::string, ResourceBudget>& budget) {
  std::vector<std::string> findings;
  for (const KernelResources& kernel : kernels) {
    const auto found = budget.find(kernel.kernel);
    if (found == budget.end()) {
      findings.push_back(kernel.kernel + " has no row in kernels/budget.csv");
      continue;
    }
    const ResourceBudget& allowed = found->second;
    if (kernel.registers > allowed.registers) {
      findings.push_back(excess(kernel, "registers", kernel.registers, allowed.registers));
    }
    if (kernel.spill_bytes > allowed.spill_bytes) {
      findings.push_back(excess(kernel, "bytes of spills", kernel.spill_bytes, allowed.spill_bytes));
    }
  }
  return findings;
}

}  // namespace reprobench
