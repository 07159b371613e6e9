// What `run` is asked for, for every verb that ends in a run.
#pragma once

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
  std::string out;
  std::string join;  // an outer launcher whose processes are the ranks; empty: we start them
  double join_wait_s = 60;
  double diagnose_for_s = 1800;
  bool dry_run = false;
  bool json = false;
  bool no_report = false;
};

// How many cells at a time, where the run goes, and what is said of it.
void add_run_options(CLI::App& app, RunOptions& options);

// Plan, execute, judge, report.
ExitCode run_matrix(const RunOptions& options, Context& context);

}  // namespace reprobench
