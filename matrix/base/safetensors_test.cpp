#include "matrix/base/safetensors.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <system_error>

#include "ci/catch.hpp"
#include "ci/temporary.hpp"
#include "ci/thrown.hpp"

namespace reprobench {
namespace {

const std::filesystem::path kGolden = std::filesystem::path(REPROBENCH_SOURCE_ROOT) / "matrix/contract/testdata";

struct WriterScene {
  TemporaryFolder place;
  std::filesystem::path folder = place.path;
  std::filesystem::path file = folder / "state.safetensors";
};

std::string content_of(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

SafetensorsHeader parse_text(const std::string& file) {
  return parse_safetensors("w.safetensors", std::as_bytes(std::span(file)));
}

std::string file_with(const std::string& header, std::size_t data_bytes) {
  std::string file;
  for (int i = 0; i < 8; ++i) file.push_back(static_cast<char>(header.size() >> (8 * i) & 255));
  return file + header + std::string(data_bytes, '\1');
}

std::string problem_of(const std::string& file) {
  return message_of<ContractError>([&] { parse_text(file); });
}

// A tensor of every type, an empty one and a scalar; element i of tensor t has the bytes t, t + 1, ...
struct SampleTensors {
  SampleTensors() {
    std::uint8_t first = 1;
    for (const SafetensorsDtype& dtype : safetensors_dtypes())
      add(dtype, "type." + std::string(dtype.torch_name), {3}, first++);
    add(*safetensors_dtype("F32"), "scalar", {}, 100);
    add(*safetensors_dtype("F64"), "empty", {0, 5}, 0);
    add(*safetensors_dtype("BF16"), "größe \"1\"", {2, 2}, 200);
  }
  void add(const SafetensorsDtype& dtype, const std::string& name, std::vector<std::int64_t> shape,
           std::uint8_t first) {
    std::size_t bytes = dtype.bytes;
    for (const std::int64_t size : shape) bytes *= static_cast<std::size_t>(size);
    storage.emplace_back(bytes);
    for (std::size_t i = 0; i < bytes; ++i)
      storage.back()[i] = static_cast<std::byte>(dtype.name == "BOOL" ? i % 2 : first + i);
    tensors.push_back({name, std::string(dtype.name), std::move(shape), storage.back()});
  }

  std::vector<std::vector<std::byte>> storage;
  std::vector<SafetensorsTensor> tensors;
};

TEST_CASE("what is written is read back, aligned, whatever the order it came in", "[contract]") {
  const WriterScene scene;
  SampleTensors sample;
  write_safetensors(scene.file, sample.tensors, {{"step", "10"}, {"kind", "state"}});
  const std::string written = content_of(scene.file);
  std::reverse(sample.tensors.begin(), sample.tensors.end());
  write_safetensors(scene.file, sample.tensors, {{"kind", "state"}, {"step", "10"}});
  CHECK(content_of(scene.file) == written);

  const SafetensorsHeader header = parse_text(written);
  CHECK(header.metadata == SafetensorsMetadata{{"kind", "state"}, {"step", "10"}});
  REQUIRE(header.tensors.size() == sample.tensors.size());
  for (const SafetensorsTensor& tensor : sample.tensors) {
    const auto found = std::find_if(header.tensors.begin(), header.tensors.end(),
                                    [&](const SafetensorsEntry& entry) { return entry.name == tensor.name; });
    REQUIRE(found != header.tensors.end());
    CHECK(found->dtype == tensor.dtype);
    CHECK(found->shape == tensor.shape);
    CHECK(found->begin_bytes % safetensors_dtype(tensor.dtype)->bytes == 0);
    const auto bytes =
        std::as_bytes(std::span(written)).subspan(found->begin_bytes, found->end_bytes - found->begin_bytes);
    CHECK(std::equal(bytes.begin(), bytes.end(), tensor.bytes.begin(), tensor.bytes.end()));
  }
}

TEST_CASE("a file written here has the bytes that the public package was tested with", "[contract]") {
  const WriterScene scene;
  write_safetensors(scene.file, SampleTensors().tensors, {{"writer", "reprobench"}});
  CHECK(content_of(scene.file) == content_of(kGolden / "written_here.safetensors"));
}

TEST_CASE("a file of the public package holds the same tensors", "[contract]") {
  const std::string file = content_of(kGolden / "written_by_the_public_package.safetensors");
  const SafetensorsHeader header = parse_text(file);
  const SampleTensors sample;
  CHECK(header.metadata == SafetensorsMetadata{{"writer", "safetensors"}});
  REQUIRE(header.tensors.size() == sample.tensors.size());
  for (const SafetensorsEntry& entry : header.tensors) {
    const auto tensor = std::find_if(sample.tensors.begin(), sample.tensors.end(),
                                     [&](const SafetensorsTensor& candidate) { return candidate.name == entry.name; });
    REQUIRE(tensor != sample.tensors.end());
    CHECK(entry.dtype == tensor->dtype);
    CHECK(entry.shape == tensor->shape);
    const auto bytes = std::as_bytes(std::span(file)).subspan(entry.begin_bytes, entry.end_bytes - entry.begin_bytes);
    CHECK(std::equal(bytes.begin(), bytes.end(), tensor->bytes.begin(), tensor->bytes.end()));
  }
}

TEST_CASE("a file without tensors is a file", "[contract]") {
  const WriterScene scene;
  write_safetensors(scene.file, {}, {});
  CHECK(parse_text(content_of(scene.file)).tensors.empty());
}

TEST_CASE("a file cut anywhere is named as cut, with the byte where it ends", "[contract]") {
  const std::string file = content_of(kGolden / "written_here.safetensors");
  REQUIRE(problem_of(file) == "nothing was thrown");
  for (std::size_t length = 0; length < file.size(); ++length) {
    const std::string problem = problem_of(file.substr(0, length));
    REQUIRE(problem.rfind("w.safetensors: byte " + std::to_string(length) + ": the file is cut", 0) == 0);
  }
}

TEST_CASE("a header with a changed byte never reads as something outside the file", "[contract]") {
  const std::string file = content_of(kGolden / "written_here.safetensors");
  for (std::size_t i = 0; i < file.size(); ++i) {
    for (const char flip : {'\x01', '\x10', '\x80'}) {
      std::string changed = file;
      changed[i] = static_cast<char>(changed[i] ^ flip);
      try {
        for (const SafetensorsEntry& entry : parse_text(changed).tensors) {
          REQUIRE(entry.begin_bytes <= entry.end_bytes);
          REQUIRE(entry.end_bytes <= changed.size());
        }
      } catch (const ContractError& error) {
        REQUIRE(std::string(error.what()).rfind("w.safetensors: byte ", 0) == 0);
      }
    }
  }
}

TEST_CASE("a header of more tensors than any model has is refused before one is read", "[contract]") {
  std::string text = R"({"__metadata__":{},)";
  for (int i = 0; i < 150'000; ++i) text += "\"" + std::to_string(i) + "\":0,";
  CHECK_THAT(problem_of(file_with(text.substr(0, text.size() - 1) + "}", 0)),
             Catch::Contains("tensor `0`: is not described"));
  CHECK(problem_of(file_with(text + R"("one more":0})", 0)) ==
        "w.safetensors: byte 8: the header names more than 150000 tensors");
}

TEST_CASE("#41: a header that would take many times its bytes in memory is refused", "[contract]") {
  const auto tensor = [](const std::string& name, std::size_t sizes) {
    std::string shape = "0";
    for (std::size_t i = 1; i < sizes; ++i) shape += ",0";
    return "\"" + name + R"(":{"dtype":"F32","data_offsets":[0,0],"shape":[)" + shape + "]}";
  };
  CHECK(problem_of(file_with("{" + tensor("a", 64) + "}", 0)) == "nothing was thrown");
  CHECK_THAT(problem_of(file_with("{" + tensor("a", 65) + "}", 0)),
             Catch::Contains("tensor `a`: `shape` lists more than 64 sizes"));
  std::string many = tensor("0", 32);
  for (int i = 1; i <= 7'812; ++i) many += "," + tensor(std::to_string(i), 64);
  CHECK(problem_of(file_with("{" + many + "}", 0)) == "nothing was thrown");
  CHECK(problem_of(file_with("{" + many + "," + tensor("one more", 1) + "}", 0)) ==
        "w.safetensors: byte 8: the shapes in the header list more than 500000 sizes");
  const std::string half(6 << 20, 'a');
  CHECK(problem_of(file_with("{" + tensor(half, 1) + "," + tensor(std::string(6 << 20, 'b'), 1) + "}", 0)) ==
        "nothing was thrown");
  CHECK(problem_of(file_with("{" + tensor(half + "a", 1) + "," + tensor(std::string(6 << 20, 'b'), 1) + "}", 0)) ==
        "w.safetensors: byte 8: the names in the header take more than 12582912 bytes");
  std::string pairs = R"("0":"")";
  for (int i = 1; i < 100'000; ++i) pairs += ",\"" + std::to_string(i) + "\":\"\"";
  CHECK(problem_of(file_with(R"({"__metadata__":{)" + pairs + "}}", 0)) ==
        "w.safetensors: byte 8: the header holds a member of more than 100000 values");
}

TEST_CASE("each broken header is refused with one sentence", "[contract]") {
  const std::string a = R"("a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]})";
  CHECK(problem_of(file_with("{" + a + "}", 8)) == "nothing was thrown");
  const std::vector<std::pair<std::string, std::string>> cases = {
      {file_with("[1]", 0), "byte 8: the header is not a JSON object"},
      {file_with("{\"a\":", 0), "byte 13: the header is not JSON"},
      {file_with("{\"a\":1e400}", 0), "byte 8: the header holds a number too large for any type"},
      {file_with("{" + a + "," + a + "}", 8), "byte 62: the header holds \"a\" twice"},
      {file_with(R"({"a":{"dtype":"F32","shape":[2],"shape":[2],"data_offsets":[0,8]}})", 8),
       "byte 40: the header holds \"shape\" twice"},
      {file_with(R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", 8),
       "byte 9: tensor `a`: type and shape make 12 bytes, the offsets 8"},
      {file_with(R"({"a":{"dtype":"F32","shape":[4611686018427387905,4],"data_offsets":[0,16]}})", 16),
       "byte 9: tensor `a`: type and shape make more than 2^64 bytes, the offsets 16"},
      {file_with(R"({"a":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})", 8),
       "byte 9: tensor `a`: `shape` holds -2, not a size"},
      {file_with(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})", 8),
       "byte 9: tensor `a`: `data_offsets` ends before it begins"},
      {file_with(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0]}})", 8),
       "byte 9: tensor `a`: `data_offsets` is not a pair of offsets"},
      {file_with(R"({"a":{"dtype":4,"shape":[2],"data_offsets":[0,8]}})", 8),
       "byte 9: tensor `a`: `dtype` is not text"},
      {file_with(R"({"a":{"type":"F32","shape":[2],"data_offsets":[0,8]}})", 8),
       "byte 9: tensor `a`: `dtype` is missing"},
      {file_with(R"({"a":7})", 0), "byte 9: tensor `a`: is not described by dtype, shape and data_offsets"},
      {file_with(R"({"__metadata__":{"n":1}})", 0), "byte 8: `__metadata__`: `n` is not text"},
      {file_with("{" + a + R"(,"b":{"dtype":"U8","shape":[4],"data_offsets":[6,10]}})", 10),
       "byte 121: tensor `b` overlaps the one before it, which ends at byte 123"},
      {file_with("{" + a + R"(,"b":{"dtype":"U8","shape":[4],"data_offsets":[9,13]}})", 13),
       "byte 123: 1 bytes before tensor `b` belong to none"},
      {file_with("{" + a + "}", 11), "byte 70: 3 bytes after the last tensor belong to none"},
      {std::string(8, '\xff'),
       "byte 0: a header of 18446744073709551615 bytes is announced, more than the format's 100000000"},
  };
  for (const auto& [file, expected] : cases) CHECK(problem_of(file) == "w.safetensors: " + expected);
}

TEST_CASE("a tensor of a type unknown here is kept as bytes", "[contract]") {
  const SafetensorsHeader header = parse_text(file_with(R"({"a":{"dtype":"F4","shape":[3],"data_offsets":[0,2]}})", 2));
  REQUIRE(header.tensors.size() == 1);
  CHECK(header.tensors[0].dtype == "F4");
  CHECK(safetensors_dtype("F4") == nullptr);
  CHECK(safetensors_dtype_of_torch("bfloat16")->name == "BF16");
  CHECK(safetensors_dtype_of_torch("complex64") == nullptr);
}

TEST_CASE("metadata has its one name, whatever tensors stand before and after it", "[contract]") {
  const SafetensorsHeader header = parse_text(file_with(R"({"A":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                                                        R"("__metadata__":{"step":"7"},)"
                                                        R"("a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})",
                                                        2));
  REQUIRE(header.tensors.size() == 2);
  CHECK(header.tensors[0].name == "A");
  CHECK(header.tensors[1].name == "a");
  CHECK(header.metadata.size() == 1);
}

TEST_CASE("what cannot be a safetensors file is not written, and nothing is left behind", "[contract]") {
  const WriterScene scene;
  const std::vector<std::byte> eight(8);
  const SafetensorsTensor good{"a", "F32", {2}, eight};
  const auto refuses = [&](std::vector<SafetensorsTensor> tensors) {
    CHECK_THROWS_AS(write_safetensors(scene.file, std::move(tensors), {}), ContractError);
  };
  refuses({good, good});
  refuses({{"__metadata__", "F32", {2}, eight}});
  refuses({{"a", "F31", {2}, eight}});
  refuses({{"a", "F32", {3}, eight}});
  refuses({{"a", "F32", {-1, -2}, eight}});
  refuses({{"\xff", "F32", {2}, eight}});
  CHECK_THROWS_AS(write_safetensors(scene.folder / "none" / "a", {good}, {}), std::system_error);
  std::filesystem::create_directory(scene.folder / "taken");
  CHECK_THROWS_AS(write_safetensors(scene.folder / "taken", {good}, {}), std::system_error);
  std::filesystem::remove(scene.folder / "taken");
  CHECK(std::filesystem::is_empty(scene.folder));
}

}  // namespace
}  // namespace reprobench
