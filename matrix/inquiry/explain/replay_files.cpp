#include "matrix/inquiry/explain/replay_files.hpp"

#include <fmt/format.h>

#include "matrix/record/run_directory.hpp"

namespace reprobench {

SafetensorsFile tensors_left_in(const std::filesystem::path& folder, const std::string& file) {
  try {
    return SafetensorsFile::open(folder / file);
  } catch (const StoreError& error) {
    throw ReplayFailed(fmt::format("a replay did not leave what it was asked for: {}", error.what()));
  } catch (const ContractError& error) {
    throw ReplayFailed(fmt::format("a replay left a broken file: {}", error.what()));
  }
}

OperatorCalls operators_left_in(const std::filesystem::path& folder, std::int64_t first, std::int64_t last) {
  OperatorCalls calls = read_operator_calls(folder / kOperatorsFile);
  if (!calls.problem.empty()) throw ReplayFailed("a replay left a broken file: " + calls.problem);
  for (std::int64_t step = first; step <= last; ++step) {
    if (calls.of_step(step).empty()) {
      throw ReplayFailed(fmt::format("a replay recorded no operator call of step {}; logs {}", step, folder.string()));
    }
  }
  return calls;
}

}  // namespace reprobench
