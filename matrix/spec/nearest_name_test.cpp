#include "matrix/spec/nearest_name.hpp"

#include <string>
#include <vector>

#include "ci/catch.hpp"

namespace reprobench {
namespace {

using Known = std::vector<std::string>;

TEST_CASE("a name is near by one edit, or by a third of its letters", "[spec]") {
  const Known known = {"device", "stack"};
  CHECK(nearest_name("device", known) == "device");
  CHECK(nearest_name("devic", known) == "device");     // inserted
  CHECK(nearest_name("devices", known) == "device");   // deleted
  CHECK(nearest_name("devise", known) == "device");    // replaced
  CHECK(nearest_name("deivce", known) == "device");    // neighbours swapped: one edit
  CHECK(nearest_name("dveicee", known) == "device");   // two edits of seven letters
  CHECK(nearest_name("dvicxe", known) == "device");    // two of six
  CHECK(nearest_name("xevixx", known).empty());        // three
  CHECK(nearest_name("stcx", known).empty());          // two of four
  CHECK(nearest_name("abXd", Known{"aYbd"}).empty());  // neighbours of which one alone is moved
  CHECK(nearest_name("ab", Known{"abc"}) == "abc");
  CHECK(nearest_name("ab", Known{"acd"}).empty());
}

TEST_CASE("of several near names the nearest is taken, of equally near ones the first", "[spec]") {
  CHECK(nearest_name("torch-2.9.0", Known{"torch-2.1.1", "torch-2.9.1", "torch-2.8.0"}) == "torch-2.9.1");
  CHECK(nearest_name("torch-2.9.0", Known{"torch-2.8.0", "torch-2.9.1"}) == "torch-2.8.0");
}

TEST_CASE("where none is near, three letters begin a name", "[spec]") {
  const Known known = {"torch-2.8.0-cu128", "torch-2.9.0-cu128", "device"};
  CHECK(nearest_name("tor", known) == "torch-2.8.0-cu128");
  CHECK(nearest_name("torch-2.9", known) == "torch-2.9.0-cu128");
  CHECK(nearest_name("to", known).empty());
  CHECK(nearest_name("orch", known).empty());
  CHECK(nearest_name("dev", Known{"deviant-name", "dex"}) == "dex");  // one edit goes before
}

TEST_CASE("names of more than 64 letters are compared with none", "[spec]") {
  const std::string longest(64, 'a');
  CHECK(nearest_name(longest, Known{longest}) == longest);
  CHECK(nearest_name(longest + "a", Known{longest}).empty());
  CHECK(nearest_name(longest, Known{longest + "a"}) == longest + "a");  // as its beginning
  CHECK(nearest_name("b" + std::string(63, 'a'), Known{longest + "a"}).empty());
}

TEST_CASE("an unknown name is told its nearest one, else what there is", "[spec]") {
  CHECK(unknown_name("stack", "torhc", Known{"torch"}) == "there is no stack `torhc`; did you mean `torch`?");
  CHECK(unknown_name("stack", "x9z", Known{"torch"}) == "there is no stack `x9z`; there is torch");
  CHECK(unknown_name("stack", "x9z", Known{"torch", "other"}) == "there is no stack `x9z`; there are torch, other");
  CHECK(unknown_name("stack", "x9z", Known{}) == "there is no stack `x9z`; there is none at all");
  Known many;
  for (int i = 0; i < 24; ++i) many.push_back("name" + std::to_string(i));
  CHECK(unknown_name("stack", "x9z", many).ends_with(", name23"));
  many.push_back("name24");
  CHECK(unknown_name("stack", "x9z", many).ends_with(", name23 ..."));
}

}  // namespace
}  // namespace reprobench
