#include "matrix/exec/enclosure/spine.hpp"

#include <map>

#include "ci/catch.hpp"

namespace reprobench {
namespace {

using Catch::Contains;

const std::map<std::string, std::vector<SpineEntry>> kImage = {
    {"",
     {{"bin", SpineKind::link, "usr/bin"},
      {"dev", SpineKind::folder, ""},
      {"opt", SpineKind::folder, ""},
      {"proc", SpineKind::folder, ""},
      {"README", SpineKind::file, ""},
      {"socket", SpineKind::other, ""},
      {"tmp", SpineKind::folder, ""},
      {"usr", SpineKind::folder, ""}}},
    {"/usr", {{"lib", SpineKind::folder, ""}, {"share", SpineKind::folder, ""}}},
    {"/usr/share", {{"doc", SpineKind::folder, ""}}},
    {"/tmp", {{"left-behind", SpineKind::file, ""}}}};

Spine planned(std::vector<HostPath> of_host) {
  return plan_spine(
      [](const std::string& folder) {
        const auto found = kImage.find(folder);
        return found == kImage.end() ? std::vector<SpineEntry>() : found->second;
      },
      std::move(of_host));
}

// A line a step: what is done, where, and with what.
std::string text_of(const Spine& spine) {
  constexpr const char* kWords[] = {"new", "folder", "link", "root", "host"};
  std::string text;
  for (const SpineStep& step : spine.steps) {
    text += std::string(kWords[static_cast<int>(step.act)]) + " " + step.path;
    if (!step.link.empty()) text += " -> " + step.link;
    if (!step.is_folder) text += " file";
    if (step.is_writable) text += " rw";
    if (step.has_mount_point) text += " there";
    if (!step.of_host.empty()) text += " from " + step.of_host;
    text += "\n";
  }
  return text + spine.problem;
}

const std::string kNew =
    "folder /dev\nnew /dev\nfolder /proc\nnew /proc\nfolder /sys\nnew /sys\nfolder /tmp\nnew /tmp\n";

TEST_CASE("each entry of an image is bound, links stay links, and its own dev, proc and tmp stay outside", "[exec]") {
  CHECK(text_of(planned({})) == kNew +
                                    "root /README file\n"
                                    "link /bin -> usr/bin\n"
                                    "root /opt\n"
                                    "root /usr\n");
}

TEST_CASE("a folder of the image that a path of the host falls into is opened one level down", "[exec]") {
  CHECK(text_of(planned({{"/usr/share/reprobench/data", true, false}})) == kNew +
                                                                               "root /README file\n"
                                                                               "link /bin -> usr/bin\n"
                                                                               "root /opt\n"
                                                                               "folder /usr\n"
                                                                               "root /usr/lib\n"
                                                                               "folder /usr/share\n"
                                                                               "root /usr/share/doc\n"
                                                                               "folder /usr/share/reprobench\n"
                                                                               "host /usr/share/reprobench/data\n");
}

TEST_CASE("paths that the image lacks are made, and a path takes the place of the image's own", "[exec]") {
  CHECK(text_of(planned({{"/srv/run", true, true}, {"/opt", true, false}})) == kNew +
                                                                                   "root /README file\n"
                                                                                   "link /bin -> usr/bin\n"
                                                                                   "host /opt\n"
                                                                                   "folder /srv\n"
                                                                                   "host /srv/run rw\n"
                                                                                   "root /usr\n");
}

TEST_CASE("below the new /tmp lies what is bound there and nothing of the image", "[exec]") {
  const std::string text = text_of(planned({{"/tmp/w/a", true, true}, {"/tmp/w/tool", false, false}}));
  CHECK_THAT(text, Contains("new /tmp\n"));
  CHECK_THAT(text, Contains("folder /tmp/w\nhost /tmp/w/a rw\nhost /tmp/w/tool file\n"));
  CHECK_THAT(text, !Contains("left-behind"));
}

TEST_CASE("a writable folder within a read-only one is bound over it, and the same access twice is once", "[exec]") {
  const std::string text = text_of(planned({{"/run/a/attempt", true, true},
                                            {"/run/a", true, false},
                                            {"/run/a/inputs", true, false},
                                            {"/run/a/attempt/fixed", false, false}}));
  CHECK_THAT(text, Contains("host /run/a\n"));
  CHECK_THAT(text, Contains("host /run/a/attempt rw there\nhost /run/a/attempt/fixed file there\n"));
  CHECK_THAT(text, !Contains("inputs"));
  CHECK(text.find("host /run/a\n") < text.find("host /run/a/attempt rw"));
}

TEST_CASE("of one path asked for twice the writable one counts", "[exec]") {
  const std::string text = text_of(planned({{"/run/a", true, false}, {"/run/a", true, true}}));
  CHECK_THAT(text, Contains("host /run/a rw\n") && !Contains("host /run/a\n"));
}

TEST_CASE("a path that would go through a link or a file of the image is refused, with both named", "[exec]") {
  const Spine spine = planned({{"/bin/tool", false, false}});
  CHECK(spine.problem ==
        "/bin of the image is no folder, and /bin/tool lies below it on this host: choose another place for it");
  CHECK(spine.steps.empty());
  CHECK_THAT(planned({{"/README/x", false, false}}).problem, Contains("/README of the image is no folder"));
}

TEST_CASE("paths of the host are refused in places that are new inside, and where they are not plain", "[exec]") {
  CHECK_THAT(planned({{"/proc/self", true, false}}).problem, Contains("lies in /proc, which is new inside"));
  CHECK_THAT(planned({{"/dev", true, false}}).problem, Contains("lies in /dev"));
  CHECK_THAT(planned({{"/sys/devices", true, false}}).problem, Contains("lies in /sys"));
  CHECK_THAT(planned({{"/tmp", true, true}}).problem, Contains("lies in /tmp"));
  for (const char* path : {"", "/", "x", "/a/", "/a/../b", "/a//b", "/a/.", "/a/.."}) {
    INFO(path);
    CHECK_THAT(planned({{path, true, false}}).problem, Contains("is no plain absolute path"));
  }
  CHECK_THAT(planned({{std::string(kHostPlace) + "/etc", true, false}}).problem, Contains("the host itself"));
}

TEST_CASE("libraries of the driver have a place of their own, to which the image adds nothing", "[exec]") {
  const std::string place = kDriverPlace;
  const HostPath driver{place + "/libcuda.so.1", false, false, "/usr/lib/libcuda.so.1"};
  const std::string bound = "folder " + place + "\nhost " + place + "/libcuda.so.1 file from /usr/lib/libcuda.so.1\n";
  CHECK_THAT(text_of(planned({driver})), Contains(bound) && Contains("root /usr\n"));
  const auto with_own = [&](const std::string& folder) {
    if (folder.empty()) return std::vector<SpineEntry>{{place.substr(1), SpineKind::folder, ""}};
    return std::vector<SpineEntry>{{"libcudart.so.12", SpineKind::file, ""}};
  };
  CHECK(text_of(plan_spine(with_own, {driver})) == kNew + bound);
  CHECK(text_of(plan_spine(with_own, {})) == kNew);
}

TEST_CASE("a name that only begins as another's does not lie below it", "[exec]") {
  const std::string text = text_of(planned({{"/user/data", true, false}}));
  CHECK_THAT(text, Contains("root /usr\n") && Contains("folder /user\nhost /user/data\n"));
}

}  // namespace
}  // namespace reprobench
