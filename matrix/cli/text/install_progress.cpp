#include "matrix/cli/text/install_progress.hpp"

#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace reprobench {

void InstallProgress::show(const std::string& stack, const std::string& phase, double fraction) {
  const std::scoped_lock lock(mutex_);
  const std::string what = phase.substr(0, phase.find(':'));
  if (!terminal_.has_status_line()) {
    std::string& last = shown_[stack];
    if (what != last) terminal_.log(fmt::format("{}: {}\n", stack, phase));
    last = what;
    return;
  }
  constexpr int kBarWidth = 20;
  std::string bar;
  if (fraction >= 0) {
    const int filled = static_cast<int>(fraction * kBarWidth);
    bar = fmt::format(" [{:#<{}}{:.<{}}] {:3.0f} %", "", filled, "", kBarWidth - filled, fraction * 100);
  }
  shown_[stack] = fmt::format("{}: {}{}", stack, phase, bar);
  show_all();
}

void InstallProgress::finish(const std::string& stack, const std::string& line) {
  const std::scoped_lock lock(mutex_);
  shown_.erase(stack);
  terminal_.out(line);
  if (terminal_.has_status_line()) show_all();
}

void InstallProgress::show_all() const {
  std::vector<std::string> parts;
  for (const auto& [stack, text] : shown_) parts.push_back(text);
  terminal_.status(fmt::format("{}", fmt::join(parts, " | ")));
}

}  // namespace reprobench
