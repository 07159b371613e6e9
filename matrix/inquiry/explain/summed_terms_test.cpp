#include "matrix/inquiry/explain/summed_terms.hpp"

#include "ci/catch.hpp"

namespace reprobench {
namespace {

using Terms = std::map<std::string, std::int64_t>;

TensorRecord record(TensorRole role, const std::string& name, std::vector<std::int64_t> shape) {
  TensorRecord tensor;
  tensor.role = role;
  tensor.name = name;
  tensor.shape = std::move(shape);
  return tensor;
}
TensorRecord output(const std::string& name, std::vector<std::int64_t> shape) {
  return record(TensorRole::forward_output, name, std::move(shape));
}
TensorRecord gradient(const std::string& name, std::vector<std::int64_t> shape) {
  return record(TensorRole::parameter_gradient, name, std::move(shape));
}

TEST_CASE("a gradient's elements add up what its module gave, but for the extent that is the parameter's own",
          "[calibrate]") {
  CHECK(summed_terms({output("fc1", {32, 128}), gradient("fc1.weight", {128, 784}), gradient("fc1.bias", {128})}, 1) ==
        Terms{{"gradient/fc1.weight", 32}, {"gradient/fc1.bias", 32}});
  CHECK(summed_terms({output("conv1", {32, 8, 28, 28}), gradient("conv1.weight", {8, 1, 3, 3})}, 1) ==
        Terms{{"gradient/conv1.weight", 32 * 28 * 28}});
  CHECK(summed_terms({output("ln", {4, 64, 128}), gradient("ln.weight", {128})}, 2) ==
        Terms{{"gradient/ln.weight", 2 * 4 * 64}});
  // A row of an embedding is added to once for each token at most.
  CHECK(summed_terms({output("wte", {4, 64, 128}), gradient("wte.weight", {256, 128})}, 1) ==
        Terms{{"gradient/wte.weight", 4 * 64}});
}

TEST_CASE("a module that is not on record is stood for by the one around it; without any there is no number",
          "[calibrate]") {
  CHECK(summed_terms({output("h.0", {4, 64, 128}), gradient("h.0.attn.c_attn.weight", {384, 128}),
                      gradient("head.weight", {10, 128})},
                     1) == Terms{{"gradient/h.0.attn.c_attn.weight", 4 * 64}});
  // No extent in common: all of it may be added up.
  CHECK(summed_terms({output("pool", {2, 3}), gradient("pool.scale", {1})}, 1) == Terms{{"gradient/pool.scale", 6}});
}

}  // namespace
}  // namespace reprobench
