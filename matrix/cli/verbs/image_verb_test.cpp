#include "ci/catch.hpp"
#include "matrix/base/sha256.hpp"
#include "matrix/cli/text/inspection_text.hpp"
#include "matrix/cli/verbs/run_verb_fixture.hpp"
#include "matrix/image/image_fixture.hpp"

namespace reprobench {
namespace {

using Catch::Contains;
using Catch::StartsWith;
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

TEST_CASE("an image that an engine keeps is saved, inspected by its name and removed again", "[cli]") {
  const SmallProject project;
  const std::string image = image_in(project);
  const auto [engine, words] = GENERATE(
      table<const char*, const char*>({{"podman", "save --quiet --format oci-archive --output FILE -- team/x:1"},
                                       {"docker", "save --output FILE -- team/x:1"}}));
  CAPTURE(engine);
  written_file(project / "bin" / engine,
               fmt::format("#!/bin/sh\nwords=; for word; do case $word in /*) file=$word; word=FILE; esac\n"
                           "words=\"$words $word\"; done\n"
                           "[ \"$words\" = ' {}' ] || {{ echo \"no such image:$words\" >&2; exit 125; }}\n"
                           "cp '{}' \"$file\"\n",
                           words, image),
               /*is_program=*/true);
  const TemporaryVariable path("PATH", (project / "bin").string() + ":/usr/bin:/bin");
  const std::string name = std::string(engine) + ":team/x:1";
  const json document = json::parse(inspect(project, {name, "--json"}).out);
  CHECK(document.at("image") == name);
  CHECK(document.at("findings").at(0).at("code") == "no-torch");
  for (const auto& entry : std::filesystem::directory_iterator(project.store())) {
    CHECK_FALSE(entry.path().filename().string().starts_with("inspect."));
  }
  const std::string other = std::string(engine) + ":team/y:1";
  CHECK_THROWS_WITH(inspect(project, {other}),
                    StartsWith(fmt::format("{}: {} cannot save it (exit code 125): no such image:", other, engine)));
}

// A registry's image as skopeo leaves it in a folder: every blob named by its digest alone.
std::string registry_folder(const SmallProject& project, std::string_view type_of_manifest) {
  test::ImagePlan plan;
  plan.layers = {{{"etc/shadow", "root::1:0:9:7:::\n"}}};
  const std::filesystem::path folder = project / "registry";
  std::filesystem::create_directories(folder);
  for (const auto& [name, content, kind, mode] : test::oci_image(plan).entries) {
    if (!name.starts_with("blobs/")) continue;
    written_file(folder / std::filesystem::path(name).filename(), content);
    const json document = json::parse(content, nullptr, false);
    if (!document.is_object() || !document.contains("layers")) continue;
    json manifest = document;
    manifest["mediaType"] = type_of_manifest;
    written_file(folder / "manifest.json", manifest.dump(3));
  }
  written_file(folder / "version", "Directory Transport Version: 1.1\n");
  return folder.string();
}

TEST_CASE("an image of a registry keeps the digest that it has there, and its tag is a claim", "[cli]") {
  const SmallProject project;
  const std::string type =
      GENERATE("application/vnd.oci.image.manifest.v1+json", "application/vnd.docker.distribution.manifest.v2+json");
  const std::string folder = registry_folder(project, type);
  written_file(project / "bin/skopeo",
               fmt::format("#!/bin/sh\n[ \"$1 $2 $3 $4\" = 'copy --quiet --preserve-digests "
                           "docker://127.0.0.1:5000/team/pytorch:2.9.0-cuda12.8' ] || exit 1\n"
                           "cp -r '{}' \"${{5#dir:}}\"\n",
                           folder),
               /*is_program=*/true);
  const TemporaryVariable path("PATH", (project / "bin").string() + ":/usr/bin:/bin");
  const std::string name = "docker://127.0.0.1:5000/team/pytorch:2.9.0-cuda12.8";
  const json document = json::parse(inspect(project, {name, "--json"}).out);
  CHECK(document.at("image") == name);
  CHECK(document.at("digest") == "sha256:" + sha256_of_text(test::read_file(folder + "/manifest.json")));
  CHECK(document.at("claims").at(0).at("claimed") == "2.9.0");
  CHECK(document.at("claims").at(1).at("claimed") == "12.8");
  CHECK_THROWS_WITH(inspect(project, {"docker://127.0.0.1:5000/team/other"}),
                    Contains("skopeo cannot save it (exit code 1)"));
}

TEST_CASE("a folder that skopeo did not complete, and one with another content than its digest, are no image",
          "[cli]") {
  const SmallProject project;
  const std::string folder = registry_folder(project, "application/vnd.oci.image.manifest.v1+json");
  written_file(project / "bin/skopeo", fmt::format("#!/bin/sh\ncp -r '{}' \"${{5#dir:}}\"\n", folder), true);
  const TemporaryVariable path("PATH", (project / "bin").string() + ":/usr/bin:/bin");
  std::string largest;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string blob = entry.path().string();
    if (largest.empty() || entry.file_size() > std::filesystem::file_size(largest)) largest = blob;
  }
  SECTION("no manifest") {
    std::filesystem::remove(folder + "/manifest.json");
    CHECK_THROWS_WITH(inspect(project, {"docker://host/x"}), Contains("host/x: manifest.json missing"));
  }
  SECTION("a layer is missing") {
    std::filesystem::remove(largest);
    CHECK_THROWS_WITH(inspect(project, {"docker://host/x"}), Contains("layer 1 of 1 is missing"));
  }
  SECTION("a layer is another") {
    written_file(largest, test::read_file(largest) + "x");
    CHECK_THROWS_WITH(inspect(project, {"docker://host/x"}), Contains("RB076"));
  }
}

TEST_CASE("what was loaded comes from a run of that image, as it was judged", "[cli][process]") {
  const RunPlace place;
  place.run();
  const std::string image = image_in(place);
  CHECK_THROWS_WITH(inspect(place, {image, "--run", place.run_folder().string()}),
                    Contains("is not of this image, sha256:"));
  written_file(place.run_folder() / "verdict.json", read_file(place.run_folder() / "verdict.json") + " ");
  CHECK_THROWS_WITH(inspect(place, {image, "--run", place.run_folder().string()}), Contains("changed since"));
}

TEST_CASE("a column says what was loaded, only where that is known", "[cli]") {
  Inspection inspection;
  inspection.components = {{"torch", "2.9.0+cu128", "version.py", ""}, {"cudnn", "9.10.2.21", "METADATA", ""}};
  inspection.claims = {{"cudnn", "9", "tag x/pytorch:2.9-cudnn9", "9.10.2.21", "METADATA", ClaimWord::agrees, "", ""}};
  const Terminal terminal;
  CHECK_THAT(inspection_text(inspection, terminal), Contains("  torch        2.9.0+cu128      version.py\n") &&
                                                        Contains("cudnn        9       9.10.2.21 agrees "));
  Fingerprint loaded;
  loaded.components = {{"torch", "", "2.9.0+cu128", ""}};
  add_loaded(loaded, inspection);
  CHECK_THAT(inspection_text(inspection, terminal),
             Contains("  torch        2.9.0+cu128      2.9.0+cu128      version.py\n") &&
                 Contains("component    claimed found     loaded") &&
                 Contains("cudnn        9       9.10.2.21 -      "));
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
