#include <fcntl.h>
#include <sys/file.h>

#include "ci/catch.hpp"
#include "matrix/base/file_descriptor.hpp"
#include "matrix/cli/verbs/verb_fixture.hpp"
#include "matrix/image/image_fixture.hpp"
#include "matrix/provision/environment_fixture.hpp"
#include "matrix/record/run_directory.hpp"

namespace reprobench {
namespace {

namespace fs = std::filesystem;
using Catch::Contains;

std::string archive_in(const SmallProject& project, const std::vector<test::TarEntry>& layer) {
  test::ImagePlan plan;
  plan.layers = {layer};
  return written_file(project / "image.tar", test::tar_of(test::docker_archive(plan)));
}

Said qualify(const SmallProject& project, const std::string& candidate, const std::string& reference) {
  return said_by(&declare_qualify, project.store(), {"--candidate", candidate, "--reference", reference});
}

TEST_CASE("a candidate that is not what it says fails at once, before its reference is read", "[cli]") {
  const SmallProject project;
  const Said said = qualify(project, archive_in(project, {{"etc/shadow", "root::1:0:9:7:::\n"}}), "/nowhere");
  CHECK(said.code == ExitCode::failed);
  CHECK_THAT(said.err, Contains("fail[no-password]") && Contains("fail[no-torch]"));
  CHECK_THAT(said.err, Contains("candidate sha256:") && Contains(" NOT qualified: the image is not what it says"));
  CHECK(said.out.empty());
  CHECK_FALSE(fs::exists(project.store() / "runs"));
  CHECK_FALSE(fs::exists(project.store() / "images/staging"));
}

TEST_CASE("what is no image, or cannot be had, is said with its name", "[cli]") {
  const SmallProject project;
  CHECK_THROWS_WITH(qualify(project, "/nowhere", "/nowhere"), Contains("/nowhere") && Contains("no such file"));
  const TemporaryVariable path("PATH", "/nowhere");
  CHECK_THROWS_WITH(qualify(project, "podman:team/x", "/nowhere"), "podman:team/x: podman is not on PATH");
}

TEST_CASE("a matrix that is none of two images is refused before a worker is built", "[cli]") {
  const SmallProject project;
  const test::FakeEnvironment candidate;
  const test::FakeEnvironment reference;
  const TemporaryVariable no_compiler("CXX", "/no/compiler");
  const auto asked = [&](const std::string& matrix) {
    return said_by(
        &declare_qualify, project.store(),
        {"--candidate", candidate.root().string(), "--reference", reference.root().string(), "--matrix", matrix});
  };
  CHECK_THROWS_WITH(asked("/nowhere.yaml"), Contains("/nowhere.yaml") && Contains("cannot be read"));
  CHECK_THROWS_WITH(asked(project.matrix()), Contains("two images are the stacks `candidate` and `reference` alone"));
}

TEST_CASE("two of them do not make stacks of one store at a time", "[cli]") {
  const SmallProject project;
  fs::create_directories(project.store() / "images");
  const fs::path lock = project.store() / "images/lock";
  const FileDescriptor other(open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  REQUIRE(flock(other.get(), LOCK_EX) == 0);
  CHECK_THROWS_WITH(qualify(project, "/nowhere", "/nowhere"), Contains("held by another `reprobench qualify`"));
  CHECK_THROWS_AS(qualify(project, "/nowhere", "/nowhere"), StoreError);
}

}  // namespace
}  // namespace reprobench
