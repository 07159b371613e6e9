// Which cells of a matrix a command is about, and the plan for them. Shared by `plan` and `run`.
#pragma once

#include <string>
#include <vector>

#include "matrix/cli/project.hpp"
#include "matrix/cli/verbs/own_file_options.hpp"
#include "matrix/plan/plan.hpp"

namespace CLI {
class App;
}

namespace reprobench {

struct SelectionOptions {
  std::string matrix;
  std::vector<std::string> cells;  // ids, their prefixes, or slugs
  std::string filter;              // a `where` expression
  std::vector<std::string> stacks;
  std::vector<std::string> workloads;  // models
  std::vector<std::string> devices;
  std::string reference;  // overrides reference.stack
  std::string calls;      // a list of operator calls in place of the suites'
  OwnFilePaths own_files;
  std::vector<std::string> inject;
  int repeat = 0;      // 0: as the matrix says
  bool trust = false;  // code that comes with the matrix and its suites may run
};

void add_selection_options(CLI::App& verb, SelectionOptions& options);

struct SelectedPlan {
  Plan plan;
  std::string matrix_text;
  std::vector<std::string> unknown_presets;  // "mlp/base" of cells that are to run: no installed worker knows the model
};

// The line "presets not checked, ...: mlp/base"; empty if a worker knows every preset.
std::string preset_note(const SelectedPlan& selected);

// The text as it is typed at a shell: in single quotes if the shell would not read it as one plain word.
std::string shell_word(const std::string& word);

// Parses, expands, resolves and selects. Cells that a selected one is compared with are selected too; all others stay
// in the plan, skipped by the rule kDeselected. Throws SpecError, UsageError.
SelectedPlan make_plan(const Project& project, const SelectionOptions& options);

}  // namespace reprobench
