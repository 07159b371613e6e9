#include "matrix/exec/gpu/telemetry_file.hpp"

#include <cerrno>
#include <system_error>

#include <fcntl.h>

#include "matrix/base/write_fully.hpp"
#include "matrix/contract/trace.hpp"
#include "matrix/record/run_directory.hpp"

namespace reprobench {

TelemetryFile::TelemetryFile(const std::filesystem::path& path, const TelemetryHeader& header)
    : file_(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600)),
      started_(std::chrono::steady_clock::now()) {
  if (!file_.is_open()) throw StoreError(path.string() + ": " + std::generic_category().message(errno));
  using std::chrono::microseconds;
  TelemetryHeader begun = header;
  begun.monotonic_us = std::chrono::duration_cast<microseconds>(started_.time_since_epoch()).count();
  append_line(to_json(begun));
}

std::int64_t TelemetryFile::age_ns() const {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - started_).count();
}

void TelemetryFile::append(const TelemetrySample& sample) {
  const std::lock_guard lock(mutex_);
  if (!file_.is_open()) return;
  append_line(to_json(sample));
  ++end_.samples;
}

void TelemetryFile::append(const TelemetryEvent& event) {
  const std::lock_guard lock(mutex_);
  if (!file_.is_open()) return;
  append_line(to_json(event));
  ++end_.events;
}

void TelemetryFile::close(std::vector<std::string> absent, std::string problem) {
  const std::lock_guard lock(mutex_);
  if (!file_.is_open()) return;
  end_.absent = std::move(absent);
  if (end_.problem.empty()) end_.problem = std::move(problem);
  append_line(to_json(end_));
  file_.reset();
}

void TelemetryFile::append_line(const nlohmann::json& body) {
  const int error = write_fully(file_.get(), trace_line(body, lines_++));
  if (error != 0 && end_.problem.empty()) end_.problem = "writing it failed: " + std::generic_category().message(error);
}

}  // namespace reprobench
