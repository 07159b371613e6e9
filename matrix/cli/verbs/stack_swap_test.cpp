// `stack swap`, and bisects of components, as far as they go without real libraries; ci/adopt_test.sh has these.
#include "ci/catch.hpp"
#include "matrix/cli/declared_hybrids.hpp"
#include "matrix/cli/verbs/verb_fixture.hpp"

namespace reprobench {
namespace {

using Catch::Contains;
using Texts = std::vector<std::string>;

constexpr const char* kOfSystem =
    "schema: 1\nname: debian\nsummary: s\nsource: system\ncomponents: {torch: \"1.0\"}\ncxx11_abi: 1\n"
    "cxx_standard: 17\nsystem: {package: libno, package_version: \"1.0\", include_dirs: [/no], library_dirs: [/no]}\n";

// `new` and `old` as if they were installed, with their packages' lists of files.
struct SwapPlace : SmallProject {
  SwapPlace() {
    add_stack("debian", kOfSystem);
    for (const char* name : {"new", "old"}) {
      const auto info = install(name, small_capability()).folder / "site/torch-1.0.dist-info";
      written_file(info / "METADATA", "Name: torch\nVersion: 1.0\n");
      written_file(info / "RECORD",
                   "torch/lib/libtorch_cpu.so,,\ntorch-1.0.dist-info/RECORD,,\ntorch-1.0.dist-info/METADATA,,\n");
    }
  }
  Said stack(Texts words) const { return said_by(&declare_stack, store(), std::move(words)); }
  Said swap(Texts words) const {
    words.insert(words.begin(), "swap");
    return stack(std::move(words));
  }
  Said bisect(Texts words) const {
    words.insert(words.begin(), {"--good", "old", "--bad", "new", "--call", "relu(f32[4])"});
    return said_by(&declare_bisect, store(), std::move(words));
  }
  Said only(Texts words) const {
    words.insert(words.begin(), {"new", "old", "--only"});
    return said_by(&declare_compare, store(), std::move(words));
  }
  std::filesystem::path hybrids() const { return hybrids_folder(project().stacks_home()); }
};

TEST_CASE("what cannot be exchanged is refused with what can", "[cli]") {
  const SwapPlace place;
  CHECK_THROWS_WITH(place.swap({"new", "--with", "torch"}), "--with takes COMPONENT=STACK, got torch");
  CHECK_THROWS_WITH(place.swap({"new", "--with", "torch=old", "--with", "torch=old"}), "--with names torch twice");
  CHECK_THROWS_WITH(place.swap({"nwe", "--with", "torch=old"}), Contains("did you mean `new`?"));
  CHECK_THROWS_WITH(place.swap({"new", "--with", "torch=odl"}), Contains("did you mean `old`?"));
  CHECK_THROWS_WITH(place.swap({"debian", "--with", "torch=old"}), Contains("the knob `blas`"));
  CHECK_THROWS_WITH(place.swap({"new", "--with", "cudnn=old"}), Contains("has no library of `cudnn`; it has torch"));
  place.add_stack("absent", small_stack("absent", "2.7.0"));
  CHECK_THROWS_WITH(place.swap({"new", "--with", "torch=absent"}), Contains("reprobench stack install absent"));
  CHECK_THROWS_WITH(place.swap({"new", "--with", "torch=old", "--name", "old"}), Contains("choose another --name"));
  // The text in their place is no library.
  CHECK_THROWS_WITH(place.swap({"new", "--with", "torch=old"}),
                    Contains("its libraries may not meet") && Contains("cannot be read as a library"));
  CHECK_FALSE(std::filesystem::exists(place.hybrids()));  // nothing was written
}

TEST_CASE("a hybrid is listed with what it is of, is no stack any more once it is removed, and lies in the store",
          "[cli]") {
  const SwapPlace place;
  const std::string name = "new-with-torch-of-old";
  written_file(
      place.hybrids() / (name + ".yaml"),
      fmt::format("schema: 1\nname: {}\nsummary: new with torch of old\nsource: hybrid\ncomponents: {{torch: "
                  "\"2.8.0\"}}\ncxx11_abi: 1\ncxx_standard: 17\nhybrid: {{base: new-0, parts: {{torch: old-0}}}}\n",
                  name));
  const Said listed = place.stack({"list"});
  CHECK_THAT(listed.out,
             Contains("new-with-torch-of-old    not installed    torch 2.8.0\n                         = new "
                      "with torch of old\n"));
  CHECK(place.stack({"remove", name}).code == ExitCode::passed);
  CHECK_FALSE(Contains(name).match(place.stack({"list"}).out));
  CHECK_FALSE(std::filesystem::exists(place.hybrids() / (name + ".yaml")));
}

TEST_CASE("a bisect of components takes stacks of wheels that are installed, and nothing that stands for them",
          "[cli][bisect]") {
  const SwapPlace place;
  CHECK_THROWS_WITH(place.bisect({"--components", "--axis", "old,new"}), "--components has no axis");
  CHECK_THROWS_WITH(place.bisect({"--components", "--worker", "old=/bin/true"}), Contains("a --worker brings none"));
  CHECK_THROWS_WITH(said_by(&declare_bisect, place.store(),
                            {"--good", "debian", "--bad", "new", "--call", "relu(f32[4])", "--components"}),
                    Contains("debian is not a stack of wheels"));
  CHECK_THROWS_WITH(
      said_by(&declare_bisect, place.store(), {"--good", "./root", "--bad", "new", "--call", "relu(f32[4])"}),
      Contains("an image is held against another image"));
  CHECK_THROWS_WITH(said_by(&declare_bisect, place.store(),
                            {"--good", "./a", "--bad", "./b", "--call", "relu(f32[4])", "--axis", "a,b"}),
                    "images have no --axis and no --worker");
}

TEST_CASE("a file that lies here is an image, unless a stack is called so", "[cli][bisect]") {
  const SwapPlace place;
  const std::filesystem::path before = std::filesystem::current_path();
  const TemporaryFolder here;
  std::filesystem::current_path(here.path);
  written_file(here.path / "old.tar", "");
  written_file(here.path / "new", "");
  const auto asked = [&](const char* good) {
    return said_by(&declare_bisect, place.store(), {"--good", good, "--bad", "new", "--call", "relu(f32[4])"});
  };
  CHECK_THROWS_WITH(asked("old.tar"), Contains("an image is held against another image"));
  CHECK_THROWS_WITH(asked("none.tar"), Contains("there is no stack `none.tar`"));
  std::filesystem::current_path(before);
}

TEST_CASE("what compare cannot ask of one component is refused before anything runs", "[cli]") {
  const SwapPlace place;
  CHECK_THROWS_WITH(place.only({"cudnn"}), "there is no component `cudnn`; there is torch; they differ in torch");
  CHECK_THROWS_WITH(place.only({"torhc"}), Contains("did you mean `torch`?"));
  CHECK_THROWS_WITH(said_by(&declare_compare, place.store(), {"new", "new", "--only", "torch"}),
                    "torch is the same in new and new, and explains nothing; they differ in none that both have");
  CHECK_THROWS_WITH(said_by(&declare_compare, place.store(), {"new", "debian", "--only", "torch"}),
                    Contains("debian is not a stack of wheels"));
  CHECK_THROWS_WITH(said_by(&declare_compare, place.store(), {"new", "--only", "torch"}),
                    Contains("--only needs two stacks"));
  CHECK_THROWS_WITH(place.only({"torch", "--explain"}), "--only excludes --explain");
  CHECK_THROWS_WITH(place.only({"torch", "--worker", "new=x"}), "--only excludes --worker");
  // The rule, because the text in their place is no library.
  CHECK_THROWS_WITH(place.only({"torch"}), Contains("its libraries may not meet") && Contains("cannot be read"));
  CHECK_FALSE(std::filesystem::exists(place.hybrids()));
  CHECK(place.project().stacks().size() == 3);
}

TEST_CASE("a component that only one of both has is not exchanged by itself", "[cli]") {
  const SwapPlace place;
  const auto site = place.project().stack_store().find(place.project().stacks().at("new")).folder / "site";
  written_file(site / "nvidia/lib/libmore.so.1", "more");
  written_file(site / "nvidia_more-1.0.dist-info/METADATA", "Name: nvidia-more-cu12\nVersion: 1.0\n");
  written_file(site / "nvidia_more-1.0.dist-info/RECORD",
               "nvidia/lib/libmore.so.1,,\nnvidia_more-1.0.dist-info/RECORD,,\nnvidia_more-1.0.dist-info/METADATA,,\n");
  CHECK_THROWS_WITH(place.only({"more"}), "only new has more, which goes where torch goes; they differ in torch");
}

TEST_CASE("between neighbours the components are asked about, unless an axis is given", "[cli][process][bisect]") {
  const SwapPlace place;
  const Said said = place.bisect({"--json"});
  const nlohmann::json document = nlohmann::json::parse(said.out);
  CHECK(document.at("schema") == "reprobench/component_bisect");
  CHECK(document.at("components").at(0).at("name") == "torch");
  // Both workers are the fake one, and give equal bits.
  CHECK(document.at("answers").at(0).at("word") == "equal");
  CHECK(said.code == ExitCode::undecided);
  // An axis that is given is searched as one.
  const nlohmann::json axis = nlohmann::json::parse(place.bisect({"--json", "--axis", "old,new"}).out);
  CHECK(axis.at("schema") == "reprobench/bisect");
}

}  // namespace
}  // namespace reprobench
