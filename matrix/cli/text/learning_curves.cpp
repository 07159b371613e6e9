#include "matrix/cli/text/learning_curves.hpp"

#include <cerrno>
#include <cstring>
#include <ctime>
#include <fstream>

#include <fmt/format.h>

#include "matrix/record/event_file.hpp"

namespace reprobench {
namespace {

std::int64_t seconds_since_1970(const std::string& utc) {
  std::tm parts{};
  return strptime(utc.c_str(), "%Y-%m-%dT%H:%M:%SZ", &parts) == nullptr ? 0 : timegm(&parts);
}

// A repeat that was tried again keeps each try's curve.
std::string folder_name(const AttemptRecord& attempt) {
  return attempt.attempt == 0 ? fmt::format("repeat-{}", attempt.repeat)
                              : fmt::format("repeat-{}-attempt-{}", attempt.repeat, attempt.attempt);
}

}  // namespace

LearningCurves::LearningCurves(std::filesystem::path run_folder, const std::string& started_utc)
    : folder_(std::move(run_folder) / "tensorboard"), begun_s_(seconds_since_1970(started_utc)) {}

void LearningCurves::write(const Cell& cell, const AttemptRecord& attempt) {
  const auto& trace = attempt.lead().trace;
  if (!trace || trace->steps.empty() || !problem_.empty()) return;
  const std::filesystem::path folder = folder_ / cell.slug / folder_name(attempt);
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  const auto path = folder / fmt::format("events.out.tfevents.{}.reprobench", begun_s_);
  std::ofstream file(path, std::ios::binary);
  file << event_file_of(*trace, static_cast<double>(begun_s_));
  file.close();
  if (!file) problem_ = fmt::format("cannot write {}: {}", path.string(), std::strerror(errno));
}

}  // namespace reprobench
