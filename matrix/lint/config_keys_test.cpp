#include "matrix/lint/config_keys.hpp"

#include <fstream>
#include <iterator>
#include <set>

#include "ci/catch.hpp"
#include "matrix/spec/files/json_node.hpp"

namespace reprobench {
namespace {

const std::string kPage = REPROBENCH_SOURCE_ROOT "/matrix/lint/keys.md";
constexpr const char* kPageHead =
    "# Keys of a DeepSpeed configuration\n\n"
    "Written from `config_keys.cpp`; a test holds them equal. *Judged*: a rule uses the value; of the others name, "
    "type and bounds are\n"
    "held. *Open*: other keys of the section are handed on to what it configures, and not judged.\n\n";

TEST_CASE("keys.md is what the table of keys says", "[lint]") {
  std::ifstream file(kPage, std::ios::binary);
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  CHECK((page == kPageHead + key_page()));  // else: lint_test "keys.md written from the table"
}

TEST_CASE("keys.md written from the table", "[.write]") {
  std::ofstream(kPage, std::ios::binary) << kPageHead << key_page();
}

TEST_CASE("every key stands once, below a section that is known, with a default of its type", "[lint]") {
  std::set<std::string_view> seen;
  for (const ConfigKey& key : config_keys()) {
    CAPTURE(key.path);
    CHECK(seen.insert(key.path).second);
    const std::size_t dot = key.path.rfind('.');
    if (dot != std::string_view::npos) {
      const ConfigKey* section = find_config_key(key.path.substr(0, dot));
      REQUIRE(section != nullptr);
      CHECK(section->type == ValueType::section);
    }
    const std::string_view value = key.default_value;
    if (value.empty()) continue;
    if (key.type == ValueType::flag) CHECK((value == "true" || value == "false"));
    if (key.type == ValueType::integer) CHECK(exact_integer(value).has_value());
    if (key.type == ValueType::text) CHECK((value.front() == '"' && value.back() == '"'));
  }
}

}  // namespace
}  // namespace reprobench
