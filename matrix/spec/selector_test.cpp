#include "matrix/spec/selector.hpp"

#include "ci/catch.hpp"
#include "matrix/spec/spec_fixture.hpp"

using namespace reprobench;

namespace {

const Coordinates kCell = {{"suite", "smoke"}, {"workload", "mlp"}, {"stack", "torch-2.9.0-cu128"},
                           {"device", "cpu"},  {"world_size", "1"}, {"precision", "bf16"}};

bool selects(const std::string& text) { return Selector::parse(text, {"e", 1, 1}).matches(kCell); }

std::string selector_error(const std::string& text) {
  return spec_error_of([&] { Selector::parse(text, {"e", 3, 10}); });
}

}  // namespace

TEST_CASE("an expression selects by comparison, membership and their combinations", "[spec]") {
  CHECK(selects("device == cpu"));
  CHECK_FALSE(selects("device != cpu"));
  CHECK(selects("stack in (torch-2.8.0-cu128, torch-2.9.0-cu128)"));
  CHECK(selects("stack not in (torch-2.8.0-cu128)"));
  CHECK(selects("device == cpu and precision == bf16"));
  CHECK_FALSE(selects("device == cpu and precision == fp32"));
  CHECK(selects("device == sm_90 or precision == bf16"));
  CHECK(selects("not (device == sm_90 or precision == fp32)"));
  CHECK(selects("device == \"cpu\""));
}

TEST_CASE("of three and more parts every one counts", "[spec]") {
  const char* yes = "device == cpu";
  const char* no = "device == sm_90";
  for (int parts = 0; parts < 16; ++parts) {
    std::string all;
    std::string any;
    for (int bit = 0; bit < 4; ++bit) {
      const char* part = (parts >> bit & 1) != 0 ? yes : no;
      all += (bit > 0 ? " and " : "") + std::string(part);
      any += (bit > 0 ? " or " : "") + std::string(part);
    }
    CAPTURE(all);
    CHECK(selects(all) == (parts == 15));
    CHECK(selects(any) == (parts > 0));
  }
}

TEST_CASE("`and` binds tighter than `or`, and `not` tighter than both", "[spec]") {
  CHECK(selects("device == cpu or device == sm_90 and precision == fp32"));
  CHECK_FALSE(selects("(device == cpu or device == sm_90) and precision == fp32"));
  CHECK(selects("not device == sm_90 and device == cpu"));
}

TEST_CASE("a coordinate the cell does not have equals nothing", "[spec]") {
  CHECK_FALSE(selects("tf32 == on"));
  CHECK(selects("tf32 != on"));
}

TEST_CASE("the text of a selector parses to a selector of the same text", "[spec]") {
  for (const std::string text : {"device == cpu", "device != cpu and stack in (a, b)", "not (device == cpu)",
                                 "(device == cpu or device == sm_90) and precision not in (fp32, bf16)"}) {
    CHECK(Selector::parse(text, {"e", 1, 1}).text() == text);
  }
  CHECK(Selector{}.text().empty());
  CHECK(Selector{}.selects_everything());
}

TEST_CASE("both spellings of `where` are the same selector", "[spec]") {
  const Selector map = Selector::all_of({{"device", {"cpu"}}, {"precision", {"fp32", "bf16"}}});
  CHECK(map.text() == "device == cpu and precision in (fp32, bf16)");
  CHECK(map.matches(kCell));
}

TEST_CASE("an expression that cannot be read names the place inside it", "[spec]") {
  CHECK(selector_error("device = cpu") ==
        "e:3:17: error[RB033]: in a selection: unknown operator `=`; operators are ==, !=, in and not in");
  CHECK(selector_error("devise == cpu") ==
        "e:3:10: error[RB009]: in a selection: unknown name `devise`; did you mean `device`?");
  CHECK(selector_error("device == ") == "e:3:20: error[RB019]: in a selection: expected a value, got the end");
  CHECK(selector_error("(device == cpu") == "e:3:24: error[RB019]: in a selection: expected `)`, got the end");
  CHECK(selector_error("device == cpu precision == fp32") ==
        "e:3:24: error[RB019]: in a selection: expected `and`, `or` or the end, got `precision`");
  CHECK(selector_error("device == 'cpu") == "e:3:20: error[RB005]: in a selection: a quote is not closed");
  CHECK(selector_error("") == "e:3:10: error[RB019]: in a selection: expected a name, got the end");
}
