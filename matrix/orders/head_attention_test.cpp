#include "matrix/orders/head_attention.hpp"

#include <cmath>
#include <set>

#include "matrix/orders/attention_fixture.hpp"
#include "matrix/orders/changed_sums_fixture.hpp"

namespace reprobench {
namespace head_attention_test {
namespace {

using namespace test;

constexpr const char* kForward = Sizes::kForward;

TEST_CASE("an attention and its gradients are those of their definition, in every form", "[formed]") {
  // One block of queries and keys; several blocks of each, with a rest.
  const auto [at, step] = GENERATE(table<Sizes, std::size_t>({{{2, 20, 21, 8}, 1}, {{1, 70, 530, 4}, 37}}));
  const bool is_causal = GENERATE(false, true);
  CAPTURE(at.queries, at.keys, is_causal);
  const auto y = forms_of(at.forward(is_causal));
  auto tensors = drawn(at.forward(is_causal), *y, 0, at.heads * at.queries * at.width);
  const Exact exact(at, is_causal, tensors[0], tensors[1], tensors[2], tensors[3]);
  every_form_is_near(*y, tensors, exact.y, step);
  every_form_is_near(*forms_of(at.forward(is_causal), "output.1"), tensors, exact.log_sums, step);

  const FormedOutput::Tensors given = {tensors[3], tensors[0],         tensors[1],
                                       tensors[2], as_floats(exact.y), as_floats(exact.log_sums)};
  every_form_is_near(*forms_of(at.backward(is_causal), "output.0"), given, exact.dq, 7 * step);
  every_form_is_near(*forms_of(at.backward(is_causal), "output.1"), given, exact.dk, 7 * step);
  every_form_is_near(*forms_of(at.backward(is_causal), "output.2"), given, exact.dv, step);

  // The gradient of a forward call takes the outputs of that call, whatever form has made them.
  tensors.push_back(given[4]);
  tensors.push_back(given[5]);
  const auto dq = forms_of(at.forward(is_causal), "gradient.0");
  CHECK(dq->given_outputs() == std::vector<std::string>{"output.0", "output.1"});
  every_form_is_near(*dq, tensors, exact.dq, dq->forms() / 7);
}

TEST_CASE("a text of an attention's form is read again, and no other", "[formed]") {
  const Sizes at{1, 200, 600, 4};
  for (const auto& [call, output, step] : {std::tuple(at.forward(true), "output.0", 1),
                                           {at.forward(true), "output.1", 1},
                                           {at.forward(true), "gradient.1", 9973},
                                           {at.forward(true), "gradient.2", 977},
                                           {at.backward(true), "output.0", 11},
                                           {at.backward(true), "output.2", 1}}) {
    const auto forms = forms_of(call, output);
    std::set<std::string> texts;
    std::size_t asked = 0;
    for (std::size_t form = 0; form < forms->forms(); form += static_cast<std::size_t>(step)) {
      CAPTURE(forms->text(form));
      ++asked;
      texts.insert(forms->text(form));
      CHECK(is_canonical_order(forms->text(form), forms->terms()));
      CHECK_FALSE(forms->shape(form).empty());
    }
    CHECK(texts.size() == asked);
  }
  const std::string weights = "attention scores=f0 edges=1 scale=after exp=libm-2.99 lanes=16 rest=fp64 blocks=f";
  CHECK(is_form(weights));
  CHECK(is_form(weights + "; values=256 edges=1 times"));
  for (const char* text :
       {"attention scores=f0 edges=1 scale=after exp=short lanes=16 rest=fp64", "values=256 edges=1 times",
        "attention scores=f00 edges=1 scale=after exp=short lanes=16 rest=fp64 blocks=f",
        "attention scores=f0 edges=1 scale=after exp=libm- lanes=16 rest=fp64 blocks=f",
        "dattention scores=f0 edges=1 scale=after exp=sleef lanes=16 sums=rr products=0 edges=1",
        "attention scores=f0 edges=1 scale=after exp=short lanes=16 rest=fp64 blocks=f; values=256 edges=1 times; "}) {
    CAPTURE(text);
    CHECK_FALSE(is_form(text));
  }
}

TEST_CASE("what people read of an attention's form names products, exponentials and what is divided", "[formed]") {
  const WeightsForm weights = {
      {{0, false}, true, false}, Functions::short_series, {16, false, false, false}, true, true};
  CHECK(attention_shape(weights) ==
        "scores in one chain, fused, then scaled; short exponentials in 16 lanes, the rest in fp64");
  CHECK(
      attention_shape(WeightsForm{{{96, true}, false, true}, Functions::sleef, {8, true, false, false}, false, true}) ==
      "scores in pieces of 96 and two strands at edges, not fused, of scaled keys; Sleef's exponentials in 8 lanes in "
      "turn");
  CHECK(values_shape({weights, {256, false}, false}) == "values in pieces of 256, times 1 / sum");
  CHECK(values_shape({weights, {0, true}, true}) ==
        "values in one chain and two strands at edges of weights that are divided by their sum");
  AttentionGradientForm gradient = {{{0, false}, true, false}, Functions::sleef, {16, false, false, false}, {}, {}};
  CHECK(attention_shape(gradient, AttentionInput::value) ==
        "gradient by Sleef's exponentials of scores in one chain, fused, then scaled; products in one chain");
  const std::string of_key =
      "gradient by Sleef's exponentials of scores in one chain, fused, then scaled; dy y in 16 lanes, not fused";
  CHECK(attention_shape(gradient, AttentionInput::key) == of_key + "; products in one chain, then scaled");
  gradient.scale = GradientScale::fused;
  CHECK(attention_shape(gradient, AttentionInput::key) ==
        of_key + "; products in one chain, then scaled and added, fused");
  gradient.scale = GradientScale::factors;
  CHECK(attention_shape(gradient, AttentionInput::key) == of_key + "; products in one chain of scaled factors");
}

// The form of 2.9.0 under AVX-512 is told apart from all others by random inputs. With two blocks of queries or keys a
// scaled product that is added fused shows, too.
TEST_CASE("another form of an attention gives other bits", "[formed]") {
  const std::string scores = "scores=f0 edges=1 scale=after ";
  const std::string gradient = "dattention " + scores + "exp=sleef lanes=16 sums=rr gradient=after products=";
  struct Case {
    std::string call, output, text;
  };
  const Sizes few{2, 40, 41, 40};
  const Sizes many{1, 3, 600, 40};
  for (const Case& one :
       {Case{few.forward(false), "output.0",
             "attention " + scores + "exp=short lanes=16 rest=fp64 blocks=f; values=0 edges=1 times"},
        Case{many.forward(false), "output.0",
             "attention " + scores + "exp=short lanes=16 rest=fp64 blocks=f; values=256 edges=1 times"},
        Case{many.backward(false), "output.0", gradient + "256 edges=1"},
        Case{few.backward(false), "output.1", gradient + "0 edges=1"},
        Case{few.backward(false), "output.2", "dattention " + scores + "exp=sleef products=0 edges=1"}}) {
    const auto forms = forms_of(one.call, one.output);
    std::size_t is = 0;
    while (is < forms->forms() && forms->text(is) != one.text) ++is;
    CAPTURE(one.text);
    REQUIRE(is < forms->forms());
    std::vector<std::size_t> alive;
    for (std::size_t form = 0; form < forms->forms(); ++form) alive.push_back(form);
    for (std::int64_t round = 0; round < 24 && alive.size() > 1; ++round) {
      const auto tensors = drawn(one.call, *forms, round);
      const std::vector<float> expected = made_by(*forms, is, tensors);
      std::erase_if(alive, [&](std::size_t form) {
        for (std::int64_t unit = 0; unit < forms->units(); ++unit) {
          std::vector<FormedOutput::Value> values;
          forms->compute(form, tensors, unit, values);
          for (const auto& [element, value] : values) {
            if (value != expected[static_cast<std::size_t>(element)]) return true;
          }
        }
        return false;
      });
    }
    for (const std::size_t form : alive) CHECK(forms->text(form) == one.text);
  }
}

SummationTree chain_tree(std::int32_t terms, const ChainForm& form) {
  SummationTree tree;
  const auto size = form.piece == 0 ? terms : static_cast<std::int32_t>(form.piece);
  std::int32_t sum = -1;
  for (std::int32_t first = 0; first < terms; first += size) {
    const std::int32_t end = std::min(terms, first + size);
    const auto chain = [&](std::int32_t begun, std::int32_t from, std::int32_t to, std::int32_t step) {
      for (std::int32_t term = from; term < to; term += step)
        begun = tree.add_sum(begun, tree.add_leaf(term, form.fused));
      return begun;
    };
    std::int32_t piece = tree.add_leaf(first);
    if (form.in_strands && end - first > 1) {
      const std::int32_t pairs = first + (end - first) / 2 * 2;
      piece = chain(piece, first + 2, pairs, 2);
      piece = chain(tree.add_sum(piece, chain(tree.add_leaf(first + 1), first + 3, pairs, 2)), pairs, end, 1);
    } else {
      piece = chain(piece, first + 1, end, 1);
    }
    sum = sum < 0 ? piece : tree.add_sum(sum, piece);
  }
  return tree;
}

TEST_CASE("none of 7,000 changes of a sum over values is taken for a chain or for pieces of one", "[formed]") {
  constexpr float kInverse = 1 / 3.7F;
  std::vector<ChainForm> forms;
  for (const std::size_t piece : {0U, 12U, 16U}) {
    for (const bool fused : {true, false}) {
      for (const bool in_strands : {false, true}) forms.push_back({piece, fused, in_strands});
    }
  }
  const auto is_taken = [&](std::int32_t terms, std::uint64_t seed, auto&& sum_of_draw) {
    std::vector<float> left(static_cast<std::size_t>(terms));
    std::vector<float> right(left.size());
    std::vector<ChainForm> alive = forms;
    for (std::uint32_t round = 0; round < 1000 && !alive.empty(); ++round) {
      draw(seed, round, left, right);
      const float y = sum_of_draw(left, right) * kInverse;
      std::erase_if(alive, [&](const ChainForm& form) {
        return y != kInverse * chain_sum(
                                   left.size(), form, [&](std::size_t i) { return left[i]; },
                                   [&](std::size_t i) { return right[i]; });
      });
    }
    return !alive.empty();
  };
  int made = 0;
  int taken = 0;
  for (std::uint64_t seed = 1; made < 7'000; ++seed) {
    const auto terms = 24 + static_cast<std::int32_t>(seed % 24);
    const SummationTree order = chain_tree(terms, forms[seed / 7 % forms.size()]);
    const auto change = changed(order, kChanges[seed % std::size(kChanges)].change, seed);
    if (!change) continue;
    const bool is_another = std::ranges::any_of(
        forms, [&](const ChainForm& form) { return order_text(chain_tree(terms, form)) == order_text(change->order); });
    if (is_another && (change->change == Change::fused || change->change == Change::order)) continue;
    ++made;
    taken +=
        is_taken(terms, seed, [&](const auto& left, const auto& right) { return change->sum(left, right); }) ? 1 : 0;
  }
  CHECK(taken == 0);
  for (const ChainForm& form : forms) {
    const SummationTree order = chain_tree(37, form);
    CHECK(is_taken(37, 1, [&](const auto& left, const auto& right) { return sum_of(order, {left, right}); }));
  }
}

TEST_CASE("queries come in blocks by their number, and rows that fill no tile are edges", "[formed]") {
  CHECK(queries_of_block(191) == 32);
  CHECK(queries_of_block(192) == 64);
  CHECK(queries_of_block(767) == 64);
  CHECK(queries_of_block(768) == 256);
  const auto edges = [](std::size_t rows) {
    std::vector<std::size_t> found;
    for (std::size_t row = 0; row < rows; ++row) {
      const ChainForm chain = TiledForm{96, true}.chain(true, row, rows);
      CHECK(chain.piece == 96);
      CHECK(chain.fused != chain.in_strands);
      if (chain.in_strands) found.push_back(row);
    }
    return found;
  };
  CHECK(edges(32) == std::vector<std::size_t>{30, 31});
  CHECK(edges(64).empty());
  CHECK(edges(13) == std::vector<std::size_t>{12});
  CHECK(edges(11) == std::vector<std::size_t>{10});
  CHECK(TiledForm{0, false}.chain(true, 31, 32) == ChainForm{0, true, false});
  CHECK(AttentionHead{{}, {}, {}, 5, 3, 1, true, 1}.keys_of(1) == 2);
  CHECK(AttentionHead{{}, {}, {}, 5, 3, 1, true, 1}.keys_of(4) == 3);
  CHECK(AttentionHead{{}, {}, {}, 5, 3, 1, false, 1}.keys_of(0) == 3);
}

// One query of width 1, so that each score is the key itself.
float attended(const std::vector<float>& keys, const std::vector<float>& values, const AttentionForm& form) {
  const std::vector<float> q = {1};
  std::vector<float> y(1);
  attend({q, keys, values, 1, keys.size(), 1, false, 1}, 0, form, y);
  return y[0];
}

TEST_CASE(
    "behind the last vector, weights are the C library's in fp64, and all fade where a later block has a larger one",
    "[formed]") {
  const AttentionForm form = {{{}, Functions::short_series, {8, false, false, false}, true, true}, {}, false};
  // Eight keys fill a vector, the ninth is the rest.
  std::vector<float> keys(9);
  std::vector<float> values(9);
  keys[8] = -0.4F;
  values[8] = 1;
  const auto rest = static_cast<float>(std::exp(static_cast<double>(keys[8])));
  REQUIRE(rest != short_exp(keys[8]));
  CHECK(attended(keys, values, form) == rest * (1 / (8 + rest)));
  AttentionForm in_lanes = form;
  in_lanes.weights.is_rest_in_fp64 = false;
  CHECK(attended(keys, values, in_lanes) != attended(keys, values, form));

  std::vector<float> many(kKeysOfBlock + 1);
  many.back() = 5;
  std::vector<float> ones(many.size(), 1);
  ones.back() = 3;
  const double of_last = std::exp(5.0);
  CHECK(attended(many, ones, form) == Approx((512 + 3 * of_last) / (512 + of_last)).epsilon(1e-5));
}

TEST_CASE("what is no attention in fp32 without dropout and mask says so", "[formed]") {
  const std::string one = "f32[1, 2, 8, 4]";
  const auto of = [&](const std::string& q, const std::string& k, const std::string& v, const std::string& behind) {
    return why_none(std::string(kForward) + "(" + q + ", " + k + ", " + v + behind + ")");
  };
  const std::string no = "it is called in a way that is not known to be an attention in fp32 without dropout and mask";
  CHECK(of("bf16[1, 2, 8, 4]", one, one, ", 0.0, true") == no);
  CHECK(of(one, one, "bf16[1, 2, 8, 4]", ", 0.0, true") == no);
  CHECK(of(one, "f32[1, 1, 8, 4]", "f32[1, 1, 8, 4]", ", 0.0, true") == no);
  CHECK(of(one, one, "f32[1, 2, 9, 4]", ", 0.0, true") == no);
  CHECK(of("f32[2, 8, 4]", "f32[2, 8, 4]", "f32[2, 8, 4]", ", 0.0, true") == no);
  CHECK(of("f32[1, 2, 0, 4]", "f32[1, 2, 0, 4]", "f32[1, 2, 0, 4]", ", 0.0, true") == no);
  CHECK(of(one, one, one, ", 0.5, true") == no);
  CHECK(of(one, one, one, ", 0.0, true, f32[8, 8]") == no);
  CHECK(of(one, one, one, ", 0.0, true, scale=0.5") == no);
  const Sizes at{1, 8, 8, 4};
  const std::string other = at.backward(true);
  CHECK(why_none(other.substr(0, other.find("f32[1, 1, 8]")) + "f32[1, 8], 0.0, true)") == no);
  CHECK(why_none(at.forward(true), "output.2") == "nothing is added up in it, as far as is known");
  CHECK(why_none(at.backward(true), "gradient.0") == "nothing is added up in it, as far as is known");
}

TEST_CASE("an attention takes the scale that it is given, else one by the square root of the width", "[formed]") {
  const std::string one = "f32[1, 1, 2, 4]";
  const std::string call = std::string(kForward) + "(" + one + ", " + one + ", " + one + ", 0.0, false";
  const FormedOutput::Tensors tensors = {{2, 0, 0, 0, 0, 0, 0, 0}, {2, 0, 0, 0, 0, 0, 0, 0}, std::vector<float>(8)};
  CHECK(made_by(*forms_of(call + ")", "output.1"), 0, tensors)[0] == Approx(std::log(std::exp(2.0) + 1)));
  CHECK(made_by(*forms_of(call + ", none, 0.25)", "output.1"), 0, tensors)[0] == Approx(std::log(std::exp(1.0) + 1)));
}

}  // namespace
}  // namespace head_attention_test
}  // namespace reprobench
