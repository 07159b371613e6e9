// Decides for every cell whether this host can run it. Pure: same cells, stacks, facts and host give the same plan.
//
// A cell that cannot run is not an error: it is given the rule that decided and a sentence that names the numbers
// ("driver 520.61 is under 525.60.13, the floor of CUDA 12").
#pragma once

#include <map>
#include <string>
#include <vector>

#include "matrix/contract/capability.hpp"
#include "matrix/plan/compat_facts.hpp"
#include "matrix/plan/plan.hpp"

namespace reprobench {

// The state of a stack on this host, as provisioning found it.
struct StackAvailability {
  bool installed = false;
  std::string problem;  // a system stack this host cannot have: "libtorch-dev 1.13.1 is not installed; found 2.1.2"
  std::vector<KnobSupport> knobs{};  // knobs that its worker honours; empty if no worker is built
};

struct StackCatalog {
  std::map<std::string, StackSpec> stacks;
  std::map<std::string, StackAvailability> availability;
  std::map<std::string, SpecError> broken{};  // files that are no valid stack; it is an error to name one
};

// Throws SpecError for a stack that no file defines, at the axis value that names it, with the nearest name.
void check_stacks(const MatrixSpec& matrix, const StackCatalog& catalog);

// Every stack the cells name must be in the catalog (check_stacks). `installed` is not looked at: a wheel that is
// merely not installed yet can run here.
void resolve(std::vector<PlannedCell>& cells, const StackCatalog& catalog, const CompatFacts& facts,
             const HostFacts& host);

// Calls expand() and resolve(). Throws SpecError as expand() does.
std::vector<PlannedCell> plan_cells(const MatrixSpec& matrix, const std::map<std::string, SuiteSpec>& suites,
                                    const StackCatalog& catalog, const CompatFacts& facts, const HostFacts& host,
                                    std::int64_t* excluded = nullptr);

}  // namespace reprobench
