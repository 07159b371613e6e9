#include "matrix/image/unpacked_image.hpp"

#include "ci/catch.hpp"
#include "matrix/image/image_fixture.hpp"
#include "matrix/image/image_root.hpp"
#include "matrix/provision/provision_error.hpp"

namespace reprobench {
namespace {

namespace fs = std::filesystem;
using Catch::StartsWith;
using namespace test;

ImageEntry file_of(const std::string& content) {
  ImageEntry made;
  made.content = content;
  return made;
}

// What a test unpacks, on the disk of the bytes that were kept.
struct Unpacked {
  explicit Unpacked(const std::vector<std::vector<TarEntry>>& layers) {
    ImagePlan plan;
    plan.layers = layers;
    image = folder.read_archive(oci_image(plan).entries);
    root = folder.path().parent_path() / "root";
    fs::create_directory(root);
    write_root(image, root);
  }
  unsigned mode(const char* path) const {
    struct stat status {};
    REQUIRE(lstat((root / path).c_str(), &status) == 0);
    return status.st_mode & 07777U;
  }

  ImageFolder folder;
  Image image;
  fs::path root;
};

TEST_CASE("an unpacked image has the files of its last layer, its links and its folders", "[image]") {
  const Unpacked made(
      {{{"etc/passwd", "root\n"}, {"usr/a", "one"}, {"usr/b", "two"}, {"lib", "usr/lib", TarKind::link}},
       {{"usr/.wh.a", ""}, {"usr/b", "three"}, {"usr/lib/c", "four"}, {"up", "/../etc", TarKind::link}}});
  CHECK(read_file(made.root / "etc/passwd") == "root\n");
  CHECK_FALSE(fs::exists(made.root / "usr/a"));
  CHECK(read_file(made.root / "usr/b") == "three");
  CHECK(read_file(made.root / "lib/c") == "four");
  CHECK(fs::read_symlink(made.root / "lib") == "usr/lib");
  CHECK(fs::read_symlink(made.root / "up") == "/../etc");
}

TEST_CASE("no device, setuid or setgid bit and no unreadable file is unpacked", "[image]") {
  const Unpacked made({{{"usr/bin/su", "x", TarKind::file, 06755},
                        {"usr/bin/t", "x", TarKind::file, 01750},
                        {"etc/shadow", "x", TarKind::file, 0000},
                        {"dev/sda", "", TarKind::device, 0666},
                        {"var/closed", "", TarKind::folder, 0000},
                        {"var/closed/x", "x"}}});
  CHECK(made.mode("usr/bin/su") == 0755);
  CHECK(made.mode("usr/bin/t") == 0750);
  CHECK(made.mode("etc/shadow") == 0400);
  CHECK(made.mode("var/closed") == 0755);
  CHECK(read_file(made.root / "var/closed/x") == "x");
  CHECK_FALSE(fs::exists(fs::symlink_status(made.root / "dev/sda")));
}

TEST_CASE("hard links are names of one file, and what was kept can go", "[image]") {
  Unpacked made({{{"usr/a", "one"}, {"usr/b", "usr/a", TarKind::hard_link}}});
  struct stat status {};
  fs::remove_all(made.folder.path().parent_path() / "staging");
  REQUIRE(stat((made.root / "usr/b").c_str(), &status) == 0);
  CHECK(status.st_nlink == 2);
  CHECK(read_file(made.root / "usr/b") == "one");
}

TEST_CASE("a link of a lower layer leads no file of a higher one out of the folder", "[image]") {
  const TemporaryFolder outside;
  const Unpacked made({{{"etc", "", TarKind::folder, 0755}, {"out", outside.path.string(), TarKind::link}},
                       {{"out/planted", "x"}, {"up", "../../..", TarKind::link}},
                       {{"up/planted-too", "x"}}});
  CHECK(names_below(outside.path).empty());
  CHECK_FALSE(fs::exists(made.root.parent_path() / "planted-too"));
  CHECK(read_file(made.root / "planted-too") == "x");  // above the root is the root, as in a container
  CHECK(read_file(made.root / outside.path.relative_path() / "planted") == "x");
}

TEST_CASE("bytes that were not kept are no empty file", "[image]") {
  Unpacked made(std::vector<std::vector<TarEntry>>{{{"usr/a", "one"}}});
  Image image;
  image.name = "x";
  image.tree.put("etc/a", file_of(""));
  const fs::path folder = made.root / "other";
  fs::create_directory(folder);
  CHECK(message_of<SpecError>([&] { write_root(image, folder); }) ==
        "x: error[RB075]: the bytes of etc/a were not kept");
}

TEST_CASE("the digest of a root is that of its copy, and of no other content", "[image]") {
  const auto digest = [](const std::function<void(const fs::path&)>& change) {
    const TemporaryFolder folder;
    write_file(folder.path / "etc/a", "one");
    fs::create_symlink("etc", folder.path / "b");
    change(folder.path);
    Image image;
    read_root(image, folder.path, {});
    return digest_of_root(image);
  };
  const std::string same = digest([](const fs::path&) {});
  CHECK_THAT(same, StartsWith("root-sha256:"));
  CHECK(same.size() == std::string("root-sha256:").size() + 64);
  CHECK(digest([](const fs::path&) {}) == same);
  const auto differs = [&](const std::function<void(const fs::path&)>& change) { CHECK(digest(change) != same); };
  differs([](const fs::path& root) { write_file(root / "etc/a", "two"); });  // of the same size
  differs([](const fs::path& root) { write_file(root / "etc/c", ""); });
  differs([](const fs::path& root) { fs::permissions(root / "etc/a", fs::perms::owner_all); });
  differs([](const fs::path& root) { fs::rename(root / "etc/a", root / "etc/b"); });
  differs([](const fs::path& root) { fs::remove(root / "b"), fs::create_symlink("etc/", root / "b"); });
  differs([](const fs::path& root) { fs::remove(root / "b"), fs::create_directory(root / "b"); });
}

TEST_CASE("a root of which something cannot be read has no digest", "[image]") {
  Image image;
  image.name = "x";
  image.unreadable = {"etc/closed: Permission denied"};
  CHECK_THAT(message_of<ProvisionError>([&] { digest_of_root(image); }),
             StartsWith("x: etc/closed: Permission denied; what cannot be read"));
  image.unreadable.clear();
  image.tree.put("etc/a", file_of("/nowhere/a"));
  CHECK_THROWS_AS(digest_of_root(image), ProvisionError);
}

}  // namespace
}  // namespace reprobench
