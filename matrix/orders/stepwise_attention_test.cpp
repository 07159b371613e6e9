// The operator that chooses an implementation of attention, and attention in steps.
#include "matrix/orders/stepwise_attention.hpp"

#include <cmath>
#include <set>
#include <span>
#include <tuple>

#include "matrix/orders/attention_fixture.hpp"
#include "matrix/orders/changed_sums_fixture.hpp"
#include "matrix/orders/head_attention.hpp"

namespace reprobench {
namespace stepwise_attention_test {
namespace {

using namespace test;
using test::forms_of;

// The first form in blocks and in steps, and others between them.
std::vector<std::size_t> some_forms(const FormedOutput& output, std::size_t count) {
  std::vector<std::size_t> forms;
  for (std::size_t i = 0; i < count; ++i) forms.push_back(i * (output.forms() - 1) / (count - 1));
  return forms;
}

void forms_are_near(const std::string& call, const std::string& name, const FormedOutput::Tensors& tensors,
                    const std::vector<double>& exact) {
  const auto output = forms_of(call, name);
  REQUIRE(static_cast<std::size_t>(output->elements()) == exact.size());
  for (const std::size_t form : some_forms(*output, 30)) {
    CAPTURE(name, output->text(form));
    FormedOutput::Tensors with_hidden = tensors;
    output->add_hidden(form, with_hidden);
    const std::vector<float> made = made_by(*output, form, with_hidden);
    double farthest = 0;
    for (std::size_t i = 0; i < exact.size(); ++i) farthest = std::max(farthest, std::abs(made[i] - exact[i]));
    CHECK(farthest < 2e-5);
  }
}

TEST_CASE("a chosen attention and its gradients are those of their definition, in blocks and in steps", "[formed]") {
  const Sizes at = GENERATE(values<Sizes>({{2, 20, 21, 8}, {6, 40, 41, 8, 3}, {4, 35, 200, 4, 4}}));
  const bool is_causal = GENERATE(false, true);
  const std::string call = at.chosen(is_causal);
  CAPTURE(call);
  auto tensors = drawn(call, *forms_of(call), 0, at.heads * at.queries * at.width);
  const Exact exact(at, is_causal, tensors[0], tensors[1], tensors[2], tensors[3]);
  forms_are_near(call, "output.0", tensors, exact.y);
  tensors.push_back(as_floats(exact.y));
  CHECK(forms_of(call, "gradient.1")->given_outputs() == std::vector<std::string>{"output.0"});
  forms_are_near(call, "gradient.0", tensors, exact.dq);
  forms_are_near(call, "gradient.1", tensors, exact.dk);
  forms_are_near(call, "gradient.2", tensors, exact.dv);
}

TEST_CASE("a chosen attention's gradient of k begins with that of q, whose form it is searched on", "[formed]") {
  const auto forms = forms_of(Sizes{4, 40, 41, 8, 2}.chosen(true), "gradient.1");
  const FormedOutput::Basis* of_query = forms->basis();
  REQUIRE(of_query != nullptr);
  CHECK(of_query->name == "gradient.0");
  REQUIRE(of_query->output->basis() != nullptr);
  CHECK(of_query->output->basis()->name == "output.0");
  CHECK(of_query->output->basis()->output->basis() == nullptr);
  std::set<std::size_t> all;
  for (const std::size_t form : some_forms(*of_query->output, 40)) {
    for (const std::size_t own : forms->forms_on(form)) {
      CHECK(all.insert(own).second);
      CHECK(own < forms->forms());
      CHECK(forms->text(own).starts_with(of_query->output->text(form) + "; "));
    }
  }
}

TEST_CASE("a text of a chosen attention's form is read again, and no other", "[formed]") {
  for (const std::string name : {"output.0", "gradient.0", "gradient.1", "gradient.2"}) {
    const auto forms = forms_of(Sizes{4, 200, 300, 8, 2}.chosen(true), name);
    std::set<std::string> texts;
    for (const std::size_t form : some_forms(*forms, 500)) {
      CAPTURE(forms->text(form));
      CHECK(texts.insert(forms->text(form)).second);
      CHECK(is_canonical_order(forms->text(form), forms->terms()));
      CHECK_FALSE(forms->shape(form).empty());
    }
  }
  const std::string y = "attention in steps scores=f0 softmax exp=libm-2.99 lanes=16 times values=f0";
  CHECK(is_form(y));
  CHECK(is_form(y + "; dattention in steps products=r96"));
  CHECK(is_form(y + "; dattention in steps weights=f0 dsoftmax lanes=8 in turn sums=fr products=f0"));
  for (const std::string& text :
       std::vector<std::string>{"dattention in steps products=f0", y + "; ", y + "; dattention in steps products=f00",
                                "attention in steps scores=0 softmax exp=sleef lanes=16 times values=f0",
                                y + "; dattention in steps weights=f0 products=f0"}) {
    CAPTURE(text);
    CHECK_FALSE(is_form(text));
  }
}

TEST_CASE("what people read of an attention in steps names each step", "[formed]") {
  const StepsForm y = {
      {0, true, false}, {false, Functions::sleef, {16, false, false, false}, false}, {96, false, false}};
  CHECK(
      steps_shape(y) ==
      "in steps: scores in one chain, fused; Sleef's exponentials in 16 lanes, times 1 / sum; values in pieces of 96, "
      "not fused");
  const StepsGradientForm dq = {{0, true, false}, {false, Functions::sleef, {16, false, true, true}, false}, {}};
  CHECK(steps_shape(dq) ==
        "gradient in steps: dy v in one chain, fused; dy y in 16 lanes, fused; products in one chain, fused");
  CHECK(share_shape({0, false, false}) == "products in one chain, not fused");
}

TEST_CASE("what is no attention that can be chosen in fp32 says so", "[formed]") {
  const std::string q = "f32[1, 4, 8, 4]";
  const std::string k = "f32[1, 2, 8, 4]";
  const auto of = [](const std::string& q_text, const std::string& k_text, const std::string& behind) {
    return why_none("scaled_dot_product_attention(" + q_text + ", " + k_text + ", " + k_text + behind);
  };
  const std::string no = "it is called in a way that is not known to be an attention in fp32 without dropout and mask";
  CHECK(of(q, k, ", none, 0.0, true)") == no);
  CHECK(of(q, k, ", none, 0.0, true, enable_gqa=false)") == no);
  CHECK(of(q, "f32[1, 3, 8, 4]", ", none, 0.0, true, enable_gqa=true)") == no);
  CHECK(of(k, q, ", none, 0.0, true, enable_gqa=true)") == no);
  CHECK(of("bf16[1, 4, 8, 4]", q, ", none, 0.0, true)") == no);
  CHECK(of(q, "bf16[1, 4, 8, 4]", ", none, 0.0, true)") == no);
  CHECK(of(q, q, ", f32[8, 8], 0.0, false)") == no);
  CHECK(of(q, q, ", none, 0.5, true)") == no);
  CHECK(of(q, q, ", none, 0.0, true, name=1.0)") == no);
  const std::string call = "scaled_dot_product_attention(" + q + ", " + k + ", " + k + ", none, 0.0, true, none, true)";
  CHECK(forms_of(call)->elements() == 128);
  CHECK(forms_of(call, "gradient.1")->elements() == 64);
  CHECK(why_none(call, "output.1") == "nothing is added up in it, as far as is known");
}

TEST_CASE("a chosen attention takes its scale by name, and in steps the root of it twice", "[formed]") {
  const std::string one = "f32[1, 1, 2, 4]";
  const std::string call = "scaled_dot_product_attention(" + one + ", " + one + ", " + one + ", none, 0.0, false";
  const FormedOutput::Tensors tensors = {{2, 0, 0, 0, 0, 0, 0, 0}, {2, 0, 0, 0, 0, 0, 0, 0}, {1, 1, 1, 1, 0, 0, 0, 0}};
  for (const auto& [behind, score] : {std::tuple(")", 2.0), std::tuple(", scale=0.25)", 1.0)}) {
    const auto forms = forms_of(call + behind);
    for (const std::size_t form : some_forms(*forms, 9)) {
      CHECK(made_by(*forms, form, tensors)[0] == Approx(std::exp(score) / (std::exp(score) + 1)));
    }
  }
  // There are no steps to the root of a negative scale.
  const auto negative = forms_of(call + ", scale=-0.25)");
  CHECK(negative->text(negative->forms() - 1).starts_with("attention scores="));
}

// The gradient of a value that three heads share: a chain for each head, which are added one after the other.
SummationTree tree_of_heads(std::int32_t heads, std::int32_t queries, bool fused) {
  SummationTree tree;
  std::int32_t all = -1;
  for (std::int32_t head = 0; head < heads; ++head) {
    std::int32_t sum = tree.add_leaf(head * queries);
    for (std::int32_t i = 1; i < queries; ++i) sum = tree.add_sum(sum, tree.add_leaf(head * queries + i, fused));
    all = all < 0 ? sum : tree.add_sum(all, sum);
  }
  return tree;
}

// One element of width 1, seen by all queries.
float value_gradient_of(std::span<const float> factors, std::span<const float> dy, std::int32_t heads, bool fused) {
  const std::size_t queries = factors.size() / static_cast<std::size_t>(heads);
  std::vector<float> gradient(1);
  AttentionHead head;
  head.queries = queries;
  head.keys = head.width = 1;
  for (std::size_t first = 0; first < factors.size(); first += queries) {
    add_share_in_steps(head, 0, {factors.subspan(first, queries), dy.subspan(first, queries)}, {0, fused, false},
                       gradient);
  }
  return gradient[0];
}

bool is_taken(std::int32_t heads, std::int32_t terms, std::uint64_t seed, const auto& sum_of_draw) {
  std::vector<float> left(static_cast<std::size_t>(terms));
  std::vector<float> right(left.size());
  bool is_alive[] = {true, true};
  for (std::uint32_t round = 0; round < 1000; ++round) {
    draw(seed, round, left, right);
    const float made = sum_of_draw(left, right);
    for (const bool fused : {false, true}) {
      is_alive[fused ? 1 : 0] = is_alive[fused ? 1 : 0] && made == value_gradient_of(left, right, heads, fused);
    }
    if (!is_alive[0] && !is_alive[1]) return false;
  }
  return true;
}

TEST_CASE("none of 7,000 changes of a sum over heads that share a value is taken for the sum in its order",
          "[formed]") {
  constexpr std::int32_t kHeads = 3;
  int made = 0;
  int taken = 0;
  for (std::uint64_t seed = 1; made < 7'000; ++seed) {
    const std::int32_t queries = 8 + static_cast<std::int32_t>(seed % 8);
    const SummationTree order = tree_of_heads(kHeads, queries, seed % 2 == 0);
    const auto change = changed(order, kChanges[seed % std::size(kChanges)].change, seed);
    if (!change) continue;
    ++made;
    taken += is_taken(kHeads, kHeads * queries, seed,
                      [&](const auto& left, const auto& right) { return change->sum(left, right); })
                 ? 1
                 : 0;
  }
  CHECK(taken == 0);
  for (const bool fused : {false, true}) {
    const SummationTree order = tree_of_heads(kHeads, 13, fused);
    CHECK(is_taken(kHeads, 39, 1, [&](const auto& left, const auto& right) { return sum_of(order, {left, right}); }));
  }
  // Heads in another order.
  CHECK_FALSE(is_taken(kHeads, 39, 1, [&](const auto& left, const auto& right) {
    std::vector<float> turned[] = {{left.begin() + 13, left.end()}, {right.begin() + 13, right.end()}};
    turned[0].insert(turned[0].end(), left.begin(), left.begin() + 13);
    turned[1].insert(turned[1].end(), right.begin(), right.begin() + 13);
    return value_gradient_of(turned[0], turned[1], kHeads, true);
  }));
}

}  // namespace
}  // namespace stepwise_attention_test
}  // namespace reprobench
