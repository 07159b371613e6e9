#include "matrix/cli/text/progress.hpp"

#include <fmt/format.h>

#include "matrix/base/plain_text.hpp"

namespace reprobench {

std::string duration_text(std::chrono::nanoseconds duration) {
  const double seconds = std::chrono::duration<double>(duration).count();
  const auto whole = seconds >= 59.95 && seconds < 60 ? 60 : static_cast<long>(seconds);  // nobody reads "60.0s"
  if (whole >= 3600) return fmt::format("{}h{:02}m", whole / 3600, whole % 3600 / 60);
  if (whole >= 60) return fmt::format("{}m{:02}s", whole / 60, whole % 60);
  return fmt::format("{:.1f}s", seconds);
}

std::string pair_progress_text(std::size_t done, std::size_t all, std::chrono::nanoseconds elapsed) {
  const std::string eta =
      done == 0 ? "?" : duration_text(elapsed * static_cast<long>(all - done) / static_cast<long>(done));
  return fmt::format("[{}/{}] ETA {} ", done + 1, all, eta);
}

RunProgress::RunProgress(const Plan& plan, const AttemptDurations& recorded, const Terminal& terminal)
    : terminal_(terminal), remaining_(plan, recorded) {
  for (const PlannedCell& planned : plan.cells) {
    if (planned.skip) continue;
    ++cells_;
    attempts_ += planned.cell.repeat;
  }
}

ExecutionObserver RunProgress::observer() {
  ExecutionObserver observer;
  observer.attempt_started = [this](const Cell& cell, const CellRequest& request) { attempt_started(cell, request); };
  observer.attempt_ended = [this](const Cell& cell, const AttemptRecord& attempt) { attempt_ended(cell, attempt); };
  observer.cell_ended = [this](const Cell& cell, const CellRecord& record) { cell_ended(cell, record); };
  observer.libraries_read_anew = [this](const std::set<std::string>& stacks, const ReadAnew& read) {
    read_anew(stacks, read);
  };
  observer.repeats_added = [this](const Cell& cell, const FurtherRepeats& added) { repeats_added(cell, added); };
  observer.tick = [this] { redraw(); };
  return observer;
}

void RunProgress::attempt_started(const Cell& cell, const CellRequest& request) {
  running_[request.nonce] = fmt::format("{} #{}", cell.slug, request.repeat);
  redraw();
}

void RunProgress::attempt_ended(const Cell& cell, const AttemptRecord& attempt) {
  remaining_.attempt_ended(cell.request.cell_id);
  running_.erase(attempt.nonce);
  ++attempts_done_;
  if (side_of(attempt.end) != Side::none) ++attempts_failed_;
  redraw();
}

void RunProgress::cell_ended(const Cell& cell, const CellRecord& record) {
  ++cells_done_;
  const AttemptRecord* bad = nullptr;
  for (const AttemptRecord& attempt : record.attempts) {
    if (attempt.end != AttemptEnd::completed) bad = &attempt;
  }
  const std::string count = fmt::format("[{:>{}}/{}]", cells_done_, fmt::formatted_size("{}", cells_), cells_);
  if (bad == nullptr) {
    terminal_.log(fmt::format("{} ran      {}  {} attempt{}\n", count, cell.slug, record.attempts.size(),
                              record.attempts.size() == 1 ? "" : "s"));
  } else {
    terminal_.log(fmt::format("{} {} {}  {}: {}\n", count, terminal_.paint_log("trouble ", Style::red), cell.slug,
                              to_string(bad->end), plain_line(bad->detail)));
  }
  redraw();
}

void RunProgress::check_failed(const CellVerdict& cell) {
  terminal_.log(fmt::format("{} {} · {}: {}\n", terminal_.paint_log("failed  ", Style::red), cell.slug, cell.reason,
                            plain_line(cell.sentence)));
  redraw();
}

void RunProgress::left_open(const CellVerdict& cell) {
  terminal_.log(fmt::format("{} {} · {}\n", terminal_.paint_log("noise   ", Style::yellow), cell.slug,
                            plain_line(cell.sentence)));
}

void RunProgress::repeats_added(const Cell& cell, const FurtherRepeats& added) {
  const int count = added.until - added.from;
  attempts_ += count;
  remaining_.attempts_added(cell.request.cell_id, count);
  terminal_.log(fmt::format("{} {}  {} more repeats, {} in all\n", terminal_.paint_log("again   ", Style::yellow),
                            cell.slug, count, added.until));
  redraw();
}

// Times lean to one of two equal installations by some percent where their libraries stayed as they were.
void RunProgress::read_anew(const std::set<std::string>& stacks, const ReadAnew& read) {
  if (read.kept_bytes <= read.bytes) return;
  terminal_.log(fmt::format("{} libraries of {} stayed in the page cache, {} MB of {}: times may lean to one side\n",
                            terminal_.paint_log("note    ", Style::yellow), fmt::join(stacks, ", "),
                            read.kept_bytes >> 20, (read.kept_bytes + read.bytes) >> 20));
}

void RunProgress::redraw() const {
  if (!terminal_.has_status_line()) return;
  const auto elapsed = std::chrono::steady_clock::now() - start_;
  const auto left = remaining_.after(elapsed);
  const std::string eta = left ? duration_text(*left) : "?";
  std::string text = fmt::format("[{}/{} cells  {}/{} attempts  {} in trouble  {}  ETA {}]", cells_done_, cells_,
                                 attempts_done_, attempts_, attempts_failed_, duration_text(elapsed), eta);
  for (const auto& [nonce, what] : running_) text += "  " + what;
  terminal_.status(text);
}

}  // namespace reprobench
