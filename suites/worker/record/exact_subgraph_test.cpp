// Facts about a tensor beside its values: which call made it, and what a subgraph of calls is meant to compute.
#include "suites/worker/record/exact_subgraph.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/full.h>

#include "ci/catch.hpp"
#include "suites/worker/record/tensor_makers.hpp"

namespace reprobench {
namespace {

// Hands every call on, and notes those that nothing calls.
class Beside final : public OperatorListener {
 public:
  explicit Beside(ExactSubgraph& subgraph) : subgraph_(subgraph) {}
  void started(OperatorCall& call) override { subgraph_.started(call, call.index); }
  void ended(OperatorCall& call) override {
    subgraph_.ended(call, call.index);
    if (call.depth == 0) outermost.push_back(call.index);
  }

  std::vector<std::int64_t> outermost;

 private:
  ExactSubgraph& subgraph_;
};

// `work` with its outermost calls in fp64 beside it; the exact value of what it returns.
template <class Work>
std::optional<at::Tensor> exact_of(const Work& work, std::string* problem = nullptr) {
  ExactSubgraph none({});
  Beside first(none);
  {
    const OperatorHook hook({&first});
    work();
  }
  ExactSubgraph subgraph(first.outermost);
  Beside second(subgraph);
  at::Tensor made;
  {
    const OperatorHook hook({&second});
    made = work();
  }
  if (problem != nullptr) *problem = subgraph.problem();
  return subgraph.value_of(made);
}

double first_of(const at::Tensor& tensor) { return static_cast<const double*>(tensor.data_ptr())[0]; }

TEST_CASE("each call of a subgraph is carried out in fp64 on what the one before made there", "[worker]") {
  const at::Tensor x = at::full({4}, 1.0F / 3, at::kFloat);
  const double third = static_cast<double>(1.0F / 3);
  const auto exact = exact_of([&] { return (x * x).view({2, 2}) * x.narrow(0, 0, 2); });
  REQUIRE(exact);
  CHECK(exact->scalar_type() == at::kDouble);
  CHECK(exact->sizes().equals({2, 2}));
  CHECK(first_of(*exact) == third * third * third);
  CHECK(first_of(*exact) != static_cast<double>((1.0F / 3) * (1.0F / 3) * (1.0F / 3)));
}

TEST_CASE("a subgraph in place is carried out on a copy, and casts are left out of it", "[worker]") {
  const at::Tensor x = at::full({4}, 1.0F / 3, at::kFloat);
  const auto doubled = exact_of([&] { return (x * x).add_(x); });
  REQUIRE(doubled);
  const double third = static_cast<double>(1.0F / 3);
  CHECK(first_of(*doubled) == third * third + third);
  const auto cast = exact_of([&] { return x.to(at::kBFloat16).to(at::kFloat); });
  REQUIRE(cast);
  CHECK(first_of(*cast) == third);
}

TEST_CASE("a subgraph with a backward node says why it has no fp64 form", "[worker]") {
  const at::Tensor x = at::full({4}, 0.5F, at::kFloat).requires_grad_(true);
  std::string problem;
  exact_of(
      [&] {
        const at::Tensor loss = (x * x).sum();
        loss.backward();
        return x.grad();
      },
      &problem);
  CHECK(!problem.empty());
}

TEST_CASE("the maker of a tensor is the call that returned it or last wrote its memory", "[worker]") {
  TensorMakers makers;
  const at::Tensor a = at::full({4}, 1.0F, at::kFloat);
  const at::Tensor view = a.view({2, 2});
  CHECK(makers.maker_of(a) == -1);
  makers.returned(a, 3, false);
  makers.returned(view, 4, true);
  CHECK(makers.maker_of(a) == 3);
  CHECK(makers.maker_of(view) == 4);
  CHECK(makers.maker_of(a.narrow(0, 0, 2)) == 3);  // seen in a way that no call returned
  makers.wrote(view, 5);
  CHECK(makers.maker_of(a) == 5);
  CHECK(makers.maker_of(view) == 5);
  CHECK(makers.maker_of(at::full({4}, 1.0F, at::kFloat)) == -1);
  makers.clear();
  CHECK(makers.maker_of(a) == -1);
}

}  // namespace
}  // namespace reprobench
