#include "matrix/cli/terminal.hpp"

#include <cstdlib>

#include <sys/ioctl.h>
#include <unistd.h>

#include "matrix/record/write_fully.hpp"

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
      return "";
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
  return "";
}

std::string painted(std::string_view text, Style style, bool color) {
  if (!color || style == Style::plain) return std::string(text);
  return code_of(style) + std::string(text) + "\x1b[0m";
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

void Terminal::out(std::string_view text) const {
  status("");
  write_fully(STDOUT_FILENO, text);
}

void Terminal::log(std::string_view text) const {
  if (quiet_) return;
  status("");
  write_fully(STDERR_FILENO, text);
}

void Terminal::error(std::string_view text) const {
  status("");
  write_fully(STDERR_FILENO, text);
}

void Terminal::status(std::string_view text) const {
  if (!status_line_ || (text.empty() && !status_shown_)) return;
  write_fully(STDERR_FILENO, "\r\x1b[K");
  write_fully(STDERR_FILENO, text.substr(0, terminal_columns() - 1));
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

std::string printable(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    safe += (byte < 0x20 && c != '\n' && c != '\t') || byte == 0x7f ? '?' : c;
  }
  return safe;
}

}  // namespace reprobench
