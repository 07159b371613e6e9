#include "matrix/verdict/implementation_notes.hpp"

#include "ci/catch.hpp"

namespace reprobench {
namespace {

CellResult computed_by(const std::string& code, int operations) {
  CellResult result;
  result.implementations.emplace();
  for (int i = 0; i < operations; ++i) {
    result.implementations->operations.push_back({"aten::mm", "(" + std::to_string(i) + ")", "float32", code});
  }
  return result;
}

using Notes = std::vector<std::string>;

TEST_CASE("a note names the first operations that other code computed, and counts the others", "[verdict]") {
  CHECK(implementation_notes(computed_by("mkl SGEMM for AVX2", 1), computed_by("mkl SGEMM for AVX-512", 1)) ==
        Notes{"other library code than the reference's computed 1 operation: aten::mm (0) float32: `mkl SGEMM for "
              "AVX2` against `mkl SGEMM for AVX-512`"});
  CHECK(implementation_notes(computed_by("a", 5), computed_by("b", 5)) ==
        Notes{"other library code than the reference's computed 5 operations: aten::mm (0) float32: `a` against `b`; "
              "aten::mm (1) float32: `a` against `b`; aten::mm (2) float32: `a` against `b`; and 2 more"});
  CHECK(
      implementation_notes(computed_by("a", 3), computed_by("b", 3)).front().ends_with("(2) float32: `a` against `b`"));
}

TEST_CASE("no note where the same code computed both, or neither side tells", "[verdict]") {
  CHECK(implementation_notes(computed_by("a", 2), computed_by("a", 2)).empty());
  CHECK(implementation_notes({}, {}).empty());
  CellResult unknown;
  unknown.implementations.emplace();
  unknown.implementations->unknown = "the kernels of a GPU are not watched after a training";
  CHECK(implementation_notes(unknown, unknown).empty());
  CHECK(implementation_notes(unknown, {}).empty());
  CHECK(
      implementation_notes(computed_by("a", 2), unknown) ==
      Notes{"library code: what computed the expected side is not known: the kernels of a GPU are not watched after a "
            "training"});
  CHECK(implementation_notes({}, computed_by("a", 2)) ==
        Notes{"library code: the measured side has no record of the library code that computed it"});
}

}  // namespace
}  // namespace reprobench
