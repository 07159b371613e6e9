#include "matrix/cli/text/text_table.hpp"

#include "ci/catch.hpp"
#include "matrix/cli/text/terminal.hpp"

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

TEST_CASE("columns of a table begin and end where its layout says", "[cli]") {
  CHECK(TextTable("  <4 >5  <").row("a", 12, "x y").text() == "  a       12  x y\n");
  CHECK(TextTable("<3<").row("a", "b").row("abc", "d").text() == "a  b\nabcd\n");
}

TEST_CASE("a column without a number is as wide as its widest cell", "[cli]") {
  CHECK(TextTable("< > <").row("a", "1", "x").row("abc", 100, "y").text() == "a     1 x\nabc 100 y\n");
  CHECK(TextTable("< <").row("\u00b5", "x").row("abc", "y").text() == "\u00b5   x\nabc y\n");
  CHECK(TextTable("<2 <").line("a long heading").row("a", "x").text() == "a long heading\na  x\n");
  CHECK(TextTable("< <").line("a long heading").row("a", "x").text() == "a long heading\na x\n");
}

TEST_CASE("a longer cell moves the rest of its own line", "[cli]") {
  CHECK(TextTable("<2 >3 <").row("long", 1, "x").row("a", 1234, "y").row("b", 3, "z").text() ==
        "long   1 x\na  1234 y\nb    3 z\n");
}

TEST_CASE("no line ends in blanks", "[cli]") {
  CHECK(TextTable("  <4 <5 <").row("a", "", "").row("b").row("", "c", "").text() == "  a\n  b\n       c\n");
  CHECK(TextTable("<4 >5 <").row("a", "", "x").text() == "a          x\n");
}

TEST_CASE("a cell is one line", "[cli]") { CHECK(TextTable("<4 <").row("a\nb", "c\td").text() == "a b  c d\n"); }

TEST_CASE("a last column is broken at column 80 and goes on below its beginning", "[cli]") {
  const std::string word(38, 'w');
  CHECK(TextTable("<2 ~").row("a", word + " " + word).text() == "a  " + word + " " + word + "\n");
  CHECK(TextTable("<3 ~").row("a", word + " " + word).text() == "a   " + word + "\n    " + word + "\n");
  CHECK(TextTable("<1 ~").row("abc", word + " " + word).text() == "abc " + word + "\n  " + word + "\n");
}

TEST_CASE("a list has its label once and counts what it leaves out", "[cli]") {
  const std::vector<std::string> items = {"a", "b", "c"};
  const auto line = [](const std::string& item) { return item + "!"; };
  CHECK(TextTable("<4 <").list("of", items).text() == "of   a\n     b\n     c\n");
  CHECK(TextTable("<4 <").list("of", items, line, 3).text() == "of   a!\n     b!\n     c!\n");
  CHECK(TextTable("<4 <").list("of", items, line, 1, "more kinds").text() == "of   a!\n     and 2 more kinds\n");
  CHECK(TextTable("<4 <").list("of", std::vector<std::string>()).text().empty());
}

TEST_CASE("marks of colours take no columns", "[cli]") {
  Terminal terminal;
  terminal.configure(ColorChoice::always, /*quiet=*/false);
  const std::string red = terminal.paint("bad", Style::red);
  REQUIRE(red.size() > 3);
  CHECK(TextTable("<4 <").row(red, "x").text() == red + "  x\n");
  CHECK(TextTable(">4 <").row(red, "x").text() == " " + red + " x\n");
}

}  // namespace
}  // namespace reprobench
