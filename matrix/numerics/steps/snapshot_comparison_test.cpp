#include "matrix/numerics/steps/snapshot_comparison.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>

#include <unistd.h>

#include "ci/catch.hpp"
#include "matrix/base/safetensors.hpp"

namespace reprobench {
namespace {

// Two files that differ as the test says.
struct SnapshotPair {
  SnapshotPair() {
    std::string pattern = (std::filesystem::temp_directory_path() / "reprobench-snapshots-XXXXXX").string();
    REQUIRE(mkdtemp(pattern.data()) != nullptr);
    folder = pattern;
  }
  ~SnapshotPair() { std::filesystem::remove_all(folder); }

  SnapshotComparison compare() const {
    write_safetensors(folder / "a", measured, {});
    write_safetensors(folder / "b", reference, {});
    return compare_snapshots(SafetensorsFile::open(folder / "a"), SafetensorsFile::open(folder / "b"));
  }

  std::filesystem::path folder;
  std::vector<SafetensorsTensor> measured;
  std::vector<SafetensorsTensor> reference;
};

template <class T>
SafetensorsTensor stored(std::string name, std::string dtype, const std::vector<T>& values) {
  return {
      std::move(name), std::move(dtype), {static_cast<std::int64_t>(values.size())}, std::as_bytes(std::span(values))};
}

TEST_CASE("snapshots with equal bits are equal, NaN payloads included", "[verdict]") {
  const std::vector<float> weights = {1, -0.0f, std::numeric_limits<float>::quiet_NaN()};
  SnapshotPair scene;
  scene.measured = scene.reference = {stored("w", "F32", weights)};
  const SnapshotComparison result = scene.compare();
  CHECK(result.match == Match::equal);
  CHECK(result.sentence ==
        "the one tensor has equal bits, but 1 of 3 elements are NaN or infinite on both sides, first in `w`");
}

TEST_CASE("files of NaN alone are not called equal without a word", "[verdict]") {
  const std::vector<float> numbers = {1, 2};
  const std::vector<float> nothing(2, std::numeric_limits<float>::quiet_NaN());
  const std::vector<std::int64_t> counts = {-1, 5};
  SnapshotPair scene;
  const auto sentence = [&](std::vector<SafetensorsTensor> tensors) {
    scene.measured = scene.reference = std::move(tensors);
    return scene.compare().sentence;
  };
  CHECK(sentence({stored("a", "F32", numbers), stored("i", "I64", counts)}) == "all 2 tensors have equal bits");
  CHECK(sentence({stored("v", "F32", nothing), stored("w", "F32", nothing)}) ==
        "all 2 tensors have equal bits, but all of 4 elements are NaN or infinite on both sides, first in `v`");
  // On one side only it is a difference, as before.
  scene.reference = {stored("v", "F32", nothing), stored("w", "F32", numbers)};
  CHECK_THAT(scene.compare().sentence,
             Catch::StartsWith("1 of 2 tensors differ; ") &&
                 Catch::EndsWith("; 2 of 4 elements are NaN or infinite on both sides, first in `v`"));
}

TEST_CASE("a nudged weight is named with element, bits and distance", "[verdict]") {
  const std::vector<float> weights(100, 1.0f);
  std::vector<float> nudged = weights;
  nudged[41] = std::nextafter(1.0f, 2.0f);
  const std::vector<float> other = {3};
  SnapshotPair scene;
  scene.measured = {stored("a", "F32", other), stored("w", "F32", nudged)};
  scene.reference = {stored("a", "F32", other), stored("w", "F32", weights)};
  const SnapshotComparison result = scene.compare();
  CHECK(result.match == Match::differs);
  CHECK(
      result.sentence ==
      "1 of 2 tensors differ; worst `w`: 1 of 100 elements, first element 41 (bits 3f800001 against 3f800000, 1 ULP), "
      "relative L2 1.19e-08");
  REQUIRE(result.tensors[0].name == "w");
  const nlohmann::json json = to_json(result).at("tensors").at(0);
  CHECK(json.at("first") == nlohmann::json::parse(R"({"index": 41, "ulp": 1,
      "measured": {"value": 1.00000011920928955078125, "bits": "3f800001"}, "reference": {"value": 1.0, "bits": "3f800000"}})"));
  CHECK(json.at("ulp_histogram") == nlohmann::json{99, 1});
}

TEST_CASE("elements on both sides of zero are said to be apart in units of the tensor's RMS, not in ULP", "[verdict]") {
  const std::vector<float> expected = {3e-9F, 0.3F, 0.4F, 0};
  const std::vector<float> crossed = {-3e-9F, 0.3F, 0.4F, 0};
  SnapshotPair scene;
  scene.measured = {stored("w", "F32", crossed)};
  scene.reference = {stored("w", "F32", expected)};
  const SnapshotComparison result = scene.compare();
  const double rms = 0.25;
  REQUIRE(result.tensors[0].first->distance_rms);
  CHECK(*result.tensors[0].first->distance_rms == Approx(6e-9 / rms));
  CHECK(*result.tensors[0].largest_ulp->distance_rms == Approx(6e-9 / rms));
  CHECK_THAT(result.sentence, Catch::Contains("(bits b14e288f against 314e288f, 2.4e-08 of the tensor's RMS)"));
  CHECK_THAT(result.sentence, !Catch::Contains("ULP"));
  CHECK(distance_text(kMostUlpShown, 0.5) == std::to_string(kMostUlpShown) + " ULP");
  CHECK(distance_text(kMostUlpShown + 1, 0.5) == "0.5 of the tensor's RMS");
  CHECK(distance_text(kMostUlpShown + 1, std::nullopt) == std::to_string(kMostUlpShown + 1) + " ULP");
  CHECK(distance_text(std::nullopt, 0.5).empty());
}

TEST_CASE("missing and extra names make snapshots differ", "[verdict]") {
  const std::vector<float> weights = {1};
  SnapshotPair scene;
  scene.measured = {stored("both", "F32", weights), stored("new", "F32", weights)};
  scene.reference = {stored("both", "F32", weights), stored("old", "F32", weights)};
  const SnapshotComparison result = scene.compare();
  CHECK(result.match == Match::differs);
  CHECK(result.missing == std::vector<std::string>{"old"});
  CHECK(result.extra == std::vector<std::string>{"new"});
}

TEST_CASE("one tensor more on either side makes snapshots differ, though all they share is equal", "[verdict]") {
  const std::vector<float> weights = {1};
  SnapshotPair scene;
  scene.measured = {stored("both", "F32", weights), stored("new", "F32", weights)};
  scene.reference = {stored("both", "F32", weights)};
  const SnapshotComparison more = scene.compare();
  CHECK(more.match == Match::differs);
  CHECK(more.missing.empty());
  CHECK(more.extra == std::vector<std::string>{"new"});
  std::swap(scene.measured, scene.reference);
  const SnapshotComparison fewer = scene.compare();
  CHECK(fewer.match == Match::differs);
  CHECK(fewer.extra.empty());
  CHECK(fewer.missing == std::vector<std::string>{"new"});
}

TEST_CASE("files without a common tensor are not comparable, and neither are empty ones", "[verdict]") {
  const std::vector<float> weights = {1};
  SnapshotPair scene;
  CHECK(scene.compare().match == Match::not_comparable);
  scene.measured = {stored("x", "F32", weights)};
  scene.reference = {stored("y", "F32", weights)};
  CHECK(scene.compare().match == Match::not_comparable);
  CHECK(scene.compare().sentence ==
        "the files have no tensor in common; 1 only in the reference; 1 only in the measured file");
}

TEST_CASE("files of tensors that all are empty are not comparable, and one element makes them so", "[verdict]") {
  const std::vector<float> none;
  const std::vector<float> weights = {1};
  SnapshotPair scene;
  scene.measured = scene.reference = {stored("x", "F32", none), stored("y", "F32", none)};
  CHECK(scene.compare().match == Match::not_comparable);
  CHECK(scene.compare().sentence == "none of the 2 common tensors has an element");
  scene.reference.push_back(stored("z", "F32", weights));
  CHECK(scene.compare().match == Match::not_comparable);
  CHECK(scene.compare().sentence == "none of the 2 common tensors has an element; 1 only in the reference");
  scene.measured.push_back(stored("z", "F32", weights));
  CHECK(scene.compare().match == Match::equal);
}

TEST_CASE("another type or shape is not comparable and listed first", "[verdict]") {
  const std::vector<float> weights = {1, 2, 3, 4};
  const std::vector<std::int32_t> integers = {1, 2, 3, 4};
  SnapshotPair scene;
  scene.measured = {stored("s", "F32", weights), stored("t", "F32", weights), stored("w", "F32", weights)};
  scene.reference = {stored("s", "F32", weights), stored("t", "I32", integers), stored("w", "F32", weights)};
  scene.reference[0].shape = {2, 2};
  const SnapshotComparison result = scene.compare();
  CHECK(result.match == Match::differs);
  CHECK(result.tensors[0].reason == "shape [4] against [2, 2]");
  CHECK(result.tensors[1].reason == "type F32 against I32");
  CHECK(result.tensors[2].match == Match::equal);
  scene.measured.pop_back();
  scene.reference.pop_back();
  CHECK(scene.compare().match == Match::not_comparable);
  CHECK(to_json(scene.compare()).at("tensors").at(0).at("differing").is_null());
}

TEST_CASE("the worst tensors come first: NaN, then the largest relative difference", "[verdict]") {
  const std::vector<float> ones(10, 1.0f);
  std::vector<float> slightly = ones;
  slightly[3] = 1.001f;
  std::vector<float> badly = ones;
  badly[3] = 7;
  std::vector<float> broken = ones;
  broken[3] = std::numeric_limits<float>::quiet_NaN();
  SnapshotPair scene;
  scene.measured = {stored("a", "F32", ones), stored("b", "F32", slightly), stored("c", "F32", badly),
                    stored("d", "F32", broken)};
  scene.reference = {stored("a", "F32", ones), stored("b", "F32", ones), stored("c", "F32", ones),
                     stored("d", "F32", ones)};
  std::string order;
  for (const TensorComparison& tensor : scene.compare().tensors) order += tensor.name;
  CHECK(order == "dcba");
}

TEST_CASE("what is said of files that share several tensors", "[verdict]") {
  const std::vector<float> ones(4, 1.0F);
  const std::vector<std::int32_t> integers = {1, 2, 3, 4};
  std::vector<float> broken = ones;
  broken[1] = std::numeric_limits<float>::infinity();
  broken[2] = std::numeric_limits<float>::quiet_NaN();
  SnapshotPair scene;
  scene.measured = scene.reference = {stored("a", "F32", ones), stored("b", "F32", ones)};
  CHECK(scene.compare().sentence == "all 2 tensors have equal bits");
  scene.reference = {stored("a", "I32", integers), stored("b", "I32", integers)};
  CHECK(scene.compare().sentence == "none of the 2 common tensors has one type and shape in both files");
  scene.measured.push_back(stored("c", "F32", broken));
  scene.measured.push_back(stored("d", "F32", ones));
  scene.measured.push_back(stored("e", "F32", ones));
  scene.reference.push_back(stored("c", "F32", ones));
  scene.reference.push_back(stored("d", "F32", ones));
  scene.reference.push_back(stored("f", "F32", ones));
  CHECK(
      scene.compare().sentence ==
      "1 of 2 tensors differ; 2 not comparable; worst `c`: 2 of 4 elements, first element 1 (bits 7f800000 against "
      "3f800000, 1073741824 ULP), relative L2 0.00e+00, 2 NaN or infinite on one side only; 1 only in the reference; 1 "
      "only in the measured file");
}

TEST_CASE("tensors that are as bad stand by name, and without a distance by how many elements differ", "[verdict]") {
  const std::vector<std::int32_t> zeros = {0, 0, 0};
  const std::vector<std::int32_t> one_off = {0, 1, 0};
  const std::vector<std::int32_t> two_off = {1, 1, 0};
  SnapshotPair scene;
  scene.measured = {stored("a", "I32", zeros), stored("b", "I32", one_off), stored("c", "I32", two_off),
                    stored("d", "I32", one_off), stored("e", "I32", zeros)};
  for (const char* name : {"a", "b", "c", "d", "e"}) scene.reference.push_back(stored(name, "I32", zeros));
  std::string order;
  const SnapshotComparison result = scene.compare();
  for (const TensorComparison& tensor : result.tensors) order += tensor.name;
  CHECK(order == "cbdae");
  CHECK(result.sentence ==
        "3 of 5 tensors differ; worst `c`: 2 of 3 elements, first element 0 (bits 00000001 against 00000000)");
}

TEST_CASE("integers are shown as integers and have no distance", "[verdict]") {
  const std::vector<std::int16_t> five = {5, -5};
  const std::vector<std::int16_t> six = {5, -6};
  SnapshotPair scene;
  scene.measured = {stored("n", "I16", six)};
  scene.reference = {stored("n", "I16", five)};
  const nlohmann::json json = to_json(scene.compare()).at("tensors").at(0);
  CHECK(json.at("first").at("measured") == nlohmann::json{{"value", -6}, {"bits", "fffa"}});
  CHECK(json.at("first").at("ulp").is_null());
  CHECK(json.at("rel_l2").is_null());
}

TEST_CASE("a comparison of snapshots of contract 2.0 is read, and is the same when it is written again", "[verdict]") {
  std::ifstream stream(REPROBENCH_SOURCE_ROOT "/matrix/contract/testdata/2.0/snapshot_comparison.json");
  nlohmann::json document = nlohmann::json::parse(stream);
  const SnapshotComparison read = snapshot_comparison_from_json(document);
  CHECK(read.match == Match::differs);
  CHECK(read.missing == std::vector<std::string>{"type.uint16"});
  const auto tensor = [&](const std::string& name) {
    return *std::find_if(read.tensors.begin(), read.tensors.end(), [&](const auto& one) { return one.name == name; });
  };
  CHECK(tensor("type.uint64").first->measured.value == std::numeric_limits<std::uint64_t>::max());
  CHECK(tensor("type.int64").first->measured.value.is_number_integer());
  CHECK(tensor("type.float64").largest_ulp->ulp > std::uint64_t{1} << 63);
  CHECK_FALSE(tensor("type.bool").rel_l2);
  CHECK(to_json(read) == document);
  document["tensors"][1]["first"]["measured"]["bits"] = "3F80";
  CHECK_THROWS_WITH(snapshot_comparison_from_json(document),
                    "snapshot_comparison: `tensors/1/first/measured/bits` has other letters than `0123456789abcdef`");
}

TEST_CASE("every way in which two elements differ is counted as its own", "[verdict]") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float other_nan = std::bit_cast<float>(std::bit_cast<std::uint32_t>(nan) | 1U);
  const float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> ours = {1, 0.0F, 0.0F, -0.0F, nan, nan, nan, nan, infinity, infinity, 1};
  const std::vector<float> theirs = {1, -0.0F, -0.0F, 0.0F, 1, 2, other_nan, nan, 1, -infinity, 3};
  SnapshotPair scene;
  scene.measured = {stored("w", "F32", ours)};
  scene.reference = {stored("w", "F32", theirs)};
  const TensorComparison tensor = scene.compare().tensors.at(0);
  CHECK(tensor.match == Match::differs);
  CHECK(tensor.elements == 11);
  CHECK(tensor.differing == 9);
  CHECK(tensor.zero_signs == 3);
  CHECK(tensor.nan_mismatches == 2);
  CHECK(tensor.nan_payloads == 1);
  CHECK(tensor.inf_mismatches == 2);
  CHECK(tensor.first->index == 1);
}

TEST_CASE("what is no float is compared by its size, and what is unknown byte by byte", "[verdict]") {
  struct Row {
    const char* dtype;
    ElementType type;
  };
  for (const Row& row : {Row{"F64", ElementType::fp64}, Row{"F32", ElementType::fp32}, Row{"BF16", ElementType::bf16},
                         Row{"F16", ElementType::fp16}, Row{"F8_E5M2", ElementType::fp8_e5m2},
                         Row{"F8_E4M3", ElementType::fp8_e4m3fn}, Row{"I64", ElementType::raw64},
                         Row{"I32", ElementType::raw32}, Row{"I16", ElementType::raw16}, Row{"I8", ElementType::raw8},
                         Row{"U8", ElementType::raw8}, Row{"BOOL", ElementType::raw8}, Row{"F4", ElementType::raw8}}) {
    CAPTURE(row.dtype);
    CHECK((element_type_of(row.dtype) == row.type));
  }
}

TEST_CASE("two states of many megabytes are compared in the memory of a piece", "[verdict]") {
  constexpr std::size_t kCount = 48u << 20;  // bytes on each side, which a mapped file would keep in memory
  std::vector<std::uint8_t> values(kCount, 1);
  SnapshotPair scene;
  write_safetensors(scene.folder / "b", {stored("w", "U8", values)}, {});
  values[kCount - 5] = 2;
  write_safetensors(scene.folder / "a", {stored("w", "U8", values)}, {});
  std::vector<std::uint8_t>().swap(values);
  const auto resident_pages = [] {
    std::int64_t all = 0;
    std::int64_t resident = 0;
    std::ifstream("/proc/self/statm") >> all >> resident;
    return resident;
  };
  const auto measured = SafetensorsFile::open(scene.folder / "a");
  const auto reference = SafetensorsFile::open(scene.folder / "b");
  const std::int64_t before = resident_pages();
  const SnapshotComparison result = compare_snapshots(measured, reference);
  CHECK((resident_pages() - before) * getpagesize() < 8 << 20);
  REQUIRE(result.tensors.size() == 1);
  CHECK(result.tensors[0].differing == 1);
  CHECK(result.tensors[0].first->index == static_cast<std::int64_t>(kCount) - 5);
}

TEST_CASE("a state that is cut while it is compared is an error", "[verdict]") {
  const std::vector<float> weights(100'000, 1.0f);
  SnapshotPair scene;
  scene.measured = scene.reference = {stored("w", "F32", weights)};
  CHECK(scene.compare().match == Match::equal);
  const auto measured = SafetensorsFile::open(scene.folder / "a");
  const auto reference = SafetensorsFile::open(scene.folder / "b");
  std::filesystem::resize_file(scene.folder / "a", 5000);
  CHECK_THROWS_WITH(compare_snapshots(measured, reference), Catch::Contains("was cut while it was read"));
}

}  // namespace
}  // namespace reprobench
