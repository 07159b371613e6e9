#include "matrix/spec/files/json_reader.hpp"

#include "ci/catch.hpp"
#include "ci/thrown.hpp"

namespace reprobench {
namespace {

std::string refused(const std::string& text) {
  return message_of<SpecError>([&] { read_json(text, "ds.json"); });
}

TEST_CASE("every value and key knows its place", "[lint]") {
  const JsonNode root = read_json("{\n\t\"a\": [1, {\"b\": true}],\r\n  \"c\": null, \"d\": \"x\"}", "ds.json");
  REQUIRE(root.members.size() == 3);
  const JsonMember& list = root.members[0];
  CHECK(to_string(list.key_mark) == "ds.json:2:2");
  CHECK(to_string(list.value.mark) == "ds.json:2:7");
  CHECK(list.value.items[0].text == "1");
  CHECK(to_string(list.value.items[1].members[0].value.mark) == "ds.json:2:17");
  CHECK(to_string(root.members[1].key_mark) == "ds.json:3:3");
  CHECK(root.members[1].value.is(JsonNode::Kind::null));
  CHECK(to_string(root.members[2].value.mark) == "ds.json:3:19");
  CHECK(shown(list.value) == "a list");
}

TEST_CASE("text keeps what its escapes mean", "[lint]") {
  const JsonNode root = read_json(R"({"a": "q\" \\ \/ \b\f\n\r\t \u00e9 \u20AC \ud83d\ude00 é"})", "ds.json");
  CHECK(root.members[0].value.text == "q\" \\ / \b\f\n\r\t \xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80 é");
  CHECK(shown(read_json("{\"a\": \"auto\"}", "x").members[0].value) == "\"auto\"");
  CHECK(shown(read_json("{\"a\": \"" + std::string(49, 'y') + "\"}", "x").members[0].value) ==
        "\"" + std::string(48, 'y') + "...\"");
  CHECK(shown(read_json("{\"a\": \"" + std::string(47, 'y') + "é…\"}", "x").members[0].value) ==
        "\"" + std::string(47, 'y') + "...\"");
}

TEST_CASE("of a key that is repeated the last is found, and all are kept", "[lint]") {
  const JsonNode root = read_json(R"({"a": 1, "a": 2})", "ds.json");
  CHECK(root.members.size() == 2);
  CHECK(root.find("a")->value.text == "2");
  CHECK(root.find("b") == nullptr);
}

TEST_CASE("what is no JSON is refused at its place, in words", "[lint]") {
  struct Row {
    const char* text;
    const char* error;
  };
  const Row rows[] = {
      {"", "ds.json:1:1: error[RB001]: file has no content; a DeepSpeed configuration is an object"},
      {" \n ", "ds.json:2:2: error[RB001]: file has no content; a DeepSpeed configuration is an object"},
      {"[1]", "ds.json:1:1: error[RB007]: the file must be an object of keys, got a list"},
      {"{\"a\": 1", "ds.json:1:8: error[RB005]: not valid JSON: `}` is missing at the end of the file"},
      {"{\"a\": [1", "ds.json:1:9: error[RB005]: not valid JSON: `]` is missing at the end of the file"},
      {"{", "ds.json:1:2: error[RB005]: not valid JSON: `}` is missing at the end of the file"},
      {"{\"a\"", "ds.json:1:5: error[RB005]: not valid JSON: `:` is missing after the key `a`"},
      {"{\"a\": ", "ds.json:1:7: error[RB005]: not valid JSON: the file ends where a value should stand"},
      {"{\"a\": }", "ds.json:1:7: error[RB005]: not valid JSON: a value is missing"},
      {"{\"a\": 1 \"b\": 2}", "ds.json:1:9: error[RB005]: not valid JSON: `,` or `}` is missing after a value"},
      {"{\"a\": [1 2]}", "ds.json:1:10: error[RB005]: not valid JSON: `,` or `]` is missing after an item"},
      {"{\"a\": \"x}", "ds.json:1:7: error[RB005]: not valid JSON: a quote is not closed"},
      {"{\"a\": \"x\n\"}", "ds.json:1:7: error[RB005]: not valid JSON: a quote is not closed"},
      {"{\"a\": \"x\ty\"}", "ds.json:1:9: error[RB005]: not valid JSON: a control character in text"},
      {"{\"a\": \"\\x\"}",
       "ds.json:1:9: error[RB005]: not valid JSON: a backslash before another character than \"\\/bfnrtu"},
      {"{\"a\": \"\\u12g4\"}", "ds.json:1:12: error[RB005]: not valid JSON: \\u without four hex digits"},
      {"{\"a\": \"\\ud800\"}", "ds.json:1:14: error[RB005]: not valid JSON: half of a surrogate pair"},
      {"{\"a\": \"\\udc00\"}", "ds.json:1:14: error[RB005]: not valid JSON: half of a surrogate pair"},
      {"{\"a\": \"\\ud800\\u0041\"}", "ds.json:1:20: error[RB005]: not valid JSON: half of a surrogate pair"},
      {"{\"a\": True}", "ds.json:1:7: error[RB005]: not valid JSON: `True` is no value; JSON has true, false and null"},
      {"{\"a\": truely}",
       "ds.json:1:7: error[RB005]: not valid JSON: `truely` is no value; text stands in double quotes"},
      {"{\"a\": cpu}", "ds.json:1:7: error[RB005]: not valid JSON: `cpu` is no value; text stands in double quotes"},
      {"{\"a\": 01}", "ds.json:1:7: error[RB005]: not valid JSON: a number that begins with 0"},
      {"{\"a\": -}", "ds.json:1:8: error[RB005]: not valid JSON: a number without a digit"},
      {"{\"a\": 1.}", "ds.json:1:9: error[RB005]: not valid JSON: a number without a digit"},
      {"{\"a\": 1e+}", "ds.json:1:10: error[RB005]: not valid JSON: a number without a digit"},
      {"{\"a\": 1} x", "ds.json:1:10: error[RB005]: not valid JSON: text after the end of the object"},
      {"\xFF\xFE{", "ds.json:1:1: error[RB002]: the file is UTF-16; save the file as UTF-8"},
      {"{\"a\": \"\xE2\x80\xAE\"}",
       "ds.json:1:8: error[RB026]: bidirectional control character U+202E is not accepted"},
      {"{\"a\": \x01}", "ds.json:1:7: error[RB003]: control character U+0001 is not accepted"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.text);
    CHECK(refused(row.text) == row.error);
  }
}

TEST_CASE("what hjson takes beyond JSON is refused with the reason", "[lint]") {
  for (const char* text : {"# why\n{}", "{} // why", "{/* why */}", "{'a': 1}", "{a: 1}", "{\"a\": 'x'}",
                           "{\"a\": [1,]}", "{\"a\": 1,}"}) {
    CAPTURE(text);
    CHECK_THAT(refused(text), Catch::Contains("json.load of Hugging Face and every other does not"));
  }
}

TEST_CASE("depth and size are capped", "[lint]") {
  const auto nested = [](int depth) {
    std::string text = "1";
    for (int i = 0; i < depth; ++i) text = "{\"a\":" + text + "}";
    return text;
  };
  CHECK(refused(nested(kMaxJsonDepth)) == "nothing was thrown");
  CHECK_THAT(refused(nested(kMaxJsonDepth + 1)), Catch::Contains("error[RB015]: nesting deeper than 32"));
  const std::string spaces(kMaxJsonBytes - 2, ' ');
  CHECK(refused("{}" + spaces) == "nothing was thrown");
  CHECK_THAT(refused("{}" + spaces + " "), Catch::Contains("error[RB016]: file is larger than 1048576 bytes"));
  CHECK(refused("\xEF\xBB\xBF{}") == "nothing was thrown");
}

TEST_CASE("B66: a number is a whole number only if it is one exactly", "[lint]") {
  const std::pair<const char*, std::optional<std::int64_t>> rows[] = {
      {"0", 0},
      {"-0", 0},
      {"7", 7},
      {"-7", -7},
      {"5e8", 500'000'000},
      {"5E+8", 500'000'000},
      {"1.5e1", 15},
      {"1.50", std::nullopt},
      {"10.0", 10},
      {"100e-2", 1},
      {"150e-2", std::nullopt},
      {"1e-1", std::nullopt},
      {"0e99", 0},
      {"9223372036854775807", 9'223'372'036'854'775'807},
      {"9223372036854775808", std::nullopt},
      {"9007199254740993", 9'007'199'254'740'993},
      {"500000000.5", std::nullopt},
      {"1e18", 1'000'000'000'000'000'000},
      {"1e19", std::nullopt},
      {"1e30", std::nullopt},
      {"1e2147483647", std::nullopt},
      {"1e99999999999", std::nullopt},
      {"1e-2147483648", std::nullopt},
  };
  for (const auto& [text, value] : rows) {
    CAPTURE(text);
    CHECK(exact_integer(text) == value);
  }
}

}  // namespace
}  // namespace reprobench
