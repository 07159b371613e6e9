#include "matrix/contract/json_parse.hpp"

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

TEST_CASE("a number that no type holds is no malformed text", "[contract]") {
  const ParsedJson parsed = parse_json(R"({"a": 1e999})");
  CHECK(parsed.problem == "a number too large for any type");
  CHECK_FALSE(parsed.is_malformed);
}

}  // namespace
}  // namespace reprobench
