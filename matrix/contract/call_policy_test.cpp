#include "matrix/contract/call_policy.hpp"

#include "ci/catch.hpp"

namespace reprobench {
namespace {

std::string refusal(const std::string& call) { return refusal_of(parse_call(call)); }

TEST_CASE("a call of an ATen operator on tensors, numbers and known words may run", "[contract]") {
  for (const char* call :
       {"gelu(f32[4], approximate='tanh')", "aten::relu(f32[4])", "prims::mul(f32[2], f32[2])",
        "div.Tensor_mode(f32[4], f32[4], rounding_mode='floor')", "sum(f32[4], dtype='f64')",
        "einsum(equation='bij,bjk->bik', {f32[2, 3, 4], f32[2, 4, 5]})", "linalg_norm.ord_str(f32[4, 4], ord='nuc')",
        "scatter_reduce.two(f32[4], 0, i64[4] below 4, f32[4], reduce='amax')"}) {
    CHECK(refusal(call).empty());
  }
}

TEST_CASE("#41: a call names no file, device, group or other text that is no known word", "[contract]") {
  using Catch::Contains;
  CHECK_THAT(refusal("from_file('/etc/passwd', false, 8)"), Contains("text is given by its argument's name"));
  CHECK_THAT(refusal("from_file(filename='/etc/passwd', shared=false, size=8)"), Contains("takes no path"));
  CHECK_THAT(refusal("from_file('floor', true, 25)"), Contains("'floor' is not"));  // a file of such a name, too
  CHECK_THAT(refusal("from_file(filename='floor', shared=true, size=25)"), Contains("takes no path"));
  CHECK_THAT(refusal("zeros([2], device='cuda:0')"), Contains("`device='cuda:0'`"));
  CHECK_THAT(refusal("_print(s='hello')"), Contains("`s='hello'`"));
  CHECK_THAT(refusal("gelu(f32[4], approximate='/etc/passwd')"), Contains("the words of `approximate` are none tanh"));
  CHECK_FALSE(refusal("gelu(f32[4], approximate='none tanh')").empty());
  CHECK_FALSE(refusal("gelu(f32[4], approximate='')").empty());
  CHECK_FALSE(refusal("einsum(equation='/etc/passwd', {f32[2]})").empty());
}

TEST_CASE("#41: a call is of no library but ATen and prims", "[contract]") {
  for (const char* call : {"profiler::_record_function_enter(f32[2])", "_c10d_functional::wait_tensor(f32[2])",
                           "quantized::linear(f32[2])", "prim::RaiseException(f32[2])", "torch::load(f32[2])",
                           "::relu(f32[2])", "aten2::relu(f32[2])"}) {
    CHECK_THAT(refusal_of([&] {
                 DeclaredCall declared = parse_call("relu(f32[2])");
                 declared.name = std::string(call).substr(0, std::string(call).find('('));
                 return declared;
               }()),
               Catch::Contains("another library"));
  }
}

}  // namespace
}  // namespace reprobench
