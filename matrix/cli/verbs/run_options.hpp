// The options of a run, for every verb that ends in one.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "matrix/cli/verbs/selection.hpp"
#include "matrix/cli/verbs/verb.hpp"
#include "matrix/exec/executor.hpp"

namespace reprobench {

// The image that a stack is, and the document of its inspection, which the run keeps.
struct RunImage {
  PlanImage planned;
  std::string inspection;
};

struct RunOptions {
  SelectionOptions selection;
  ExecutionOptions execution;
  std::vector<std::string> workers;  // STACK=COMMAND
  std::map<std::string, RunImage> images;
  std::function<std::vector<std::string>()>
      changed_images;  // asked when nothing of them runs any more; none: no images
  std::string out;
  std::string join;  // an outer launcher whose processes are the ranks; empty: we start them
  double join_wait_s = 60;
  double diagnose_for_s = 1800;
  bool untrusted = false;  // the matrix may be anybody's (cli/untrusted_run.hpp)
  std::string policy;      // file of what such a matrix may ask for; empty: the defaults
  bool dry_run = false;
  bool json = false;
  bool no_report = false;
};

// Declares options for the number of cells at a time, the place of the run, and its output.
void add_run_options(CLI::App& app, RunOptions& options);

// Plans, executes, judges and reports.
ExitCode run_matrix(const RunOptions& options, Context& context);

}  // namespace reprobench
