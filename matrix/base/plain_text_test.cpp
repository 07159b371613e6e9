#include "matrix/base/plain_text.hpp"

#include "ci/catch.hpp"

namespace reprobench {
namespace {

TEST_CASE("what moves the cursor, turns the direction or is no character is never shown", "[plain_text]") {
  struct Row {
    std::string_view text;
    std::string_view plain;
  };
  const Row row = GENERATE(
      Row{"plain \u00e4 \u4e2d \U0001f600", "plain \u00e4 \u4e2d \U0001f600"},
      Row{"\x1b[2K\r\x1b]0;t\a", "?[2K??]0;t?"}, Row{"a\x7f\xc2\x80\xc2\x9f\xc2\xa0", "a???\xc2\xa0"},
      Row{"a\u202e\u2066\u2069\u200e\u200f\u061c", "a??????"},
      Row{"a\u202a\u2029\u2028\u202f\u2065\u206a", "a???\u202f\u2065\u206a"},
      Row{"\xef\xbf\xbe\xef\xbf\xbf\xef\xbf\xbd", "??\xef\xbf\xbd"},
      Row{"\xef\xb7\x90\xef\xb7\xaf\xef\xb7\xb0", "??\xef\xb7\xb0"}, Row{"\xf0\x9f\xbf\xbe\xf4\x8f\xbf\xbf", "??"},
      Row{"\xc0\xaf\xc1\xbf", "????"}, Row{"\xe0\x80\xaf", "???"}, Row{"\xed\xa0\x80", "???"},
      Row{"\xf4\x90\x80\x80", "????"}, Row{"\xf5\x80", "??"}, Row{"\xe2\x82", "??"}, Row{"\xe2(\xac", "?(?"},
      Row{std::string_view("a\0b", 3), "a?b"});
  CAPTURE(row.text);
  CHECK(plain_text(row.text) == row.plain);
}

TEST_CASE("a line stays one line", "[plain_text]") {
  CHECK(plain_text("a\nb\tc") == "a\nb\tc");
  CHECK(plain_line("a\nb\tc\x1b") == "a b c?");
}

}  // namespace
}  // namespace reprobench
