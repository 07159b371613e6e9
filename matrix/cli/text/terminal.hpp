// What the user sees: stdout is data, stderr is progress and log. Colour only where it is wanted, and never alone.
//
// All text leaves through here, and leaves plain (matrix/base/plain_text.hpp): the only escape sequences are those
// that paint() asked for.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "matrix/contract/outcome.hpp"

namespace reprobench {

enum class ColorChoice { automatic, always, never };
enum class Style { plain, bold, red, green, yellow, cyan, dim };

// Begins a mark of a colour; a byte that no UTF-8 text holds. The style's digit follows.
constexpr char kColorMark = '\xff';

class Terminal {
 public:
  Terminal() = default;

  // Order of precedence as in ninja and no-color.org: --color, NO_COLOR, CLICOLOR_FORCE / FORCE_COLOR, TERM=dumb, TTY.
  void configure(ColorChoice choice, bool quiet);

  // Writes data. A reader that has gone away is no error; the rest of the data is dropped.
  void out(std::string_view text) const;

  // Writes a JSON document with characters beyond ASCII escaped, so that its reader decides how to show them.
  void out_document(const nlohmann::json& document) const;

  // Writes a part of a document that comes in parts, unchanged.
  void out_part(std::string_view part) const;

  // Why data could not be written, such as a full disk; empty if all was written.
  std::string problem() const;

  // Progress and log; nothing with --quiet.
  void log(std::string_view text) const;

  // Errors; also with --quiet.
  void error(std::string_view text) const;

  // One line that is redrawn in place; does nothing unless stderr is a terminal. An empty text removes it.
  void status(std::string_view text) const;
  bool has_status_line() const { return status_line_; }

  // Text with marks that become colours when it is written.
  std::string paint(std::string_view text, Style style) const;      // for stdout
  std::string paint_log(std::string_view text, Style style) const;  // for stderr

 private:
  bool quiet_ = false;
  bool color_out_ = false;
  bool color_err_ = false;
  bool status_line_ = false;
  void write_data(std::string_view bytes) const;

  mutable bool status_shown_ = false;
  mutable int write_error_ = 0;  // the first errno
};

Style style_of(Outcome outcome);

}  // namespace reprobench
