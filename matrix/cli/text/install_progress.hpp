// Progress of the stacks that are being installed. A terminal gets bars side by side; other output gets a line when a
// phase changes. Called from several threads.
#pragma once

#include <map>
#include <mutex>
#include <string>

#include "matrix/cli/text/terminal.hpp"

namespace reprobench {

class InstallProgress {
 public:
  explicit InstallProgress(const Terminal& terminal) : terminal_(terminal) {}

  // `fraction`: 0..1, or negative if unknown.
  void show(const std::string& stack, const std::string& phase, double fraction);

  // Writes `line`, which stays, and no longer shows the stack.
  void finish(const std::string& stack, const std::string& line);

 private:
  void show_all() const;

  const Terminal& terminal_;
  std::mutex mutex_;
  std::map<std::string, std::string> shown_;  // by stack
};

}  // namespace reprobench
