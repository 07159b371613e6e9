#include "suites/worker/record/trace_writer.hpp"

#include <cerrno>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "matrix/base/write_fully.hpp"

namespace reprobench {
namespace {

constexpr auto kLongestWait = std::chrono::milliseconds(900);
constexpr std::size_t kMostWaiting = std::size_t{1} << 20;

}  // namespace

TraceWriter::TraceWriter(const std::filesystem::path& path)
    : folder_(path.parent_path()),
      file_(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0644)) {
  if (file_ < 0) throw std::system_error(errno, std::generic_category(), path.string());
}

TraceWriter::TraceWriter(const std::filesystem::path& path, TraceHeader header) : TraceWriter(path) {
  header.monotonic_us = monotonic_us();
  const nlohmann::json body = to_json(header);
  if (header.level == TraceLevel::recent) recent_.emplace(folder_, body);
  add(body);
  write();
}

TraceWriter::~TraceWriter() { close(file_); }

std::int64_t TraceWriter::monotonic_us() const {
  return std::chrono::duration_cast<std::chrono::microseconds>(began_.time_since_epoch()).count();
}

std::int64_t TraceWriter::age_ns(std::chrono::steady_clock::time_point moment) const {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(moment - began_).count();
}

void TraceWriter::add(const nlohmann::json& body) { waiting_ += trace_line(body, seq_++); }

void TraceWriter::add(const TensorsRecord& tensors) { waiting_ += trace_line(tensors, seq_++); }

void TraceWriter::add(const StepMeasurement& step) { append_step_line(waiting_, step, seq_++); }

void TraceWriter::add_recent(TensorsRecord tensors) { recent_->add(std::move(tensors)); }

void TraceWriter::write_if_due() {
  const bool due = std::chrono::steady_clock::now() - last_write_ >= kLongestWait;
  if (due || waiting_.size() >= kMostWaiting) write();
}

void TraceWriter::write() {
  if (recent_) recent_->write();
  if (const int error = write_fully(file_, waiting_)) {
    throw std::system_error(error, std::generic_category(), "trace.jsonl");
  }
  waiting_.clear();
  last_write_ = std::chrono::steady_clock::now();
}

}  // namespace reprobench
