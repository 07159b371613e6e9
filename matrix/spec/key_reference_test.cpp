#include "matrix/spec/key_reference.hpp"

#include <fstream>
#include <iterator>

#include "ci/catch.hpp"
#include "matrix/spec/spec_fixture.hpp"

namespace reprobench {
namespace {

TEST_CASE("keys.md is what the readers' tables say", "[spec]") {
  std::ifstream file(REPROBENCH_SOURCE_ROOT "/matrix/spec/keys.md", std::ios::binary);
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  CHECK(page == key_reference("keys"));  // else: reprobench schema keys >matrix/spec/keys.md
}

TEST_CASE("every key has a meaning, and every page its keys", "[spec]") {
  for (const std::string& name : key_reference_names()) CHECK_FALSE(key_reference(name).empty());
  CHECK(key_reference("verdict").empty());
  CHECK(key_reference_names().size() == 9);
  CHECK(key_reference_names().back() == "keys");
  for (const auto& tables : {matrix_keys(), suite_keys(), stack_keys(), threshold_keys(), limit_keys(), fault_keys(),
                             call_list_keys(), policy_keys()}) {
    for (const KeyTable& table : tables) {
      CHECK_FALSE(table.keys.empty());
      for (const KeyInfo& key : table.keys) {
        CAPTURE(table.title, key.key);
        CHECK(key.meaning.ends_with("."));
      }
    }
  }
}

TEST_CASE("a key that is called required is missed", "[spec]") {
  const std::vector<KeyTable> tables = matrix_keys();
  for (const KeyInfo& key : tables.front().keys) {
    if (!key.is_required) continue;
    CHECK_THAT(matrix_error("a_key: 1\n"), Catch::Contains("required key `" + key.key + "` is missing"));
  }
}

}  // namespace
}  // namespace reprobench
