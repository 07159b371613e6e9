#include "matrix/cli/runnable_stack.hpp"

#include "matrix/cli/text/install_progress.hpp"
#include "matrix/cli/text/stack_text.hpp"
#include "matrix/host/detect_host.hpp"

namespace reprobench {

bool made_runnable(const StackSpec& spec, const Project& project, const Terminal& terminal) {
  StackStore store = project.stack_store();
  InstallProgress progress(terminal);
  const bool with_gpu = spec.components.contains("cuda") && !detect_host().gpus.empty();
  const InstalledStack stack =
      store.install(spec, with_gpu, [&](const std::string& name, const std::string& phase, double fraction) {
        progress.show(name, phase, fraction);
      });
  progress.finish(spec.name, "");
  const std::vector<StackFinding> findings = store.verify(stack);
  terminal.log(findings_text(spec, findings));
  return all_settled(findings);
}

}  // namespace reprobench
