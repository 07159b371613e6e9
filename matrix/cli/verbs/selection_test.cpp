#include "matrix/cli/verbs/selection.hpp"

#include "ci/catch.hpp"

namespace reprobench {
namespace {

TEST_CASE("a word of a reproduce line is quoted where a shell would read more in it", "[cli]") {
  for (const char* plain : {"torch-2.9.0-cu128", "matrix/v2.9.yaml", "kind=weight_ulp,step=20", "a:b+c@d%e_f", "0"}) {
    CHECK(shell_word(plain) == plain);
  }
  CHECK(shell_word("") == "''");
  CHECK(shell_word("device == cpu") == "'device == cpu'");
  CHECK(shell_word("$HOME") == "'$HOME'");
  CHECK(shell_word("a;b") == "'a;b'");
  CHECK(shell_word("it's") == R"('it'\''s')");
  CHECK(shell_word("'") == R"(''\''')");
  CHECK(shell_word("\u00b5") == "'\u00b5'");
}

TEST_CASE("models that no worker describes are named, and none are nothing", "[cli]") {
  SelectedPlan selected;
  CHECK(preset_note(selected).empty());
  selected.unknown_presets = {"gpt2/tiny", "mlp/base"};
  CHECK(preset_note(selected) ==
        "presets not checked, because no installed worker describes these models: gpt2/tiny, mlp/base\n");
}

}  // namespace
}  // namespace reprobench
