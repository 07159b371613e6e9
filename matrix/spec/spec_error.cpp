#include "matrix/spec/spec_error.hpp"

#include <algorithm>
#include <charconv>
#include <tuple>

#include "matrix/base/plain_text.hpp"
#include "matrix/spec/diagnostics.hpp"

namespace reprobench {
namespace {

constexpr std::size_t kMostShown = 20;

// In the order a reader meets them in the file; a stable sort keeps the order of finding at one place.
std::vector<Diagnostic> in_file_order(std::vector<Diagnostic> diagnostics) {
  std::stable_sort(diagnostics.begin(), diagnostics.end(), [](const Diagnostic& a, const Diagnostic& b) {
    return std::tie(a.mark.file, a.mark.line, a.mark.column) < std::tie(b.mark.file, b.mark.line, b.mark.column);
  });
  if (diagnostics.size() > kMostShown) diagnostics.resize(kMostShown);
  return diagnostics;
}

std::string lines_of(const std::vector<Diagnostic>& diagnostics) {
  std::string text;
  for (const Diagnostic& diagnostic : diagnostics) {
    if (!text.empty()) text += '\n';
    text += to_string(diagnostic);
  }
  return text;
}

}  // namespace

std::string to_string(const Mark& mark) {
  if (mark.line == 0) return mark.file;
  return mark.file + ":" + std::to_string(mark.line) + ":" + std::to_string(mark.column);
}

// A file name may hold colons itself.
Mark mark_from(const std::string& text) {
  const std::size_t column_at = text.rfind(':');
  const std::size_t line_at =
      column_at == std::string::npos || column_at == 0 ? std::string::npos : text.rfind(':', column_at - 1);
  Mark mark;
  if (line_at != std::string::npos) {
    const char* end = text.data() + text.size();
    const auto line = std::from_chars(text.data() + line_at + 1, end, mark.line);
    const auto column = std::from_chars(text.data() + column_at + 1, end, mark.column);
    const bool are_numbers = line.ec == std::errc() && column.ec == std::errc();
    if (are_numbers && line.ptr == text.data() + column_at && column.ptr == end) {
      mark.file = text.substr(0, line_at);
      return mark;
    }
  }
  return {text, 0, 0};
}

std::string to_string(const Diagnostic& diagnostic) {
  std::string text = to_string(diagnostic.mark) + ": error[" + diagnostic.code + "]: " + diagnostic.what;
  if (!diagnostic.hint.empty()) text += "; " + diagnostic.hint;
  return plain_line(text);  // it quotes the file
}

SpecError::SpecError(std::vector<Diagnostic> diagnostics)
    : std::runtime_error(lines_of(in_file_order(diagnostics))), diagnostics_(in_file_order(std::move(diagnostics))) {}

void Diagnostics::error(const Mark& mark, std::string code, std::string what, std::string hint) {
  found_.push_back({mark, std::move(code), std::move(what), std::move(hint)});
}

void Diagnostics::add(const SpecError& error) {
  found_.insert(found_.end(), error.diagnostics().begin(), error.diagnostics().end());
}

void Diagnostics::throw_if_any() const {
  if (!found_.empty()) throw SpecError(found_);
}

void throw_spec_error(const Mark& mark, std::string code, std::string what, std::string hint) {
  std::vector<Diagnostic> one;
  one.push_back({mark, std::move(code), std::move(what), std::move(hint)});
  throw SpecError(std::move(one));
}

}  // namespace reprobench
