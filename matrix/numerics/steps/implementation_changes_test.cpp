#include "matrix/numerics/steps/implementation_changes.hpp"

#include "ci/catch.hpp"

namespace reprobench {
namespace {

using Texts = std::vector<std::string>;

OperationImplementation row(const std::string& operation, const std::string& implementation,
                            const std::string& operands = "(8,4)") {
  OperationImplementation one{operation, operands, "float32", implementation};
  if (implementation.empty()) one.unknown = "no switch";
  return one;
}

CellResult result_of(std::vector<OperationImplementation> rows) {
  CellResult result;
  result.implementations.emplace();
  result.implementations->operations = std::move(rows);
  return result;
}

Texts changed(const CellResult& measured, const CellResult& expected) {
  Texts texts;
  const ImplementationChanges changes = implementation_changes(measured, expected).value();
  for (const SideDifference& change : changes.changed) {
    texts.push_back(change_text(change));
  }
  return texts;
}

Texts incomplete(const CellResult& measured, const CellResult& expected) {
  return implementation_changes(measured, expected).value().incomplete;
}

TEST_CASE("an operation that other code computed is named with both, libraries before LibTorch's own", "[numerics]") {
  const CellResult measured = result_of({row("aten::add", "aten AVX2"), row("aten::mm", "mkl SGEMM for AVX2"),
                                         row("aten::relu", "aten AVX2"), row("aten::bmm", "mkl SGEMM")});
  const CellResult expected = result_of({row("aten::add", "aten AVX512"), row("aten::mm", "mkl SGEMM for AVX-512"),
                                         row("aten::relu", "aten AVX2"), row("aten::bmm", "aten AVX512")});
  CHECK(changed(measured, expected) == Texts{"aten::bmm (8,4) float32: `mkl SGEMM` against `aten AVX512`",
                                             "aten::mm (8,4) float32: `mkl SGEMM for AVX2` against `mkl SGEMM for "
                                             "AVX-512`",
                                             "aten::add (8,4) float32: `aten AVX2` against `aten AVX512`"});
  CHECK(implementation_changes(measured, expected)->compared == 4);
  CHECK(incomplete(measured, expected).empty());
  CHECK(changed(measured, measured).empty());
}

TEST_CASE("how often code was called is no change of it", "[numerics]") {
  CellResult often = result_of({row("aten::mm", "mkl SGEMM")});
  const CellResult once = often;
  often.implementations->operations[0].calls = 7;
  CHECK(changed(often, once).empty());
}

TEST_CASE("an operation that one side alone has is a change", "[numerics]") {
  const CellResult measured = result_of({row("aten::mkldnn_convolution", "onednn convolution jit:avx2")});
  const CellResult expected = result_of({row("aten::_slow_conv2d_forward", "mkl SGEMM")});
  CHECK(changed(measured, expected) == Texts{"aten::_slow_conv2d_forward (8,4) float32: none against `mkl SGEMM`",
                                             "aten::mkldnn_convolution (8,4) float32: `onednn convolution jit:avx2` "
                                             "against none"});
  CHECK(implementation_changes(measured, expected)->compared == 0);
}

// Negative control: what was cut off is nobody's change, and is said.
TEST_CASE("an operation that may have been left out is not said to be none", "[numerics]") {
  CellResult measured = result_of({row("aten::mm", "mkl SGEMM")});
  measured.implementations->left_out = 3;
  const CellResult expected = result_of({row("aten::mm", "mkl SGEMM"), row("aten::add", "aten AVX2")});
  CHECK(changed(measured, expected).empty());
  CHECK(changed(expected, measured).empty());
  CHECK(incomplete(measured, expected) == Texts{"the measured side's record leaves out 3 rows"});
  CHECK(incomplete(expected, measured) == Texts{"the expected side's record leaves out 3 rows"});
}

TEST_CASE("shapes and types are part of what is compared, and several implementations of one are held as a set",
          "[numerics]") {
  const CellResult two =
      result_of({row("aten::mm", "mkl SGEMM"), row("aten::mm", "aten AVX2"), row("aten::mm", "mkl SGEMM", "(9,4)")});
  const CellResult turned =
      result_of({row("aten::mm", "mkl SGEMM", "(9,4)"), row("aten::mm", "aten AVX2"), row("aten::mm", "mkl SGEMM")});
  CHECK(changed(two, turned).empty());
  CHECK(changed(two, result_of({row("aten::mm", "mkl SGEMM"), row("aten::mm", "mkl SGEMM", "(9,4)")})) ==
        Texts{"aten::mm (8,4) float32: `aten AVX2, mkl SGEMM` against `mkl SGEMM`"});
}

TEST_CASE("what is not known is said of its side, and counts as nothing that was compared", "[numerics]") {
  const CellResult unknown = result_of({row("aten::mm", ""), row("aten::tanh", "")});
  const CellResult known = result_of({row("aten::mm", "mkl SGEMM"), row("aten::tanh", "")});
  const ImplementationChanges changes = implementation_changes(unknown, known).value();
  CHECK(changes.compared == 0);
  CHECK(changed(unknown, known) == Texts{"aten::mm (8,4) float32: `not known` against `mkl SGEMM`"});
  CHECK(changes.incomplete == Texts{"of 2 operations of the measured side it is not known what computed them",
                                    "of 1 operation of the expected side it is not known what computed it"});
}

TEST_CASE("a side without a record is named, and of it nothing is a change", "[numerics]") {
  const CellResult known = result_of({row("aten::mm", "mkl SGEMM")});
  CellResult failed;
  failed.implementations.emplace();
  failed.implementations->unknown = "the pass that shows them failed: no room";
  CHECK(incomplete(known, CellResult{}) ==
        Texts{"the expected side has no record of the library code that computed it"});
  CHECK(incomplete(failed, known) ==
        Texts{"what computed the measured side is not known: the pass that shows them failed: no room"});
  CHECK(changed(known, CellResult{}).empty());
  CHECK(changed(failed, known).empty());
  CHECK(implementation_changes(failed, known)->compared == 0);
  CHECK_FALSE(implementation_changes(CellResult{}, CellResult{}));
}

}  // namespace
}  // namespace reprobench
