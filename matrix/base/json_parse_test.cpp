#include "matrix/base/json_parse.hpp"

#include "ci/catch.hpp"

namespace reprobench {
namespace {

TEST_CASE("a key that stands twice in one object is named, however deep it lies", "[contract]") {
  CHECK(parse_json(R"({"a": 1, "b": 2, "a": 1})").doubled_key == "a");
  CHECK(parse_json(R"([{"a": 1}, {"x": {"b": 2, "b": 3}}])").problem == "`b` stands twice in one object");
}

TEST_CASE("equal keys of different objects are no problem", "[contract]") {
  const ParsedJson parsed = parse_json(R"({"a": {"a": 1}, "b": [{"a": 2}, {"a": 3}]})");
  CHECK(parsed.problem.empty());
  CHECK(parsed.value.at("b").at(1).at("a") == 3);
}

TEST_CASE("text that is not JSON says where", "[contract]") {
  const ParsedJson parsed = parse_json(R"({"a": 1,})");
  CHECK(parsed.problem == "not JSON");
  CHECK(parsed.error_byte == 8);
  CHECK(parse_json("").is_malformed);
}

TEST_CASE("the value is the one that the library reads", "[contract]") {
  for (const char* text :
       {R"({"a": [1, -2, 2.5, true, false, null, "x", [], {}, [[3], {"b": {"c": [{}, 4]}, "d": 5}]], "e": "f"})",
        "[18446744073709551615, -9223372036854775808, 18446744073709551616, 1e-9]", "7", "\"\\u00e9\"", " null "}) {
    CAPTURE(text);
    const ParsedJson parsed = parse_json(text);
    CHECK(parsed.problem.empty());
    CHECK(parsed.value == nlohmann::json::parse(text));
    CHECK(parsed.value.dump() == nlohmann::json::parse(text).dump());
  }
}

TEST_CASE("the members of an object are passed on one by one, and the object stays empty", "[contract]") {
  std::vector<std::string> members;
  const auto accept = [&](const std::string& key, const nlohmann::json& value) {
    members.push_back(key + "=" + value.dump());
  };
  const ParsedJson parsed =
      parse_json_members(R"({"a": 1, "b": {"x": [1, {"y": 2}]}, "c": [], "d": null, "a": {}})", accept);
  CHECK(members == std::vector<std::string>{"a=1", R"(b={"x":[1,{"y":2}]})", "c=[]", "d=null", "a={}"});
  CHECK(parsed.problem.empty());
  CHECK(parsed.value == nlohmann::json::object());
}

TEST_CASE("what is no object passes nothing on, and a problem within a member is found", "[contract]") {
  const auto said = [](const char* text) {
    std::size_t members = 0;
    const ParsedJson parsed = parse_json_members(text, [&](const std::string&, const nlohmann::json&) { ++members; });
    return parsed.problem + " " + parsed.value.dump() + " " + std::to_string(members);
  };
  CHECK(said("[{\"a\": 1}]") == R"( [{"a":1}] 0)");
  CHECK(said("7") == " 7 0");
  CHECK(said(R"({"a": {"b": 1, "b": 2}, "c": 3})") == "`b` stands twice in one object {} 2");
  CHECK(said(R"({"a": 1, "c":)") == "not JSON null 1");
  CHECK(said((R"({"a": )" + std::string(256, '[')).c_str()) == "nested deeper than 256 null 0");
}

TEST_CASE("#41: a member that would stand in memory after all is refused, however many small ones there are",
          "[contract]") {
  const auto list_of = [](std::size_t values) {
    std::string text = "[0";
    for (std::size_t i = 1; i < values; ++i) text += ",0";
    return text + "]";
  };
  const auto problem = [](const std::string& text) {
    return parse_json_members(text, [](const std::string&, const nlohmann::json&) {}).problem;
  };
  const std::string most = list_of(kMostMemberValues - 1);  // the list itself is a value too
  CHECK(problem(R"({"a": )" + most + R"(, "b": )" + most + "}").empty());
  const std::string said = "a member of more than 100000 values";
  CHECK(problem(R"({"a": 1, "b": )" + list_of(kMostMemberValues) + "}") == said);
  CHECK(problem(list_of(kMostMemberValues)) == said);
}

TEST_CASE("the first key that stands twice is named, the last value counts, and text that breaks off later is no JSON",
          "[contract]") {
  const ParsedJson parsed = parse_json(R"({"a": {"x": 1}, "b": 1, "a": {"y": 2}, "b": 3})");
  CHECK(parsed.doubled_key == "a");
  CHECK_FALSE(parsed.is_malformed);
  CHECK(parsed.value == nlohmann::json::parse(R"({"a": {"y": 2}, "b": 3})"));
  const ParsedJson broken = parse_json(R"({"a": 1, "a": 2, )");
  CHECK(broken.problem == "not JSON");
  CHECK(broken.doubled_key.empty());
  CHECK(broken.value.is_null());
}

TEST_CASE("#41: text that is nested deeper than any document is refused before a value of it is made", "[contract]") {
  const auto nested = [](std::size_t depth, const char* opening, const char* closing) {
    std::string text;
    for (std::size_t i = 0; i < depth; ++i) text += opening;
    text += "1";
    for (std::size_t i = 0; i < depth; ++i) text += closing;
    return text;
  };
  for (const auto& [opening, closing] : {std::pair("[", "]"), std::pair("{\"a\":", "}")}) {
    CHECK(parse_json(nested(kMostJsonDepth, opening, closing)).problem.empty());
    const ParsedJson deeper = parse_json(nested(kMostJsonDepth + 1, opening, closing));
    CHECK(deeper.problem == "nested deeper than 256");
    CHECK(deeper.value.is_null());
    CHECK(parse_json(nested(1'000'000, opening, "")).problem == "nested deeper than 256");
    CHECK(json_or_discarded(nested(1'000'000, opening, closing)).is_discarded());
  }
  CHECK(json_or_discarded("[1]") == nlohmann::json::array({1}));
}

TEST_CASE("a number that no type holds is no malformed text", "[contract]") {
  const ParsedJson parsed = parse_json(R"({"a": 1e999})");
  CHECK(parsed.problem == "a number too large for any type");
  CHECK_FALSE(parsed.is_malformed);
}

}  // namespace
}  // namespace reprobench
