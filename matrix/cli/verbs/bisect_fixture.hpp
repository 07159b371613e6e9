// An axis of stacks whose workers are the fake one, for tests of `bisect`.
#pragma once

#include <nlohmann/json.hpp>

#include "matrix/cli/verbs/run_verb_fixture.hpp"

namespace reprobench {

using Texts = std::vector<std::string>;

// Stacks t-1.5.0 ... t-1.N.0, each of which does what it is told.
struct StackAxis : SmallProject {
  explicit StackAxis(Texts behaviours) : does(std::move(behaviours)) {
    for (std::size_t i = 0; i < does.size(); ++i) add_stack(name(i), small_stack(name(i), version(i)));
  }

  static std::string version(std::size_t i) { return fmt::format("1.{}.0", i + 5); }  // 1.10.0 comes after 1.9.0
  static std::string name(std::size_t i) { return "t-" + version(i); }

  // The workers, and more words.
  Texts with_workers(Texts words, const Texts& more) const {
    for (std::size_t i = 0; i < does.size(); ++i) {
      if (does[i].empty()) continue;  // not installed
      words.insert(words.end(), {"--worker", fmt::format("{}={} --do {}", name(i), kFake, does[i])});
    }
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  Said bisect(const Texts& more) const {
    return said_by(&declare_bisect, store(), with_workers({"--good", name(0), "--bad", name(does.size() - 1)}, more));
  }
  nlohmann::json document(Texts more) const {
    more.emplace_back("--json");
    return nlohmann::json::parse(bisect(more).out);
  }

  // As the command that shows a change has them.
  std::string worker_words(std::size_t i) const {
    return fmt::format(" --worker '{}={} --do {}'", name(i), kFake, does[i]);
  }

  Texts does;
};

}  // namespace reprobench
