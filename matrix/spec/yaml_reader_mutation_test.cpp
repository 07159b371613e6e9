// Damaged files never crash a parser, never take long, and give either a spec or a SpecError. The same inputs in every
// run: an LCG drives the mutations. yaml_reader_fuzz.cpp is the unbounded form of this.
#include "ci/catch.hpp"
#include "matrix/spec/spec_fixture.hpp"

using namespace reprobench;

namespace {

// Knuth's MMIX constants.
class Lcg {
 public:
  std::size_t below(std::size_t limit) {
    state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<std::size_t>(state_ >> 33) % limit;
  }

 private:
  std::uint64_t state_ = 1;
};

const std::vector<std::string>& seeds() {
  static const std::vector<std::string> kSeeds = {
      std::string(kGoodMatrix) +
          "zip: []\ninclude: [{stack: c, device: cpu}]\nexclude: [{where: \"device == cpu and not (stack in (a, "
          "b))\"}]\n"
          "required: [{device: cpu}]\nrepeat: 3\nlimits: {total: 10m, grace: 10s}\n"
          "thresholds:\n  throughput.step_time: {max_regression: 5%, vs: reference}\n"
          "inject: [{where: {stack: a}, repeat: 1, kind: weight_ulp, step: 20, tensor: fc1.weight, element: 5}]\n",
      std::string(kGoodSuite) +
          "knobs: {threads: 2}\ntrace: tensor\nrepeat: 3\nexclusive: true\n"
          "thresholds:\n  memory.peak_rss: [{max: 1GiB}, {gate: record_only, where: {device: cpu}}]\n",
      "schema: 1\nname: s\nsource: wheel\ncomponents: {torch: \"2.9.0+cu128\"}\ncxx11_abi: 1\ncxx_standard: 17\n"
      "wheel: {python: \"3.12\", lock: s.lock, cpu_wheels: [torch]}\n",
      "a: &a [*a, !!x 'y', \"\\u0000\", <<: {}, ${V}]\n? [complex]\n: |\n  block\n--- {}\n...\n%YAML 1.2\n"};
  return kSeeds;
}

const std::vector<std::string>& fragments() {
  static const std::vector<std::string> kFragments = {
      "[",  "]",    "{",     "}",   ":",    ": ", "- ",   "\n",       "\n  ",  "\"",   "'",   "&a ",
      "*a", "!!t ", "<<: ",  "|\n", ">-\n", "? ", "%",    "---\n",    "...\n", "#",    "\t",  ",",
      "0x", "-",    "1e400", "~",   "null", "\\", "\xC0", "\xFF\xFE", "${",    "((((", "not "};
  return kFragments;
}

std::string mutated(std::string text, Lcg& random) {
  const std::size_t edits = 1 + random.below(4);
  for (std::size_t i = 0; i < edits && !text.empty(); ++i) {
    const std::size_t at = random.below(text.size());
    switch (random.below(5)) {
      case 0:
        text[at] = static_cast<char>(random.below(256));
        break;
      case 1:
        text.erase(at, 1 + random.below(8));
        break;
      case 2:
        text.insert(at, fragments()[random.below(fragments().size())]);
        break;
      case 3:
        text.insert(at, text.substr(random.below(text.size()), random.below(40)));
        break;
      default:
        text.resize(at);
    }
  }
  return text;
}

// Any exception but SpecError leaves here and fails the test.
bool parses_or_says_why(const std::string& text) {
  for (const std::string& error :
       {matrix_error(text), suite_error(text), spec_error_of([&] { parse_stack(text, "t.yaml"); })}) {
    if (!error.empty() && error.find(": error[RB") == std::string::npos) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("damaged files give a spec or a SpecError and nothing else", "[spec]") {
  Lcg random;
  for (int round = 0; round < 5'000; ++round) {
    const std::string text = mutated(seeds()[random.below(seeds().size())], random);
    INFO(text);
    REQUIRE(parses_or_says_why(text));
  }
}

TEST_CASE("inputs built to be slow or deep are refused", "[spec]") {
  const std::size_t size = 1u << 19;
  for (const std::string unit :
       {"[", "{", "- ", "? ", "a: ", "[{", "&a ", "!!t ", "\"", "'", "*a ", "a: [", "#", "%a\n", "|\n"}) {
    std::string text;
    while (text.size() < size) text += unit;
    INFO(unit);
    CHECK(parses_or_says_why(text));
    CHECK_FALSE(matrix_error(text).empty());
  }
}

TEST_CASE("a selection nested without end is refused", "[spec]") {
  for (const std::string unit : {"(", "not "}) {
    std::string text;
    for (int i = 0; i < 20'000; ++i) text += unit;
    CHECK(spec_error_of([&] { Selector::parse(text, {"m.yaml", 1, 1}); }).find("error[RB015]") != std::string::npos);
  }
}
