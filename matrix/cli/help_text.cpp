#include "matrix/cli/help_text.hpp"

#include <regex>

#include "matrix/cli/text/text_table.hpp"

namespace reprobench {

std::string HelpFormatter::make_option_opts(const CLI::Option* option) const {
  static const std::regex kRange(R"((INT|FLOAT):(?:INT|FLOAT) in \[(\S+) - (\S+)\])");
  static const std::regex kMillion(R"(\b1e\+06\b)");
  static const std::regex kNotNegative(R"((INT|FLOAT):NONNEGATIVE)");
  std::string text = std::regex_replace(CLI::Formatter::make_option_opts(option), kRange, "$1 $2..$3");
  text = std::regex_replace(text, kMillion, "1000000");
  return std::regex_replace(text, kNotNegative, "$1 0..");
}

// CLI11 indents what follows the end of a line.
std::string HelpFormatter::make_option_desc(const CLI::Option* option) const {
  const std::size_t indent = get_column_width();
  std::string text = wrapped(option->get_description(), indent, indent);
  const std::string line_begin = "\n" + std::string(indent, ' ');
  for (auto at = text.find(line_begin); at != std::string::npos; at = text.find(line_begin, at + 1)) {
    text.erase(at + 1, indent);
  }
  return text;
}

}  // namespace reprobench
