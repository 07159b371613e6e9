#include "matrix/cli/text/wrapped_text.hpp"

#include "ci/catch.hpp"

namespace reprobench {
namespace {

std::string word_of(std::size_t columns) { return std::string(columns, 'w'); }

TEST_CASE("a column is a code point", "[cli]") {
  CHECK(columns("") == 0);
  CHECK(columns("abc") == 3);
  CHECK(columns("\u00b5s") == 2);
  CHECK(columns("\u20ac\U0001F600") == 2);
}

TEST_CASE("text breaks before the word that would pass column 80, and not before", "[cli]") {
  CHECK(wrapped("", 4, 4).empty());
  CHECK(wrapped("one two", 4, 4) == "one two");
  CHECK(wrapped(word_of(40) + " " + word_of(39), 0, 2) == word_of(40) + " " + word_of(39));
  CHECK(wrapped(word_of(40) + " " + word_of(40), 0, 2) == word_of(40) + "\n  " + word_of(40));
  CHECK(wrapped(word_of(30) + " " + word_of(39), 10, 2) == word_of(30) + " " + word_of(39));
  CHECK(wrapped(word_of(30) + " " + word_of(40), 10, 2) == word_of(30) + "\n  " + word_of(40));
  // Counted in columns: forty two-byte letters are forty.
  std::string letters;
  for (int i = 0; i < 40; ++i) letters += "\u00b5";
  CHECK(wrapped(letters + " " + word_of(39), 0, 2) == letters + " " + word_of(39));
  CHECK(wrapped(letters + " " + letters, 0, 2) == letters + "\n  " + letters);
}

TEST_CASE("later lines begin at the indent and are as wide as it leaves", "[cli]") {
  CHECK(wrapped(word_of(80) + " " + word_of(36) + " " + word_of(39), 0, 4) ==
        word_of(80) + "\n    " + word_of(36) + " " + word_of(39));
  CHECK(wrapped(word_of(80) + " " + word_of(37) + " " + word_of(39), 0, 4) ==
        word_of(80) + "\n    " + word_of(37) + "\n    " + word_of(39));
}

TEST_CASE("a word longer than a line stands alone", "[cli]") {
  CHECK(wrapped(word_of(90) + " a", 14, 14) == word_of(90) + "\n" + std::string(14, ' ') + "a");
  CHECK(wrapped("a " + word_of(90) + " b", 14, 14) ==
        "a\n" + std::string(14, ' ') + word_of(90) + "\n" + std::string(14, ' ') + "b");
  // Also where a later line happens to have come to the column at which the first began.
  CHECK(wrapped(word_of(60) + " " + word_of(10) + " " + word_of(75), 12, 2) ==
        word_of(60) + "\n  " + word_of(10) + "\n  " + word_of(75));
}

}  // namespace
}  // namespace reprobench
