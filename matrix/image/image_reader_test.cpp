// Archives and layouts as tools write them, and as attackers do.
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ci/catch.hpp"
#include "matrix/base/write_fully.hpp"
#include "matrix/image/image_fixture.hpp"

namespace reprobench {
namespace {

using Catch::Contains;
using namespace test;

ImagePlan two_layers() {
  ImagePlan plan;
  plan.layers = {{{"etc", "", TarKind::folder, 0755},
                  {"etc/passwd", "root:x:0:0::/root:/bin/sh\n"},
                  {"usr/a", "one"},
                  {"usr/b", "two"},
                  {"var/cache/x", "old"}},
                 {{"usr/.wh.a", ""}, {"usr/b", "three"}, {"var/cache/.wh..wh..opq", ""}, {"var/cache/y", "new"}}};
  plan.history = {
      {{"created_by", "COPY /root"}}, {{"created_by", "ENV X=1"}, {"empty_layer", true}}, {{"created_by", "RUN rm"}}};
  return plan;
}

std::string text_of(const Image& image, const char* path) {
  const ImageText text = text_in(image.tree, path, 1 << 20);
  return text.problem.empty() ? text.text : "(" + text.problem + ")";
}

void check_two_layers(const Image& image) {
  CHECK(image.layers.size() == 2);
  CHECK(text_of(image, "usr/a") == "(missing)");
  CHECK(text_of(image, "usr/b") == "three");
  CHECK(text_of(image, "var/cache/x") == "(missing)");
  CHECK(text_of(image, "var/cache/y") == "new");
  CHECK(image.tags == std::vector<std::string>{"example.org/pytorch:2.9.0-cuda12.8-cudnn9-runtime"});
  CHECK(image.config.user == "1000");
  CHECK(image.config.environment.at("PATH") == "/opt/venv/bin:/usr/bin");
  REQUIRE(image.buried.size() == 2);  // `var/cache/x` went with its folder
  CHECK(image.buried[0].path == "usr/a");
  CHECK(image.buried[1].path == "usr/b");
  CHECK(image.layers[0].created_by == "COPY /root");
  CHECK(image.layers[1].created_by == "RUN rm");
}

TEST_CASE("layers of an OCI archive are applied in order, with whiteouts, packed or not", "[image]") {
  ImageFolder folder;
  ImagePlan plan = two_layers();
  for (const bool is_compressed : {false, true}) {
    plan.is_compressed = is_compressed;
    const Image image = folder.read_archive(oci_image(plan).entries);
    CHECK(image.form == ImageForm::oci_archive);
    CHECK(image.digest.size() == 71);
    check_two_layers(image);
  }
}

TEST_CASE("an OCI layout and an archive of docker save say the same", "[image]") {
  ImageFolder layout;
  const OciImage oci = oci_image(two_layers());
  for (const TarEntry& entry : oci.entries) write_file(layout.path() / entry.name, entry.content);
  const Image from_layout = layout.read();
  CHECK(from_layout.form == ImageForm::oci_layout);
  check_two_layers(from_layout);
  ImageFolder archive;
  const Image from_docker = archive.read_archive(docker_archive(two_layers()));
  CHECK(from_docker.form == ImageForm::docker_archive);
  check_two_layers(from_docker);
  check_two_layers(archive.read_archive(docker_archive(two_layers()), {}, true));  // docker save | gzip
}

TEST_CASE("bytes that nobody asks for are not kept", "[image]") {
  ImageFolder folder;
  write_file(folder.path(), tar_of(docker_archive(two_layers())));
  const TemporaryFolder staging;
  const Image image =
      read_image(folder.path(), staging.path, [](std::string_view path, std::int64_t) { return path == "etc/passwd"; });
  CHECK(names_below(staging.path).size() == 1);
  CHECK(text_of(image, "usr/b") == "(was not kept)");
  CHECK(text_of(image, "etc/passwd") == "root:x:0:0::/root:/bin/sh\n");
}

TEST_CASE("a hard link has the bytes of what it links to, also of an older layer", "[image]") {
  ImageFolder folder;
  ImagePlan plan;
  plan.layers = {{{"a", "bytes"}}, {{"b", "a", TarKind::hard_link}, {"c", "/b", TarKind::hard_link}}};
  const Image image = folder.read_archive(docker_archive(plan));
  CHECK(text_of(image, "b") == "bytes");
  CHECK(text_of(image, "c") == "bytes");
}

TEST_CASE("a hard link to a symbolic link is that link, wherever it leads", "[image]") {
  ImageFolder folder;
  ImagePlan plan;
  plan.layers = {{{"a/x", "of a"},
                  {"a/near", "x", TarKind::link},
                  {"a/gone", "/proc/none", TarKind::link},
                  {"a/up", "..", TarKind::link},
                  {"b/x", "of b"},
                  {"b/near", "a/near", TarKind::hard_link},
                  {"b/gone", "a/gone", TarKind::hard_link},
                  {"b/up", "a/up", TarKind::hard_link}}};
  const Image image = folder.read_archive(docker_archive(plan));
  CHECK(text_of(image, "b/near") == "of b");
  CHECK(image.tree.find_unfollowed("b/gone")->link == "/proc/none");
  CHECK(text_of(image, "b/up/a/x") == "of a");
}

TEST_CASE("entries that lead out of the image, or contradict each other, are refused", "[image]") {
  struct Row {
    std::vector<TarEntry> layer;
    const char* said;
  };
  const Row rows[] = {
      {{{"../x", "y"}}, "error[RB073]: layer 1: entry \"../x\" leaves the image"},
      {{{"usr/../../x", "y"}}, "error[RB073]: layer 1: entry \"usr/../../x\" leaves the image"},
      {{{"a", "../../etc/passwd", TarKind::hard_link}}, "error[RB073]: layer 1: entry \"a\" is a link that leaves"},
      {{{"a", "none", TarKind::hard_link}}, "error[RB074]: layer 1: entry \"a\" links to none, which is not there"},
      {{{"d/", "", TarKind::folder}, {"a", "d", TarKind::hard_link}},
       "error[RB074]: layer 1: entry \"a\" links to a folder"},
      {{{"a", "x"}, {"a/b", "y"}}, "error[RB074]: layer 1: entry \"a/b\": `a` is no folder"},
      {{{"a", "b", TarKind::link}, {"b", "a", TarKind::link}, {"a/x", "y"}},
       "error[RB074]: layer 1: entry \"a/x\": its links lead in a circle"},
      {{{".wh..", ""}}, "error[RB073]: layer 1: entry \".wh..\" removes nothing"},
  };
  for (const Row& row : rows) {
    ImageFolder folder;
    ImagePlan plan;
    plan.layers = {row.layer};
    CAPTURE(row.said);
    CHECK_THAT(folder.refusal(docker_archive(plan)), Contains(row.said));
  }
}

TEST_CASE("a link to the host and a file written through it stay in the image", "[image]") {
  const TemporaryFolder host;
  ImageFolder folder;
  ImagePlan plan;
  plan.layers = {{{"a", host.path.string(), TarKind::link}, {"a/planted", "bytes"}}};
  const Image image = folder.read_archive(docker_archive(plan));
  CHECK(names_below(host.path).empty());
  CHECK(text_of(image, "a/planted") == "bytes");
}

TEST_CASE("an image that lies about its content is refused", "[image]") {
  const auto refused = [](const std::function<void(std::vector<TarEntry>&)>& change) {
    ImageFolder folder;
    std::vector<TarEntry> entries = oci_image(two_layers()).entries;
    change(entries);
    return folder.refusal(entries);
  };
  // Entries: oci-layout, index.json, two layers, configuration, manifest.
  CHECK_THAT(refused([](auto& entries) { entries[5].content += " "; }), Contains("error[RB076]: blobs/sha256/"));
  CHECK_THAT(refused([](auto& entries) { entries[4].content += " "; }), Contains("error[RB076]: blobs/sha256/"));
  CHECK_THAT(refused([](auto& entries) {
               entries[2].content = tar_of({{"other", "x"}});
             }),
             Contains("error[RB076]: layer 1: its digest is sha256:"));
  CHECK_THAT(refused([](auto& entries) { entries[2].content += std::string(512, 'x'); }),
             Contains("error[RB076]: layer 1: its digest is sha256:"));
  CHECK_THAT(refused([](auto& entries) { entries.erase(entries.begin() + 3); }),
             Contains("error[RB075]: layer 2 of 2 is missing"));
  CHECK_THAT(refused([](auto& entries) { entries.push_back(entries[2]); }),
             Contains("error[RB074]: two entries are named"));
  CHECK_THAT(refused([](auto& entries) { entries[1].content = "[]"; }),
             Contains("error[RB075]: index.json is no document"));
  CHECK_THAT(refused([](auto& entries) { entries[1].content = R"({"manifests": []})"; }),
             Contains("error[RB018]: it holds 0 images"));
  CHECK_THAT(refused([](auto& entries) {
               entries[1].content = R"({"manifests": [{"digest": "sha256:../../../../etc/passwd"}]})";
             }),
             Contains("error[RB075]: `sha256:../../../../etc/passwd` is no SHA-256 digest"));
  CHECK_THAT(refused([](auto& entries) { entries[1].content = R"({"manifests": [{"digest": 7}]})"; }),
             Contains("error[RB075]: a manifest's entry has no `digest`"));
}

TEST_CASE("the digest of an unpacked layer is held against the configuration", "[image]") {
  ImageFolder folder;
  std::vector<TarEntry> entries = docker_archive(two_layers());
  entries[1].content = tar_of({{"usr/b", "other bytes"}});
  CHECK_THAT(folder.refusal(entries), Contains("error[RB076]: layer 2: the digest of its tar is sha256:"));
  std::vector<TarEntry> fewer = docker_archive(two_layers());
  fewer.back().content = R"([{"Config": "config.json", "RepoTags": [], "Layers": ["layer0/layer.tar"]}])";
  CHECK_THAT(folder.refusal(fewer), Contains("error[RB076]: it has 1 layers, its configuration names 2"));
}

TEST_CASE("a configuration that does not tell the digest of each layer is bound to none of them", "[image]") {
  const auto refused = [](const char* id) {
    ImageFolder folder;
    std::vector<TarEntry> entries = docker_archive(two_layers());
    for (TarEntry& entry : entries) {
      if (entry.name != "config.json") continue;
      nlohmann::json config = nlohmann::json::parse(entry.content);
      config["rootfs"]["diff_ids"][1] = nlohmann::json::parse(id);
      entry.content = config.dump();
    }
    return folder.refusal(entries);
  };
  for (const char* id : {"null", "\"\"", "7", "\"sha256:\"", "\"md5:00\""}) {
    CAPTURE(id);
    CHECK_THAT(refused(id), Contains("error[RB075]: `") && Contains("` is no SHA-256 digest"));
  }
}

TEST_CASE("images for other machines, without layers that are tars, and no images at all are refused", "[image]") {
  ImageFolder folder;
  ImagePlan arm = two_layers();
  arm.architecture = "arm64";
  CHECK_THAT(folder.refusal(docker_archive(arm)), Contains("error[RB075]: it is for `arm64`, this host runs amd64"));
  CHECK_THAT(folder.refusal({{"x", "y"}}), Contains("it has neither index.json (OCI) nor manifest.json"));
  write_file(folder.path(), "no tar at all");
  CHECK_THAT(message_of<SpecError>([&] { folder.read(); }), Contains("error[RB075]: it cannot be read as an image"));
  std::filesystem::remove(folder.path());
  CHECK_THAT(message_of<SpecError>([&] { folder.read(); }), Contains("error[RB027]: there is no such file or folder"));
  write_file(folder.path() / "notes.txt", "x");
  CHECK_THAT(message_of<SpecError>([&] { folder.read(); }), Contains("it is neither an image nor a root"));
}

TEST_CASE("of an index over machines the image for this one is read", "[image]") {
  ImageFolder folder;
  std::vector<TarEntry> entries = oci_image(two_layers()).entries;
  const auto index_of = [&](const nlohmann::json& manifests) {
    const std::string inner = nlohmann::json{{"schemaVersion", 2}, {"manifests", manifests}}.dump();
    std::vector<TarEntry> changed = entries;
    changed.push_back({"blobs/sha256/" + digest_of(inner).substr(7), inner});
    changed[1].content =
        nlohmann::json{
            {"manifests", {{{"mediaType", "application/vnd.oci.image.index.v1+json"}, {"digest", digest_of(inner)}}}}}
            .dump();
    return changed;
  };
  const auto entry = [&](const char* architecture, const std::string& digest) {
    return nlohmann::json{{"digest", digest}, {"platform", {{"os", "linux"}, {"architecture", architecture}}}};
  };
  const std::string wanted = digest_of(entries[5].content);
  const std::string other = "sha256:" + std::string(64, '0');
  const Image image =
      folder.read_archive(index_of({entry("arm64", other), entry("unknown", other), entry("amd64", wanted)}));
  CHECK(image.digest == wanted);
  CHECK_THAT(folder.refusal(index_of(nlohmann::json::array({entry("arm64", other)}))),
             Contains("error[RB075]: it is not for linux/amd64; it is for linux/arm64"));
}

TEST_CASE("of several images in one archive one must be chosen", "[image]") {
  ImageFolder folder;
  std::vector<TarEntry> entries = docker_archive(two_layers());
  nlohmann::json manifest = nlohmann::json::parse(entries.back().content);
  manifest.push_back(manifest[0]);
  manifest[1]["RepoTags"] = {"other:1"};
  entries.back().content = manifest.dump();
  CHECK_THAT(folder.refusal(entries),
             Contains("error[RB018]: it holds 2 images: example.org/pytorch:2.9.0-cuda12.8-cudnn9-runtime, other:1; "
                      "choose one with --tag"));
  CHECK(folder.read({}, "other:1").tags == std::vector<std::string>{"other:1"});
  CHECK_THAT(message_of<SpecError>([&] { folder.read({}, "none:1"); }), Contains("0 of the tag none:1"));
}

TEST_CASE("an image that is too large is refused before the disk is full", "[image]") {
  ImageFolder folder;
  const auto said = [&](const std::function<void(ImageLimits&)>& change) {
    ImageLimits limits;
    change(limits);
    return folder.refusal(docker_archive(two_layers()), limits);
  };
  CHECK_THAT(said([](ImageLimits& limits) { limits.most_entries = 8; }),
             Contains("error[RB077]: layer 2: it has more than 8 entries"));
  CHECK(said([](ImageLimits& limits) { limits.most_entries = 9; }) == "nothing was thrown");
  CHECK_THAT(said([](ImageLimits& limits) { limits.most_unpacked_bytes = 30; }),
             Contains("error[RB077]: layer 1: it unpacks to more than 30 bytes"));
  constexpr std::int64_t kAll = 26 + 3 + 3 + 3 + 0 + 5 + 0 + 3;  // bytes of the files of both layers
  CHECK(said([](ImageLimits& limits) { limits.most_unpacked_bytes = kAll; }) == "nothing was thrown");
  CHECK_THAT(said([](ImageLimits& limits) { limits.most_unpacked_bytes = kAll - 1; }),
             Contains("error[RB077]: layer 2: it unpacks"));
  CHECK_THAT(said([](ImageLimits& limits) { limits.most_kept_bytes = 30; }),
             Contains("error[RB077]: layer 1: no room for the"));
  CHECK_THAT(said([](ImageLimits& limits) { limits.free_bytes = std::int64_t{1} << 60; }),
             Contains("error[RB077]: layer 1: no room for the"));
  CHECK_THAT(said([](ImageLimits& limits) { limits.most_layers = 1; }),
             Contains("error[RB077]: it has more than 1 layers"));
}

TEST_CASE("a cut archive is damaged, wherever it is cut", "[image]") {
  ImageFolder folder;
  const std::string whole = tar_of(docker_archive(two_layers()));
  int refused = 0;
  for (std::size_t length = 512; length + 4096 < whole.size(); length += 512) {
    write_file(folder.path(), whole.substr(0, length));
    refused += message_of<SpecError>([&] { folder.read(); }) == "nothing was thrown" ? 0 : 1;
  }
  CHECK(refused == static_cast<int>((whole.size() - 4096 - 1) / 512));
}

TEST_CASE("an unpacked root is read as it lies, without following a link", "[image]") {
  ImageFolder folder;
  write_file(folder.path() / "etc/passwd", "root:x:0:0::/root:/bin/sh\n");
  std::filesystem::create_symlink("/etc/shadow", folder.path() / "etc/shadow");
  std::filesystem::create_symlink("usr/lib", folder.path() / "lib");
  write_file(folder.path() / "usr/lib/x", "y");
  const Image image = folder.read();
  CHECK(image.form == ImageForm::root);
  CHECK(image.layers.empty());
  CHECK(text_of(image, "etc/passwd") == "root:x:0:0::/root:/bin/sh\n");
  CHECK(text_of(image, "etc/shadow") == "(missing)");  // it leads to itself inside the root
  CHECK(text_of(image, "lib/x") == "y");
  CHECK(text_of(image, "usr") == "(is not a regular file)");
  const TemporaryFolder staging;
  const Image with_slash = read_image(folder.path() / "", staging.path, {});
  CHECK(with_slash.tree.entries().size() == image.tree.entries().size());
  CHECK(text_of(with_slash, "lib/x") == "y");
  // "current", as people name the newest of several: not an empty root, which every other would be equal to.
  const std::filesystem::path current = staging.path / "current";
  std::filesystem::create_directory_symlink(folder.path(), current);
  CHECK(read_image(current, staging.path, {}).tree.entries().size() == image.tree.entries().size());
  CHECK(text_in(image.tree, "lib/x", 0).problem == "is larger than 0 bytes");
  write_file(folder.path() / "manifest.json", "{}");  // of whatever lies in this root
  write_file(folder.path() / "index.json", "{}");
  CHECK(folder.read().form == ImageForm::root);
}

// What a process finds that mounts a file system at `path`; nothing where it may not.
std::optional<std::vector<std::string>> unreadable_with_mount(const ImageFolder& folder, const std::string& path) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const pid_t child = fork();
  if (child == 0) {
    const int alone = geteuid() == 0 ? CLONE_NEWNS : CLONE_NEWNS | CLONE_NEWUSER;
    const std::string place = folder.path() / path;
    std::string told = "no mount";
    if (unshare(alone) == 0 && mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
        mount("tmpfs", place.c_str(), "tmpfs", 0, "size=64k") == 0) {
      told = fmt::format("{}", fmt::join(read_image(folder.path(), folder.path().parent_path(), {}).unreadable, "\n"));
    }
    _exit(write_fully(ends[1], told) == 0 ? 0 : 1);
  }
  close(ends[1]);
  char buffer[4096];
  const ssize_t count = read(ends[0], buffer, sizeof buffer);
  close(ends[0]);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  const std::string told(buffer, count < 0 ? 0 : static_cast<std::size_t>(count));
  if (told == "no mount") return std::nullopt;
  return told.empty() ? std::vector<std::string>{} : std::vector<std::string>{told};
}

TEST_CASE("what is mounted in a root is not passed over, where a program inside would see it", "[image]") {
  ImageFolder folder;
  write_file(folder.path() / "usr/lib/x", "y");
  write_file(folder.path() / "dev/null", "");
  const auto in_lib = unreadable_with_mount(folder, "usr/lib");
  if (!in_lib) return;  // neither root nor a user namespace
  CHECK(*in_lib ==
        std::vector<std::string>{"usr/lib: another file system is mounted there; unmount it, or copy it in"});
  CHECK(unreadable_with_mount(folder, "dev")->empty());
}

}  // namespace
}  // namespace reprobench
