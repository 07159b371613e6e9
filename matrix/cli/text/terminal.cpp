#include "matrix/cli/text/terminal.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "matrix/base/plain_text.hpp"
#include "matrix/base/write_fully.hpp"

namespace reprobench {
namespace {

bool is_set(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

bool wants_color(ColorChoice choice, int fd) {
  if (choice != ColorChoice::automatic) return choice == ColorChoice::always;
  if (is_set("NO_COLOR")) return false;
  if (is_set("FORCE_COLOR") || is_set("CLICOLOR_FORCE")) return true;
  const char* term = std::getenv("TERM");
  return isatty(fd) == 1 && term != nullptr && std::string_view(term) != "dumb";
}

const char* code_of(Style style) {
  switch (style) {
    case Style::plain:
      return "\x1b[0m";
    case Style::bold:
      return "\x1b[1m";
    case Style::red:
      return "\x1b[31m";
    case Style::green:
      return "\x1b[32m";
    case Style::yellow:
      return "\x1b[33m";
    case Style::cyan:
      return "\x1b[36m";
    case Style::dim:
      return "\x1b[2m";
  }
  return "\x1b[0m";
}

std::string painted(std::string_view text, Style style, bool color) {
  if (!color || style == Style::plain) return std::string(text);
  return fmt::format("{}{}{}{}0", kColorMark, static_cast<int>(style), text, kColorMark);
}

// Plain but for the colours that its marks ask for.
std::string rendered(std::string_view text, bool color) {
  std::string result;
  while (!text.empty()) {
    const std::size_t mark = color ? text.find(kColorMark) : std::string_view::npos;
    result += plain_text(text.substr(0, mark));
    if (mark == std::string_view::npos || mark + 1 == text.size()) break;
    const int style = text[mark + 1] - '0';
    if (style >= 0 && style <= static_cast<int>(Style::dim)) result += code_of(static_cast<Style>(style));
    text.remove_prefix(mark + 2);
  }
  return result;
}

std::size_t terminal_columns() {
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 80;
}

}  // namespace

void Terminal::configure(ColorChoice choice, bool quiet) {
  quiet_ = quiet;
  color_out_ = wants_color(choice, STDOUT_FILENO);
  color_err_ = wants_color(choice, STDERR_FILENO);
  const char* term = std::getenv("TERM");
  status_line_ = !quiet && isatty(STDERR_FILENO) == 1 && term != nullptr && std::string_view(term) != "dumb";
}

void Terminal::write_data(std::string_view bytes) const {
  status("");
  const int error = write_fully(STDOUT_FILENO, bytes);
  if (error != 0 && error != EPIPE && write_error_ == 0) write_error_ = error;
}

void Terminal::out(std::string_view text) const { write_data(rendered(text, color_out_)); }

void Terminal::out_document(const nlohmann::json& document) const {
  write_data(document.dump(1, ' ', /*ensure_ascii=*/true) + "\n");
}

void Terminal::out_part(std::string_view part) const { write_data(part); }

std::string Terminal::problem() const {
  return write_error_ == 0 ? "" : fmt::format("cannot write to standard output: {}", std::strerror(write_error_));
}

void Terminal::log(std::string_view text) const {
  if (!quiet_) error(text);
}

void Terminal::error(std::string_view text) const {
  status("");
  write_fully(STDERR_FILENO, rendered(text, color_err_));
}

void Terminal::status(std::string_view text) const {
  if (!status_line_ || (text.empty() && !status_shown_)) return;
  write_fully(STDERR_FILENO, "\r\x1b[K");
  write_fully(STDERR_FILENO, plain_line(text.substr(0, terminal_columns() - 1)));
  status_shown_ = !text.empty();
}

std::string Terminal::paint(std::string_view text, Style style) const { return painted(text, style, color_out_); }
std::string Terminal::paint_log(std::string_view text, Style style) const { return painted(text, style, color_err_); }

Style style_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::passed:
      return Style::green;
    case Outcome::failed:
      return Style::red;
    case Outcome::inconclusive:
    case Outcome::errored:
    case Outcome::unfinished:
      return Style::yellow;
    case Outcome::skipped:
      return Style::dim;
    case Outcome::recorded:
      return Style::plain;
  }
  return Style::plain;
}

}  // namespace reprobench
