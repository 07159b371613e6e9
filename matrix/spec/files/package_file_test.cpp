#include "matrix/spec/files/package_file.hpp"

#include <cstdint>
#include <string>

#include "ci/catch.hpp"
#include "matrix/base/sha256.hpp"
#include "matrix/spec/files/weights_fixture.hpp"
#include "matrix/spec/matrix_spec.hpp"
#include "matrix/spec/spec_fixture.hpp"
#include "matrix/spec/suite_spec.hpp"

namespace reprobench {
namespace {

void put(std::string& record, std::size_t at, std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) record[at + static_cast<std::size_t>(i)] = static_cast<char>(value >> 8 * i & 0xff);
}

// The record that a zip archive ends in: where the list of its files begins, how long it is, and a comment.
std::string end_of_archive(std::uint64_t list_begin, std::uint64_t list_bytes, const std::string& comment = "") {
  std::string record = std::string("PK\x05\x06") + std::string(18, '\0');
  put(record, 12, list_bytes, 4);
  put(record, 16, list_begin, 4);
  put(record, 20, comment.size(), 2);
  return record + comment;
}

const std::string kFiles = "PK\x03\x04 files, and a list of them";

std::string refusal_of_package(const WeightsScene& scene, const std::string& text) {
  scene.write("p.pt2", text);
  return scene.without_folder(spec_error_of([&] { read_package_file(scene.path("p.pt2")); }));
}

TEST_CASE("a package is what it holds", "[spec]") {
  const WeightsScene scene;
  const std::string text = kFiles + end_of_archive(8, 20);
  scene.write("p.pt2", text);
  const PackageFile package = read_package_file(scene.path("p.pt2"));
  CHECK(package.file == scene.path("p.pt2"));
  CHECK(package.sha256 == sha256_of_text(text));
  CHECK(refusal_of_package(scene, kFiles + end_of_archive(8, 20, "a comment")).empty());
  // It is read in pieces of 1 MiB: here the last record lies in two of them.
  const std::size_t to_boundary = (std::size_t{1} << 20) - kFiles.size() - 10;
  for (const std::size_t bytes : {std::size_t{30'000}, std::size_t{200'000}, to_boundary}) {
    const std::string larger = kFiles + std::string(bytes, 'x') + end_of_archive(8, 20);
    CHECK(refusal_of_package(scene, larger).empty());
    CHECK(read_package_file(scene.path("p.pt2")).sha256 == sha256_of_text(larger));
  }
}

TEST_CASE("an archive is whole if its list ends where its last record begins, however long that is", "[spec]") {
  const WeightsScene scene;
  CHECK(refusal_of_package(scene, kFiles + end_of_archive(8, kFiles.size() - 8)).empty());
  CHECK_THAT(refusal_of_package(scene, kFiles + end_of_archive(8, kFiles.size() - 7)), Catch::Contains("has no end"));
  const std::string longest(65'535, 'c');
  CHECK(refusal_of_package(scene, kFiles + end_of_archive(8, 20, longest)).empty());
  CHECK_THAT(refusal_of_package(scene, kFiles + end_of_archive(8, 20, longest.substr(1)) + "x"),
             Catch::Contains("has no end"));
  CHECK_THAT(refusal_of_package(scene, kFiles + end_of_archive(8, 20, "cut") + "a"), Catch::Contains("has no end"));
  const std::string cut = kFiles + end_of_archive(8, 20, "a comment");
  CHECK_THAT(refusal_of_package(scene, cut.substr(0, cut.size() - 1)), Catch::Contains("has no end"));
  // One record within another's comment: the outer one is it.
  CHECK(refusal_of_package(scene, kFiles + end_of_archive(8, 20, end_of_archive(8, 20, "x") + "yz")).empty());
  // Of an archive of more than 4 GiB the place is in another record.
  CHECK(refusal_of_package(scene, kFiles + end_of_archive(0xffffffff, 0xffffffff)).empty());
  CHECK_THAT(refusal_of_package(scene, kFiles + end_of_archive(0xfffffffe, 1)), Catch::Contains("has no end"));
}

TEST_CASE("a package that is cut, or no archive at all, is refused with words", "[spec]") {
  const WeightsScene scene;
  const std::string whole = kFiles + end_of_archive(8, 20);
  for (const std::size_t bytes : {whole.size() - 1, whole.size() - 22, std::size_t{5}}) {
    CHECK(refusal_of_package(scene, whole.substr(0, bytes)) ==
          "p.pt2: error[RB045]: no whole AOTInductor package: the zip archive has no end after " +
              std::to_string(bytes) + " bytes; make it again with `torch._inductor.aoti_compile_and_package`");
  }
  // Its middle is missing: the list would lie beyond the record.
  CHECK_THAT(refusal_of_package(scene, kFiles + end_of_archive(8, 90)), Catch::Contains("has no end"));
  for (const std::string& text : {std::string(), std::string("PK"),
                                  std::string("\x7f"
                                              "ELF"),
                                  std::string(100, '\0')}) {
    CHECK_THAT(refusal_of_package(scene, text), Catch::Contains("no AOTInductor package: no zip archive"));
  }
}

TEST_CASE("what is no file is no package", "[spec]") {
  const WeightsScene scene;
  CHECK_THAT(spec_error_of([&] { read_package_file(scene.path("absent.pt2")); }),
             Catch::Contains("RB027") && Catch::Contains("No such file"));
  CHECK_THAT(spec_error_of([&] { read_package_file(scene.path("")); }), Catch::Contains("it is not a regular file"));
}

TEST_CASE("a suite names a package beside it, of the probe that runs one", "[spec]") {
  const WeightsScene scene;
  const std::string text = kFiles + end_of_archive(8, 20);
  scene.write("p.pt2", text);
  const auto suite_of = [&](const std::string& probe) {
    return parse_suite(
        "schema: 1\nname: s\nworkloads:\n  - {probe: " + probe + ", preset: base, samples: 2, package: p.pt2}\n",
        scene.path("s.yaml"), {});
  };
  const SuiteSpec suite = suite_of("package");
  CHECK(suite.workloads[0].package_sha256 == sha256_of_text(text));
  CHECK(suite.workloads[0].package_file == scene.path("p.pt2"));
  CHECK_THAT(spec_error_of([&] { suite_of("device_smoke"); }),
             Catch::Contains("RB009") && Catch::Contains("the probe `device_smoke` takes no `package`"));
}

TEST_CASE("a matrix names one package for all workloads of the probe, below its folder", "[spec]") {
  const WeightsScene scene;
  const MatrixSpec matrix =
      parse_matrix(kGoodMatrix + std::string("package: some/p.pt2\n"), scene.path("m.yaml"), spec_test_vocabulary());
  CHECK(matrix.package == scene.path("some/p.pt2"));
  CHECK(matrix.package_mark.line > 0);
  CHECK_THAT(matrix_error(kGoodMatrix + std::string("package: ../p.pt2\n")), Catch::Contains("error[RB027]"));
}

}  // namespace
}  // namespace reprobench
