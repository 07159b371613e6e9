#include "matrix/provision/lock_file.hpp"

#include <algorithm>
#include <cctype>
#include <map>
#include <sstream>

#include <fmt/format.h>

#include "matrix/base/digits.hpp"
#include "matrix/base/regular_file.hpp"
#include "matrix/spec/checkout.hpp"

namespace reprobench {
namespace {

constexpr std::int64_t kLargestLockBytes = 1 << 20;  // a line a wheel
constexpr const char* kDamagedLock = "RB079";
constexpr const char* kLineForm = "a line reads NAME==VERSION --hash=sha256:<64 hex>  # FILE.whl SIZE bytes";

// Takes a line apart from left to right and knows the column it has reached.
class LineReader {
 public:
  explicit LineReader(const std::string& line) : line_(line) {}

  int column() const { return static_cast<int>(at_) + 1; }

  bool skip(std::string_view text) {
    if (line_.compare(at_, text.size(), text) != 0) return false;
    at_ += text.size();
    return true;
  }

  // The longest run of characters `accepts` takes; may be empty.
  template <class Accepts>
  std::string take(Accepts accepts) {
    const std::size_t begin = at_;
    while (at_ < line_.size() && accepts(line_[at_])) ++at_;
    return line_.substr(begin, at_ - begin);
  }

  bool at_end() const { return at_ == line_.size(); }

 private:
  const std::string& line_;
  std::size_t at_ = 0;
};

bool is_name_character(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_'; }
bool is_version_character(char c) { return is_name_character(c) || c == '.' || c == '+' || c == '!'; }
bool is_hex_digit(char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); }

// The mistake in the line at the reader's column; empty if there is none.
std::string read_line(LineReader& reader, LockedWheel& wheel) {
  wheel.distribution = reader.take(is_name_character);
  if (wheel.distribution.empty()) return "name of a distribution expected";
  if (!reader.skip("==")) return "`==` expected: a lock pins exact versions";
  wheel.version = reader.take(is_version_character);
  if (wheel.version.empty()) return "version expected";
  if (!reader.skip(" --hash=sha256:")) return "` --hash=sha256:` expected";
  wheel.sha256 = reader.take(is_hex_digit);
  if (wheel.sha256.size() != 64) return fmt::format("SHA-256 has {} of 64 hex digits", wheel.sha256.size());
  if (!reader.skip("  # ")) return "`  # FILE.whl SIZE bytes` expected";
  wheel.file = reader.take(is_version_character);
  if (!wheel.file.ends_with(".whl")) return fmt::format("`{}` is no name of a wheel", wheel.file);
  if (!reader.skip(" ")) return "size expected";
  const std::string digits = reader.take(is_digit);
  if (digits.empty() || digits.size() > 15) return "size expected";
  wheel.size_bytes = std::stoll(digits);
  if (!reader.skip(" bytes") || !reader.at_end()) return "line must end with `bytes`";
  return "";
}

}  // namespace

std::vector<LockedWheel> parse_lock(const std::string& text, const std::string& file) {
  std::vector<LockedWheel> wheels;
  std::vector<Diagnostic> diagnostics;
  std::map<std::string, int> first_line;
  std::istringstream stream(text);
  std::string line;
  for (int number = 1; std::getline(stream, line); ++number) {
    if (line.empty() || line.front() == '#') continue;
    LineReader reader(line);
    LockedWheel wheel;
    std::string problem = read_line(reader, wheel);
    int column = reader.column();
    if (problem.empty() && !first_line.emplace(wheel.distribution, number).second) {
      problem = fmt::format("`{}` appears twice; first in line {}", wheel.distribution, first_line[wheel.distribution]);
      column = 1;
    }
    if (problem.empty()) {
      wheels.push_back(wheel);
    } else {
      diagnostics.push_back({{file, number, column}, kDamagedLock, problem, kLineForm});
    }
  }
  if (wheels.empty() && diagnostics.empty()) {
    diagnostics.push_back({{file, 1, 1}, kDamagedLock, "lock names no wheel", "write it with ci/lock_stack.sh"});
  }
  if (!diagnostics.empty()) throw SpecError(diagnostics);
  return wheels;
}

std::vector<LockedWheel> select_wheels(const std::vector<LockedWheel>& lock,
                                       const std::vector<std::string>& distributions, const Mark& mark) {
  std::vector<Diagnostic> diagnostics;
  for (const std::string& name : distributions) {
    const bool known =
        std::any_of(lock.begin(), lock.end(), [&](const auto& wheel) { return wheel.distribution == name; });
    if (!known) diagnostics.push_back({mark, kDamagedLock, fmt::format("the lock has no wheel of `{}`", name), ""});
  }
  if (!diagnostics.empty()) throw SpecError(diagnostics);
  std::vector<LockedWheel> selected;
  std::copy_if(lock.begin(), lock.end(), std::back_inserter(selected), [&](const LockedWheel& wheel) {
    return std::find(distributions.begin(), distributions.end(), wheel.distribution) != distributions.end();
  });
  return selected;
}

std::string requirement_line(const LockedWheel& wheel) {
  return fmt::format("{}=={} --hash=sha256:{}", wheel.distribution, wheel.version, wheel.sha256);
}

std::string read_lock_text(const StackSpec& spec) {
  if (spec.source != StackSource::wheel) return "";
  FileText lock{"", leads_out(spec.lock_path)};
  if (lock.problem.empty()) lock = read_regular_file(spec.lock_path, kLargestLockBytes);
  if (lock.problem.empty()) return std::move(lock.text);
  throw SpecError({{spec.mark, "RB027", fmt::format("lock {} cannot be read: {}", spec.lock_path, lock.problem),
                    "write it with ci/lock_stack.sh"}});
}

std::vector<LockedWheel> read_lock(const StackSpec& spec) { return parse_lock(read_lock_text(spec), spec.lock_path); }

}  // namespace reprobench
