#include "matrix/cli/text/stack_text.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "matrix/base/plain_text.hpp"
#include "matrix/cli/text/text_table.hpp"

namespace reprobench {

std::string loaded_versions_text(const InstalledStack& stack, const Capability& capability) {
  const Fingerprint& fingerprint = capability.fingerprint;
  TextTable table("  <10 <16 <16 <22 <");
  table.line("{}  {}", stack.spec.name, stack.folder.string());
  table.row("component", "declared", "compiled", "loaded", "from");
  for (const ComponentVersion& component : fingerprint.components) {
    const auto declared = stack.spec.components.find(component.name);
    table.row(component.name, declared == stack.spec.components.end() ? "-" : declared->second,
              component.compiled.empty() ? "-" : component.compiled,
              component.loaded.empty() ? "not loaded" : component.loaded, component.path);
  }
  table.line("  BLAS {}, CPU capability {}, C++ ABI {}, worker built by {}", fingerprint.blas_provider,
             fingerprint.cpu_capability, fingerprint.cxx11_abi, fingerprint.compiler);
  return table.text();
}

std::string findings_text(const StackSpec& spec, const std::vector<StackFinding>& findings) {
  std::string text;
  for (const auto& [finding, is_settled] : findings) {
    text += fmt::format("{}: {} {}\n", spec.name, is_settled ? "WARN" : "FAIL", plain_line(finding));
  }
  return text;
}

bool all_settled(const std::vector<StackFinding>& findings) {
  return std::all_of(findings.begin(), findings.end(), [](const StackFinding& finding) { return finding.is_settled; });
}

}  // namespace reprobench
