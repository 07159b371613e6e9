#include "ci/catch.hpp"
#include "matrix/cli/verbs/verb_fixture.hpp"
#include "matrix/image/image_fixture.hpp"

namespace reprobench {
namespace {

using Catch::Contains;
using nlohmann::json;

// An image with an account that needs no password, and no PyTorch.
std::string image_in(const SmallProject& project) {
  test::ImagePlan plan;
  plan.layers = {{{"etc/shadow", "root::1:0:9:7:::\n"}}};
  return written_file(project / "image.tar", test::tar_of(test::docker_archive(plan)));
}

Said inspect(const SmallProject& project, std::vector<std::string> words) {
  words.insert(words.begin(), "inspect");
  return said_by(&declare_image, project.store(), std::move(words));
}

TEST_CASE("an image is inspected for people, as JSON and for CI, and nothing is left in the store", "[cli]") {
  const SmallProject project;
  const std::string image = image_in(project);
  const Said text = inspect(project, {image, "--junit", (project / "junit.xml").string()});
  CHECK(text.code == ExitCode::failed);
  CHECK_THAT(text.out, Contains("fail[no-password]: /etc/shadow\n  `root` logs in without a password"));
  CHECK_THAT(text.out, Contains("refused: "));
  CHECK_THAT(test::read_file(project / "junit.xml"), Contains("<failure message=\"it holds no PyTorch"));
  const json document = json::parse(inspect(project, {image, "--json"}).out);
  CHECK(document.at("word") == "refused");
  CHECK(document.at("form") == "docker-archive");
  CHECK(document.at("findings").at(0).at("code") == "no-torch");
  for (const auto& entry : std::filesystem::directory_iterator(project.store())) {
    CHECK_FALSE(entry.path().filename().string().starts_with("inspect."));
  }
}

TEST_CASE(
    "an image of podman is saved, inspected by its name and removed again, and where it cannot be, podman's reason is "
    "said",
    "[cli]") {
  const SmallProject project;
  const std::string image = image_in(project);
  // podman save --quiet --format oci-archive --output FILE NAME
  written_file(project / "bin/podman",
               fmt::format("#!/bin/sh\n[ \"$1 $7\" = 'save team/x:1' ] || {{ echo no such image: $7 >&2; exit 125; }}\n"
                           "cp '{}' \"$6\"\n",
                           image),
               /*is_program=*/true);
  const TemporaryVariable path("PATH", (project / "bin").string() + ":/usr/bin:/bin");
  const json document = json::parse(inspect(project, {"podman:team/x:1", "--json"}).out);
  CHECK(document.at("image") == "podman:team/x:1");
  CHECK(document.at("findings").at(0).at("code") == "no-torch");
  for (const auto& entry : std::filesystem::directory_iterator(project.store())) {
    CHECK_FALSE(entry.path().filename().string().starts_with("inspect."));
  }
  CHECK_THROWS_WITH(inspect(project, {"podman:team/y:1"}),
                    Contains("podman:team/y:1: podman cannot save it (exit code 125): no such image: team/y:1"));
}

TEST_CASE("what cannot be inspected is a usage error with its reason", "[cli]") {
  const SmallProject project;
  CHECK_THROWS_WITH(inspect(project, {(project / "none.tar").string()}), Contains("there is no such file or folder"));
  CHECK_THROWS_WITH(inspect(project, {image_in(project), "--claims", (project / "none.yaml").string()}),
                    Contains("none.yaml"));
  CHECK_THROWS_WITH(inspect(project, {image_in(project), "--tag", "other:1"}), Contains("choose one with --tag"));
}

}  // namespace
}  // namespace reprobench
