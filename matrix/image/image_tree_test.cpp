#include "matrix/image/image_tree.hpp"

#include "ci/catch.hpp"

namespace reprobench {
namespace {

ImageEntry file(int layer = 0) {
  ImageEntry entry;
  entry.layer = layer;
  return entry;
}

ImageEntry folder(int layer = 0) {
  ImageEntry entry = file(layer);
  entry.kind = EntryKind::folder;
  return entry;
}

ImageEntry link_to(const char* target) {
  ImageEntry entry;
  entry.kind = EntryKind::link;
  entry.link = target;
  return entry;
}

TEST_CASE("a path has one form, and none that leads out has any", "[image]") {
  CHECK(image_path("./usr//lib/./x") == "usr/lib/x");
  CHECK(image_path("/etc/passwd") == "etc/passwd");
  CHECK(image_path("./") == "");
  CHECK(image_path("a..b/..c") == "a..b/..c");
  for (const char* out : {"..", "../x", "usr/../../x", "/..", "usr/.."}) {
    CAPTURE(out);
    CHECK_FALSE(image_path(out).has_value());
  }
}

TEST_CASE("links are followed inside the image, also absolute ones and those that climb above its root", "[image]") {
  ImageTree tree;
  CHECK(tree.put("usr/lib/libx.so.1", file()).empty());
  CHECK(tree.put("lib", link_to("usr/lib")).empty());
  CHECK(tree.put("opt/libx.so", link_to("/lib/libx.so.1")).empty());
  CHECK(tree.put("opt/climbs", link_to("../../../../lib/libx.so.1")).empty());
  CHECK(tree.resolved("opt/libx.so") == "usr/lib/libx.so.1");
  CHECK(tree.resolved("/opt/climbs") == "usr/lib/libx.so.1");
  CHECK(tree.resolved("lib/../lib/libx.so.1") == "usr/lib/libx.so.1");
  CHECK(tree.find("opt/none") == nullptr);
  CHECK(tree.put("opt/!x", file()).empty());  // sorts before "..", and is none
  CHECK(tree.resolved("opt/!x") == "opt/!x");
  CHECK(tree.put("opt/dangling", link_to("/etc/none")).empty());
  CHECK(tree.find("opt/dangling") == nullptr);
}

TEST_CASE("links that lead in a circle lead nowhere", "[image]") {
  ImageTree tree;
  CHECK(tree.put("a", link_to("b")).empty());
  CHECK(tree.put("b", link_to("a")).empty());
  CHECK(tree.find("a") == nullptr);
  CHECK_FALSE(tree.resolved("a/x").has_value());
  CHECK(tree.put("a/x", file()) == "its links lead in a circle");
  CHECK(tree.names_in("a").empty());
  CHECK(tree.put("self", link_to("self/self")).empty());
  CHECK(tree.find("self") == nullptr);
}

TEST_CASE("a file below a link lies where the link leads", "[image]") {
  ImageTree tree;
  CHECK(tree.put("usr/lib", folder()).empty());
  CHECK(tree.put("lib", link_to("usr/lib")).empty());
  CHECK(tree.put("lib/y", file()).empty());
  CHECK(tree.entries().count("usr/lib/y") == 1);
  CHECK(tree.entries().count("lib/y") == 0);
}

TEST_CASE("a file cannot lie below a file, and a file that replaces a folder takes what was in it", "[image]") {
  ImageTree tree;
  CHECK(tree.put("a/b/c", file()).empty());
  CHECK(tree.put("a/b/c/d", file()) == "`a/b/c` is no folder");
  CHECK(tree.put("a/bb", file()).empty());
  CHECK(tree.put("a/b", file(1)).empty());
  CHECK(tree.find("a/b/c") == nullptr);
  CHECK(tree.find("a/bb") != nullptr);
  CHECK(tree.put("", file()) == "it would replace the root");
  CHECK(tree.put("", folder()).empty());
}

TEST_CASE("a folder that comes again keeps what is in it", "[image]") {
  ImageTree tree;
  CHECK(tree.put("a/b", file()).empty());
  CHECK(tree.put("a", folder(1)).empty());
  CHECK(tree.find("a/b") != nullptr);
}

TEST_CASE("what older layers have is removed, what the same layer has is not", "[image]") {
  ImageTree tree;
  for (const char* path : {"d/old", "d/sub/older", "d-other", "e"}) CHECK(tree.put(path, file(0)).empty());
  CHECK(tree.put("d/new", file(1)).empty());
  CHECK(tree.remove_older("d", 1, true));
  CHECK(tree.find("d/old") == nullptr);
  CHECK(tree.find("d/sub/older") == nullptr);
  CHECK(tree.find("d/new") != nullptr);
  CHECK(tree.find("d-other") != nullptr);
  CHECK(tree.find("d") != nullptr);
  CHECK_FALSE(tree.remove_older("none", 1, false));
  CHECK(tree.remove_older("e", 1, false));
  CHECK(tree.find("e") == nullptr);
  CHECK_FALSE(tree.remove_older("d/new", 1, false));
  CHECK(tree.find("d/new") != nullptr);
}

TEST_CASE("names in a folder are its own, in order, through links too", "[image]") {
  ImageTree tree;
  for (const char* path : {"usr/lib/b", "usr/lib/a/deep", "usr/lib-x/c", "usr/lib/a-b"})
    CHECK(tree.put(path, file()).empty());
  CHECK(tree.put("lib", link_to("usr/lib")).empty());
  CHECK(tree.names_in("lib") == std::vector<std::string>{"a", "a-b", "b"});
  CHECK(tree.names_in("") == std::vector<std::string>{"lib", "usr"});
  CHECK(tree.names_in("usr/lib/b").empty());
}

}  // namespace
}  // namespace reprobench
