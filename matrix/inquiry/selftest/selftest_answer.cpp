#include "matrix/inquiry/selftest/selftest_answer.hpp"

#include <sstream>

#include <fmt/format.h>

#include "matrix/inquiry/explain/source_diagnosis.hpp"

namespace reprobench {
namespace {

bool is_word_asked_for(ExplainedWord word, std::string_view answer) {
  if (answer == "rounding") return word == ExplainedWord::rounding;
  return word == ExplainedWord::defect || word == ExplainedWord::another_computation;
}

bool is_one_of(const std::string& name, std::string_view names) {
  if (names.empty()) return true;
  std::istringstream words{std::string(names)};
  for (std::string word; words >> word;) {
    if (word == name) return true;
  }
  return false;
}

}  // namespace

SelftestAnswer answer_to(const SelftestFault& fault, const Explanation& explanation) {
  if (!explanation.diagnosis) return {"no operator", "there is no diagnosis", false};
  const std::string blamed = blamed_operator(explanation);
  const ExplainedWord word = explanation.diagnosis->word;
  return {fmt::format("{} at {}", to_string(word), blamed.empty() ? "no operator" : blamed),
          explanation.diagnosis->sentence,
          is_word_asked_for(word, fault.answer) && !blamed.empty() && is_one_of(blamed, fault.operators)};
}

}  // namespace reprobench
