#include "matrix/provision/inside_root.hpp"

#include <signal.h>
#include <unistd.h>

#include "ci/catch.hpp"
#include "matrix/provision/provision_error.hpp"
#include "matrix/provision/provision_fixture.hpp"

namespace reprobench {
namespace {

namespace fs = std::filesystem;
using namespace test;

TEST_CASE("a root is read as its own programs see it: links are followed inside it", "[provision]") {
  const TemporaryFolder folder;
  write_file(folder.path / "root/real/file", "of the root");
  write_file(folder.path / "outside", "of the host");
  fs::create_symlink("/real/file", folder.path / "root/link");
  fs::create_symlink("../../../../outside", folder.path / "root/up");
  const auto told = [&](const fs::path& path) {
    return told_inside(folder.path / "root",
                       [&] { return fs::exists(path) ? "<" + read_file(path) + ">" : std::string("none"); });
  };
  CHECK(told("/link") == "<of the root>");
  CHECK(told("/up") == "none");
  CHECK(told(folder.path / "outside") == "none");
  CHECK(told(folder.path / "root/real/file") == "none");
  CHECK(read_file(folder.path / "outside") == "of the host");  // this process stays where it was
}

TEST_CASE("what is thrown inside is thrown outside, and an answer may be empty or large", "[provision]") {
  const TemporaryFolder folder;
  CHECK(told_inside(folder.path, [] { return std::string(); }).empty());
  CHECK(told_inside(folder.path, [] { return std::string(1 << 20, 'x'); }).size() == 1 << 20);
  CHECK(message_of<ProvisionError>([&] {
          told_inside(folder.path, []() -> std::string { throw std::runtime_error("no PyTorch"); });
        }) == "no PyTorch");
}

TEST_CASE("no answer is never taken for an empty one", "[provision]") {
  const TemporaryFolder folder;
  const std::string unread = folder.path.string() + " could not be read to its end";
  CHECK(message_of<ProvisionError>([&] { told_inside(folder.path, []() -> std::string { _exit(0); }); }) == unread);
  CHECK(message_of<ProvisionError>([&] {
          told_inside(folder.path, []() -> std::string {
            raise(SIGKILL);
            return "";
          });
        }) == unread);
  CHECK(message_of<ProvisionError>([] { told_inside("/nowhere", [] { return std::string(); }); }) ==
        "/nowhere is no folder");
}

}  // namespace
}  // namespace reprobench
