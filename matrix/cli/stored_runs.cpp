#include "matrix/cli/stored_runs.hpp"

#include <fmt/format.h>

#include "matrix/cli/project.hpp"
#include "matrix/contract/version.hpp"
#include "matrix/record/run_directory.hpp"

namespace reprobench {

namespace fs = std::filesystem;

fs::path find_run(const fs::path& store, const std::string& run) {
  if (!run.empty()) {
    for (const fs::path& candidate : {fs::path(run), store / "runs" / run}) {
      if (fs::exists(candidate / "verdict.json")) return candidate;
    }
    throw UsageError(
        fmt::format("no run `{}` with a verdict, neither as a folder nor in {}", run, (store / "runs").string()));
  }
  fs::path newest;
  if (fs::is_directory(store / "runs")) {
    for (const auto& entry : fs::directory_iterator(store / "runs")) {
      if (fs::exists(entry.path() / "verdict.json") && newest.filename() < entry.path().filename())
        newest = entry.path();
    }
  }
  if (newest.empty())
    throw UsageError(fmt::format("{} holds no run with a verdict; name one with --run", store.string()));
  return newest;
}

nlohmann::json load_verdict(const fs::path& run_folder) {
  const std::string text = read_file(run_folder / "verdict.json");
  nlohmann::json verdict = nlohmann::json::parse(text, nullptr, false);
  if (verdict.is_discarded()) throw StoreError((run_folder / "verdict.json").string() + " is not JSON");
  require_document(verdict, "verdict");
  return verdict;
}

}  // namespace reprobench
