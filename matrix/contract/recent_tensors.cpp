#include "matrix/contract/recent_tensors.hpp"

#include <cerrno>
#include <system_error>
#include <utility>

#include <fcntl.h>

#include "matrix/base/write_fully.hpp"

namespace reprobench {
namespace {

[[noreturn]] void fail(int error, std::string_view name) {
  throw std::system_error(error, std::generic_category(), std::string(name));
}

}  // namespace

bool is_log_spaced(std::int64_t step) {
  while (step >= 10 && step % 10 == 0) step /= 10;
  return step == 1 || step == 2 || step == 5;
}

bool keeps_tensors(TraceLevel level, std::int64_t step, std::int64_t last_step) {
  if (level == TraceLevel::recent) return is_log_spaced(step) || step > last_step - kRecentSteps;
  return level == TraceLevel::tensor;
}

RecentTensors::RecentTensors(std::filesystem::path folder, nlohmann::json header)
    : folder_(std::move(folder)), header_(std::move(header)) {
  for (const std::string_view name : kRecentSegments) std::filesystem::remove(folder_ / name);
}

void RecentTensors::add(TensorsRecord tensors) {
  waiting_.push_back(std::move(tensors));
  if (std::ssize(waiting_) <= kRecentSteps) return;
  waiting_.pop_front();
  is_interrupted_ = true;
}

void RecentTensors::write() {
  if (waiting_.empty()) return;
  if (is_interrupted_) begin_segment();
  is_interrupted_ = false;
  std::string lines;
  for (const TensorsRecord& tensors : waiting_) {
    if (lines_ > kRecentSteps) {  // the header is one of them
      append(lines);
      lines.clear();
      begin_segment();
    }
    lines += trace_line(tensors, lines_++);
  }
  append(lines);
  waiting_.clear();
}

void RecentTensors::begin_segment() {
  segment_ = (segment_ + 1) % kRecentSegments.size();
  const auto path = folder_ / kRecentSegments[segment_];
  file_ = FileDescriptor(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0644));
  if (!file_.is_open()) fail(errno, path.native());
  append(trace_line(header_, 0));
  lines_ = 1;
}

void RecentTensors::append(std::string_view lines) {
  if (const int error = write_fully(file_.get(), lines)) fail(error, kRecentSegments[segment_]);
}

}  // namespace reprobench
