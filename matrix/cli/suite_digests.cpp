#include "matrix/cli/suite_digests.hpp"

#include "matrix/base/sha256.hpp"
#include "matrix/record/run_directory.hpp"

namespace reprobench {

std::map<std::string, std::string> suite_digests(const std::map<std::string, SuiteSpec>& suites) {
  std::map<std::string, std::string> digests;
  for (const auto& [name, suite] : suites) {
    std::string text = read_file(suite.mark.file);
    for (const auto& workload : suite.workloads) {
      for (const std::string& call : workload.calls) text += "\n" + call;
    }
    digests[name] = sha256_of_text(text);
  }
  return digests;
}

}  // namespace reprobench
