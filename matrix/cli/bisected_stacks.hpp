// The stacks of a bisect on this host: which can be run and as what they count, and their attempts at a request.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "matrix/cli/project.hpp"
#include "matrix/cli/text/terminal.hpp"
#include "matrix/contract/installed_libraries.hpp"
#include "matrix/exec/executor.hpp"

namespace reprobench {

// A stack is untestable where `why_not` is not empty.
struct BisectedStack {
  std::string why_not;
  WorkerCommand worker;
  std::string identity;  // digest of its files and of its worker: another one, and what was seen of it is worthless
  std::optional<InstalledLibraries> installed;  // nothing: the worker was given on the command line
};

struct BisectedAttempts {
  std::string why_not;  // why they say nothing, one sentence; empty: all completed
  std::vector<AttemptRecord> attempts;
};

class BisectedStacks {
 public:
  // `given`: workers of the command line. `installs`: stacks of wheels that are not there are installed when they are
  // asked about.
  BisectedStacks(const Project& project, const Terminal& terminal, std::map<std::string, WorkerCommand> given,
                 bool installs);

  // A hybrid that was made since: it is linked, and has its worker, when it is asked about.
  void add(const StackSpec& hybrid) { files_.stacks[hybrid.name] = hybrid; }

  // Found out once. A stack that cannot be had is untestable, and never an error of the others.
  const BisectedStack& at(const std::string& stack);

  // Why what a worker of the stack had loaded says nothing about the stack, one sentence; empty: it was its own.
  std::string foreign_library(const std::string& stack, const Fingerprint& loaded);

  // Every request on the stack that it names, which must be testable, each in a fresh process, two at a time where
  // memory holds them. A worker that loaded other libraries than those of its stack says nothing. Throws
  // ReplayInterrupted and StoreError.
  BisectedAttempts run(const std::vector<CellRequest>& requests);

 private:
  BisectedStack find_out(const std::string& stack);
  InstalledStack present(const StackSpec& spec);

  const Project& project_;
  const Terminal& terminal_;
  std::map<std::string, WorkerCommand> given_;
  bool installs_;
  StackFiles files_;
  std::map<std::string, BisectedStack> known_;
};

}  // namespace reprobench
