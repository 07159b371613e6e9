#include "matrix/exec/gpu/process_kinship.hpp"

#include <fstream>
#include <sstream>
#include <string>

#include <unistd.h>

namespace reprobench {
namespace {

constexpr int kDeepestTree = 64;

// 0 if there is no such process. The parent is the second field after the command's closing bracket (proc(5), stat).
std::int64_t parent_of(std::int64_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  if (!std::getline(file, line)) return 0;
  std::istringstream fields(line.substr(line.rfind(')') + 1));
  char state = 0;
  std::int64_t parent = 0;
  fields >> state >> parent;
  return parent;
}

}  // namespace

Kinship kinship_of(std::int64_t pid) {
  const std::int64_t self = getpid();
  std::int64_t ancestor = pid;
  for (int depth = 0; depth < kDeepestTree; ++depth) {
    if (ancestor == self) return Kinship::own;
    const std::int64_t parent = parent_of(ancestor);
    // A process may end between two looks; only the one asked for decides that it is hidden.
    if (parent == 0)
      return ancestor == pid && access(("/proc/" + std::to_string(pid)).c_str(), F_OK) != 0 ? Kinship::hidden
                                                                                            : Kinship::foreign;
    ancestor = parent;
  }
  return Kinship::foreign;
}

}  // namespace reprobench
