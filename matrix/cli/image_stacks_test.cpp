#include "matrix/cli/image_stacks.hpp"

#include "ci/catch.hpp"
#include "matrix/cli/verbs/verb_fixture.hpp"
#include "matrix/image/image_fixture.hpp"
#include "matrix/provision/environment_fixture.hpp"

namespace reprobench {
namespace {

namespace fs = std::filesystem;
using Catch::Contains;

// An archive of an environment, as one layer.
std::string archive_of(const fs::path& root, const fs::path& path) {
  test::ImagePlan plan;
  plan.layers.resize(1);
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    if (!entry.is_regular_file()) continue;
    plan.layers[0].push_back({entry.path().lexically_relative(root).string(), test::read_file(entry.path())});
  }
  plan.container["Env"] = {"LD_LIBRARY_PATH=/usr/local/cuda/lib:relative:/extra"};
  return written_file(path, test::tar_of(test::docker_archive(plan)));
}

TEST_CASE("an archive is unpacked once, and its root is held against it ever after", "[cli]") {
  const SmallProject small;
  const Project project(small.store());
  const test::FakeEnvironment environment;
  const std::string archive = archive_of(environment.root(), small / "image.tar");
  ImageStacks images(project);
  const InspectedImage image = images.inspect({"candidate", archive, ""}, {});
  CHECK(image.digest == image.inspection.digest);
  CHECK(image.library_path == std::vector<std::string>{"/usr/local/cuda/lib", "/extra"});
  const StackSpec spec = images.make_stack(image).spec;
  CHECK(fs::path(spec.root).parent_path().parent_path() == fs::canonical(images_folder(small.store())));
  CHECK(spec.image == archive);
  CHECK(spec.image_digest == image.digest);
  CHECK(fs::exists(spec.root + "/lib/python3.12/site-packages/torch/lib/libtorch_cpu.so"));
  CHECK(project.stacks().at("candidate").root == spec.root);  // it is a stack of the store from now on
  CHECK(images.make_stack(images.inspect({"reference", archive, ""}, {})).spec.root == spec.root);

  CHECK_FALSE(images.is_changed(image));
  const fs::path source = fs::path(spec.root) / "lib/python3.12/site-packages/torch/version.py";
  std::string text = test::read_file(source);
  text.back() ^= 1;
  fs::remove(source);
  written_file(source, text);
  CHECK(images.is_changed(image));
  CHECK_THAT(message_of<ProvisionError>([&] { images.make_stack(image); }),
             Contains(spec.root + " is no longer what was unpacked of " + archive + "; remove "));
}

TEST_CASE("a root that is given is used where it lies, and nothing is written to it", "[cli]") {
  const SmallProject small;
  const Project project(small.store());
  const test::FakeEnvironment environment;
  ImageStacks images(project);
  const auto before = test::names_below(environment.root());
  const InspectedImage image = images.inspect({"candidate", environment.root().string(), ""}, {});
  CHECK(image.digest.starts_with("root-sha256:"));
  CHECK(images.make_stack(image).spec.root == fs::canonical(environment.root()).string());
  CHECK(test::names_below(environment.root()) == before);
}

TEST_CASE("a root that others write to while a run goes on is noticed, whatever its libraries call themselves",
          "[cli]") {
  const SmallProject small;
  const Project project(small.store());
  const test::FakeEnvironment environment;
  ImageStacks images(project);
  const fs::path link = small / "current";
  fs::create_directory_symlink(environment.root(), link);
  const InspectedImage image = images.inspect({"candidate", link.string(), ""}, {});
  fs::remove(link);  // "current" is the next one by now
  CHECK(images.make_stack(image).spec.root == fs::canonical(environment.root()).string());
  CHECK_FALSE(images.is_changed(image));
  const fs::path library = environment.root() / "lib/python3.12/site-packages/torch/lib/libc10.so";
  std::string bytes = test::read_file(library);
  bytes.back() ^= 1;  // its build id stays
  written_file(library, bytes);
  CHECK(images.is_changed(image));
  fs::remove_all(environment.root());
  CHECK(images.is_changed(image));
}

TEST_CASE("a verdict on two images is refused for a matrix of other stacks or another reference", "[cli]") {
  const auto planned = [](const std::string& id, const std::string& stack, const std::optional<std::string>& reference,
                          bool required) {
    PlannedCell cell;
    cell.cell = sample_cell(id, stack);
    cell.cell.reference_cell_id = reference;
    cell.cell.required = required;
    return cell;
  };
  const auto refusal = [](const std::vector<PlannedCell>& cells) {
    Plan plan;
    plan.matrix_file = "m.yaml";
    plan.images = {{"candidate", {}}, {"reference", {}}};
    plan.cells = cells;
    return message_of<UsageError>([&] { require_pair_of_images(plan); });
  };
  const PlannedCell reference = planned("r", "reference", std::nullopt, false);
  Plan whole;
  whole.images = {{"candidate", {}}, {"reference", {}}};
  whole.cells = {planned("c", "candidate", "r", true), reference};
  CHECK_NOTHROW(require_pair_of_images(whole));
  CHECK(refusal({planned("c", "candidate", "r", false), reference}) == "m.yaml: no cell of `candidate` is required");
  CHECK(refusal({reference}) == "m.yaml: no cell of `candidate` is required");
  CHECK_THAT(refusal({planned("c", "candidate", "r", true), reference, planned("x", "torch-2.9.0", "r", false)}),
             Contains("cells of torch-2.9.0, and two images are"));
  CHECK_THAT(refusal({planned("c", "candidate", std::nullopt, true), reference}),
             Contains("is not held against `reference`"));
  CHECK_THAT(refusal({planned("c", "candidate", "d", true), planned("d", "candidate", "r", true), reference}),
             Contains("is not held against `reference`"));
}

}  // namespace
}  // namespace reprobench
