#include "matrix/cli/runnable_stack.hpp"

#include "matrix/cli/text/install_progress.hpp"
#include "matrix/cli/text/stack_text.hpp"

namespace reprobench {

bool made_runnable(const StackSpec& spec, const Project& project, const Terminal& terminal, bool with_gpu) {
  StackStore store = project.stack_store();
  InstallProgress progress(terminal);
  const InstalledStack stack = store.install(spec, with_gpu && spec.components.contains("cuda"),
                                             [&](const std::string& name, const std::string& phase, double fraction) {
                                               progress.show(name, phase, fraction);
                                             });
  progress.finish(spec.name, "");
  const std::vector<StackFinding> findings = store.verify(stack);
  terminal.log(findings_text(spec, findings));
  return all_settled(findings);
}

}  // namespace reprobench
