#include "matrix/orders/order_recovery.hpp"

#include <algorithm>

#include "ci/catch.hpp"
#include "matrix/orders/ordered_box.hpp"

namespace reprobench {
namespace {

std::string recovered_text(const std::string& text, std::int32_t products) {
  const SummationTree order = parse_order(text);
  const RecoveredOrder recovered =
      recover_order(static_cast<std::int32_t>(order.terms()), products, box_of(order, products));
  return recovered.problem.empty() ? order_text(recovered.order) : recovered.problem;
}

TEST_CASE("the order of a black box is read off its results", "[orders]") {
  for (const std::string text : {"0", "(0 1)", "(0..6)", "(0..6/2 (1..5/2))", "(2 3 1 0)", "(0 1 (2 3) (4 5 (6 7)))"}) {
    CHECK(recovered_text(text, 0) == text);
  }
  for (const std::string text :
       {"(0 1f)", "(1 0f)", "(0..6f)", "(0..6/2f (1..5/2f))", "(0 1 2..4f)", "(0..2f (3..5))"}) {
    CHECK(recovered_text(text, static_cast<std::int32_t>(parse_order(text).terms())) == text);
  }
}

TEST_CASE("a bias is a term that has no factor to be fused", "[orders]") {
  CHECK(recovered_text("(4 0..3f)", 4) == "(4 0..3f)");
  CHECK(recovered_text("(0..3f 4)", 4) == "(0..3f 4)");
  const SummationTree order = parse_order("(0..3f 4)");
  recover_order(5, 4, [&](std::span<const Question> questions) {
    for (const Question& one : questions) CHECK((one.kind == Question::Kind::outside || one.first < 4));
    return box_of(order, 4)(questions);
  });
}

TEST_CASE("200 orders by chance are recovered, fused products and all", "[orders]") {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const auto terms = 2 + static_cast<std::int32_t>(seed % 70);
    const SummationTree order = order_by_chance(seed, terms);
    const RecoveredOrder recovered = recover_order(terms, terms, box_of(order, terms));
    CAPTURE(seed, recovered.problem);
    CHECK(order_text(recovered.order) == order_text(order));
  }
}

TEST_CASE("a chain of 1000 terms takes few thousand questions, not one for every pair", "[orders]") {
  for (const std::string text : {"(0..999f)",
                                 "(0..992/16f (1..993/16f) (2..994/16f) (3..995/16f) (4..996/16f) (5..997/16f) "
                                 "(6..998/16f) (7..999/16f) (8..984/16f) (9..985/16f) (10..986/16f) (11..987/16f) "
                                 "(12..988/16f) (13..989/16f) (14..990/16f) (15..991/16f))"}) {
    const SummationTree order = parse_order(text);
    const RecoveredOrder recovered = recover_order(1000, 1000, box_of(order, 1000));
    CHECK(order_text(recovered.order) == text);
    CHECK(recovered.questions < 12'000);
    CHECK(recovered.questions > 1'000);
  }
}

TEST_CASE("what is no sum of its terms has no order, and the reason says what was seen", "[orders]") {
  const SummationTree order = parse_order("(0..7)");
  const BlackBox right = box_of(order, 0);
  const auto problem_of = [](const BlackBox& box) { return recover_order(8, 0, box).problem; };
  const auto changed = [&](auto change) {
    return problem_of([&](std::span<const Question> questions) {
      std::vector<double> answers = right(questions);
      for (double& answer : answers) answer = change(answer);
      return answers;
    });
  };
  CHECK(changed([](double answer) { return answer; }).empty());
  CHECK(changed([](double answer) { return answer + 0.5; }).starts_with("it is no sum of these terms: terms "));
  CHECK(changed([](double) { return 7.0; }).starts_with("it is no sum of these terms: terms "));
  CHECK(changed([](double) { return -1.0; }).starts_with("it is no sum of these terms: terms "));
  CHECK(changed([](double) { return std::nan(""); }).starts_with("it is no sum of these terms: terms "));
  CHECK(changed([](double) { return 3.0; }) == "it is no tree of additions of two: 8 terms share a partial sum of 5");
  CHECK(recover_order(0, 0, right).problem == "a sum of no terms");
}

TEST_CASE("three terms that hardware adds at once are no tree of additions of two", "[orders]") {
  // Of (0 + 1 + 2) any two cancel, and what is left of the third is lost or kept alike for every pair.
  const BlackBox box = [](std::span<const Question> questions) { return std::vector<double>(questions.size(), 0.0); };
  CHECK(recover_order(3, 0, box).problem == "it is no tree of additions of two: 2 terms share a partial sum of 3");
}

TEST_CASE("a recovery that needs more questions than it may ask ends", "[orders]") {
  const SummationTree order = parse_order("(0..99)");
  const RecoveredOrder recovered = recover_order(100, 0, box_of(order, 0), {150});
  CHECK(recovered.problem == "more than 150 probes");
  CHECK(recovered.order.empty());
}

TEST_CASE("a box that lies about one probe in a hundred is found out by its answers or by a replay", "[orders]") {
  int wrong_orders = 0;
  int problems = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const SummationTree order = order_by_chance(seed, 40);
    std::uint64_t asked = seed;
    const BlackBox box = [&](std::span<const Question> questions) {
      std::vector<double> answers = box_of(order, 40)(questions);
      for (double& answer : answers) answer += ++asked % 100 == 0 ? 1 : 0;
      return answers;
    };
    const RecoveredOrder recovered = recover_order(40, 40, box);
    if (!recovered.problem.empty()) {
      ++problems;
      continue;
    }
    if (order_text(recovered.order) == order_text(order)) continue;
    ++wrong_orders;
    bool is_found_out = false;
    for (std::uint32_t round = 0; round < 1000 && !is_found_out; ++round) {
      std::vector<float> left;
      for (std::uint32_t i = 0; i < 80; ++i) {
        left.push_back((static_cast<float>(philox4x32_10({{i, round, 0, 0}}, {{3, 5}}).word[0]) - 0x1p31F) * 0x1p-31F);
      }
      const std::span<const float> all(left);
      const SumOperands<float> operands{all.first(40), all.last(40)};
      is_found_out = sum_of(recovered.order, operands) != sum_of(order, operands);
    }
    CHECK(is_found_out);
  }
  CHECK(problems > 50);
  CHECK(wrong_orders > 5);
}

TEST_CASE("a product that joins unrounded after it had joined others is refused", "[orders]") {
  const SummationTree order = parse_order("(0..3 (4 5))");
  const BlackBox box = [&](std::span<const Question> questions) {
    std::vector<double> answers = box_of(order, 6)(questions);
    for (std::size_t i = 0; i < answers.size(); ++i) {
      if (questions[i].kind == Question::Kind::fused && questions[i].first == 2) answers[i] = -1;
    }
    return answers;
  };
  CHECK(recover_order(6, 6, box).problem.find("unrounded, after it had joined others") != std::string::npos);
}

}  // namespace
}  // namespace reprobench
