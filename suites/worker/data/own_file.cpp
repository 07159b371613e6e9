#include "suites/worker/data/own_file.hpp"

#include <fstream>
#include <iterator>

#include "matrix/base/plain_sha256.hpp"
#include "suites/worker/run_failure.hpp"

namespace reprobench {
std::string text_of_own_file(const std::filesystem::path& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) {  // opening a pipe would wait
    throw RunFailure(kInputChanged, path.string() + " is not there any more as a file");
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) throw RunFailure(kInputChanged, path.string() + " cannot be opened any more");
  return {std::istreambuf_iterator<char>(file), {}};
}

// What is hashed is what is used: a second reading could give other bytes.
std::string read_own_file(const std::filesystem::path& path, const std::string& sha256) {
  std::string text = text_of_own_file(path);
  const std::string found = plain_sha256_of_text(text);
  if (found == sha256) return text;
  throw RunFailure(kInputChanged, path.string() + " is not the file that was planned: it has SHA-256 " + found +
                                      " now, and the workload names " + sha256);
}

void check_is_planned(const std::string& file, const std::string& found, const std::string& planned) {
  if (found == planned) return;
  throw RunFailure(kInputChanged, file + " does not hold what was planned: it has SHA-256 " + found +
                                      " now, and the workload names " + planned);
}

}  // namespace reprobench
