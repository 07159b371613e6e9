#include "matrix/provision/stack_manifest.hpp"

#include "ci/catch.hpp"
#include "matrix/contract/version.hpp"
#include "matrix/provision/provision_error.hpp"
#include "matrix/provision/provision_fixture.hpp"

using namespace reprobench;
using namespace reprobench::test;

namespace {

StackManifest sample_manifest() {
  StackManifest manifest;
  manifest.name = "torch-2.9.0-cu128";
  manifest.digest = "0123456789ab";
  manifest.with_gpu = true;
  manifest.wheels = {"a.whl", "b.whl"};
  manifest.files = {{"torch/lib/libc10.so", 5, "aa"}, {"nvidia/lib/x.so", 7, "bb"}};
  manifest.size_bytes = 12'345;
  return manifest;
}

}  // namespace

TEST_CASE("what was installed is read as it was written", "[provision]") {
  const TemporaryFolder folder;
  CHECK_FALSE(has_manifest(folder.path));
  write_manifest(folder.path, sample_manifest());
  CHECK(has_manifest(folder.path));
  CHECK(names_below(folder.path) == std::vector<std::string>{"stack.json"});
  const StackManifest manifest = read_manifest(folder.path);
  CHECK(manifest.name == "torch-2.9.0-cu128");
  CHECK(manifest.digest == "0123456789ab");
  CHECK(manifest.with_gpu);
  CHECK(manifest.wheels == std::vector<std::string>{"a.whl", "b.whl"});
  CHECK(manifest.size_bytes == 12'345);
  REQUIRE(manifest.files.size() == 2);
  CHECK(manifest.files[1].path == "nvidia/lib/x.so");
  CHECK(manifest.files[1].size_bytes == 7);
  CHECK(manifest.files[1].sha256 == "bb");
}

TEST_CASE("a damaged account of an installation is refused, whatever it lacks", "[provision]") {
  const TemporaryFolder folder;
  const auto path = folder.path / "stack.json";
  CHECK(message_of<ContractError>([&] { read_manifest(folder.path); }) == path.string() + ": missing");
  write_manifest(folder.path, sample_manifest());
  const nlohmann::json whole = nlohmann::json::parse(read_file(path));
  for (const auto& [key, value] : whole.items()) {
    CAPTURE(key);
    nlohmann::json lacking = whole;
    lacking.erase(key);
    write_file(path, lacking.dump());
    CHECK_THROWS_AS(read_manifest(folder.path), ContractError);
  }
  for (const char* key : {"path", "size_bytes", "sha256"}) {
    CAPTURE(key);
    nlohmann::json lacking = whole;
    lacking["files"][1].erase(key);
    write_file(path, lacking.dump());
    CHECK_THROWS_AS(read_manifest(folder.path), ContractError);
  }
}

TEST_CASE("an account that cannot be written names its folder", "[provision]") {
  const TemporaryFolder folder;
  const auto nowhere = folder.path / "nowhere";
  CHECK(message_of<ProvisionError>([&] { write_manifest(nowhere, sample_manifest()); }) ==
        nowhere.string() + ": cannot be written: No such file or directory");
  std::filesystem::create_directories(folder.path / "stack.json" / "in the way");
  CHECK_THAT(message_of<ProvisionError>([&] { write_manifest(folder.path, sample_manifest()); }),
             Catch::Matchers::StartsWith((folder.path / "stack.json").string() + ": cannot be written: "));
}
