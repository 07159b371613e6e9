#include "matrix/record/safetensors.hpp"

#include <fstream>

#include <sys/stat.h>

#include "ci/catch.hpp"
#include "matrix/record/run_directory.hpp"
#include "matrix/record/sample_attempt.hpp"

namespace reprobench {
namespace {

struct StoredState {
  StoredState() {
    write_safetensors(
        file, {{"b", "F32", {2}, std::as_bytes(std::span(floats))}, {"a", "U8", {3}, std::as_bytes(std::span(bytes))}},
        {{"step", "3"}});
  }

  TemporaryFolder folder;
  std::filesystem::path file = folder.path / "state.safetensors";
  std::vector<float> floats = {1.5f, -0.0f};
  std::vector<std::uint8_t> bytes = {1, 2, 3};
};

TEST_CASE("a stored state is seen as named tensors", "[record]") {
  const StoredState scene;
  const SafetensorsFile state = SafetensorsFile::open(scene.file);
  CHECK(state.path() == scene.file);
  CHECK(state.metadata().at("step") == "3");
  REQUIRE(state.tensors().size() == 2);
  CHECK(state.tensors()[0].name == "a");
  const TensorView* b = find_tensor(state.tensors(), "b");
  REQUIRE(b != nullptr);
  CHECK(b->dtype == "F32");
  CHECK(b->shape == std::vector<std::int64_t>{2});
  CHECK(b->offset_bytes % 8 == 0);
  const auto expected = std::as_bytes(std::span(scene.floats));
  CHECK(std::equal(b->bytes.begin(), b->bytes.end(), expected.begin(), expected.end()));
  CHECK(find_tensor(state.tensors(), "aa") == nullptr);
  CHECK(find_tensor(state.tensors(), "c") == nullptr);
}

TEST_CASE("views outlive a move of their file", "[record]") {
  const StoredState scene;
  std::vector<SafetensorsFile> files;
  files.push_back(SafetensorsFile::open(scene.file));
  const std::byte* before = files[0].tensors()[0].bytes.data();
  files.push_back(SafetensorsFile::open(scene.file));
  CHECK(files[0].tensors()[0].bytes.data() == before);
  CHECK(std::to_integer<int>(*before) == 1);
}

TEST_CASE("a state behind a symbolic link is read", "[record]") {
  const StoredState scene;
  std::filesystem::create_symlink(scene.file, scene.folder.path / "link");
  CHECK(SafetensorsFile::open(scene.folder.path / "link").tensors().size() == 2);
}

TEST_CASE("a state that is cut while it is open is an error to who reads it", "[record]") {
  const StoredState scene;
  const SafetensorsFile state = SafetensorsFile::open(scene.file);
  const std::uint64_t size = std::filesystem::file_size(scene.file);
  std::vector<std::byte> bytes(3);
  state.read(size - 3, bytes);
  CHECK(std::to_integer<int>(bytes[2]) == 3);
  std::filesystem::resize_file(scene.file, size - 2);
  CHECK_THROWS_WITH(state.read(size - 3, bytes), "cannot read " + scene.file.string() +
                                                     ": was cut while it was read: it had " + std::to_string(size) +
                                                     " bytes, and has " + std::to_string(size - 2) + " or fewer");
}

TEST_CASE("what is no file of tensors is refused by name", "[record]") {
  const StoredState scene;
  CHECK_THROWS_AS(SafetensorsFile::open(scene.folder.path / "none"), StoreError);
  CHECK_THROWS_AS(SafetensorsFile::open(scene.folder.path), StoreError);
  REQUIRE(mkfifo((scene.folder.path / "fifo").c_str(), 0600) == 0);
  CHECK_THROWS_AS(SafetensorsFile::open(scene.folder.path / "fifo"), StoreError);
  const std::filesystem::path empty = scene.folder.path / "empty";
  std::ofstream{empty};
  CHECK_THROWS_WITH(SafetensorsFile::open(empty),
                    empty.string() + ": byte 0: the file is cut: it has 0 bytes, the header's length alone takes 8");
  std::filesystem::resize_file(scene.file, std::filesystem::file_size(scene.file) - 1);
  CHECK_THROWS_AS(SafetensorsFile::open(scene.file), ContractError);
}

}  // namespace
}  // namespace reprobench
