#include "matrix/spec/spec_error.hpp"

#include "ci/catch.hpp"
#include "matrix/spec/diagnostics.hpp"

namespace reprobench {
namespace {

TEST_CASE("a place is read as it was written, and any other text is a file", "[spec]") {
  struct Row {
    const char* text;
    const char* file;
    int line;
    int column;
  };
  for (const Row& row :
       {Row{"m.yaml:9:5", "m.yaml", 9, 5}, Row{"m.yaml:123:4567", "m.yaml", 123, 4567},
        Row{"a:b:c.yaml:1:12", "a:b:c.yaml", 1, 12}, Row{":1:2", "", 1, 2}, Row{"m.yaml", "m.yaml", 0, 0},
        Row{"m.yaml:9", "m.yaml:9", 0, 0}, Row{"m.yaml:9:", "m.yaml:9:", 0, 0}, Row{"m.yaml::5", "m.yaml::5", 0, 0},
        Row{"m.yaml:9:5x", "m.yaml:9:5x", 0, 0}, Row{"m.yaml:9x:5", "m.yaml:9x:5", 0, 0}, Row{":", ":", 0, 0},
        Row{"", "", 0, 0}}) {
    CAPTURE(row.text);
    const Mark mark = mark_from(row.text);
    CHECK(mark.file == row.file);
    CHECK(mark.line == row.line);
    CHECK(mark.column == row.column);
    CHECK(to_string(mark) == row.text);
  }
}

TEST_CASE("what is wrong with a file is listed in its order, a line each, with what would help", "[spec]") {
  Diagnostics diagnostics;
  diagnostics.throw_if_any();
  diagnostics.error({"m.yaml", 3, 7}, "RB002", "second on its line");
  diagnostics.error({"m.yaml", 12, 1}, "RB003", "last", "do otherwise");
  diagnostics.error({"m.yaml", 3, 5}, "RB001", "first");
  const char* listed =
      "m.yaml:3:5: error[RB001]: first\n"
      "m.yaml:3:7: error[RB002]: second on its line\n"
      "m.yaml:12:1: error[RB003]: last; do otherwise";
  CHECK_THROWS_WITH(diagnostics.throw_if_any(), listed);
  Diagnostics others;
  others.error({"m.yaml", 4, 1}, "RB009", "between");
  try {
    diagnostics.throw_if_any();
  } catch (const SpecError& error) {
    CHECK(error.diagnostics().front().code == "RB001");
    others.add(error);
  }
  CHECK_THROWS_WITH(others.throw_if_any(),
                    "m.yaml:3:5: error[RB001]: first\n"
                    "m.yaml:3:7: error[RB002]: second on its line\n"
                    "m.yaml:4:1: error[RB009]: between\n"
                    "m.yaml:12:1: error[RB003]: last; do otherwise");
  CHECK_THROWS_WITH(throw_spec_error({"--inject", 1, 1}, "RB040", "no\ncell"),
                    Catch::StartsWith("--inject:1:1: error[RB040]: no"));
}

}  // namespace
}  // namespace reprobench
