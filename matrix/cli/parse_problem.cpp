#include "matrix/cli/parse_problem.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <regex>
#include <set>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "matrix/spec/nearest_name.hpp"

namespace reprobench {
namespace {

// The verb, or the part of one such as `stack adopt`, that was being parsed, with its name as it is typed.
struct Asked {
  const CLI::App* app;
  std::string name;  // empty: no verb yet
};

Asked asked_of(const CLI::App& program) {
  Asked asked{&program, ""};
  while (!asked.app->get_subcommands().empty()) {
    asked.app = asked.app->get_subcommands().front();
    asked.name += (asked.name.empty() ? "" : " ") + asked.app->get_name();
  }
  return asked;
}

// The options of a verb and of all, as they are typed.
std::vector<std::string> options_of(const CLI::App& app) {
  std::set<std::string> names;  // `--help` is of both
  for (const CLI::App* at = &app; at != nullptr; at = at->get_parent()) {
    for (const CLI::Option* option : at->get_options()) {
      for (const std::string& name : option->get_lnames()) names.insert("--" + name);
    }
  }
  return {names.begin(), names.end()};
}

std::vector<std::string> parts_of_verb(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* part : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(part->get_name());
  }
  return names;
}

// One that is missing is told with what it is; a choice of few words with the words.
std::string missing_text(const std::string& verb, const std::vector<const CLI::Option*>& missing) {
  std::vector<std::string> names;
  for (const CLI::Option* option : missing) names.push_back(fmt::format("`{}`", option->get_name()));
  if (missing.size() > 1) return fmt::format("{} needs {}", verb, fmt::join(names, " and "));
  const std::string type = missing.front()->get_type_name();
  const bool is_choice = type.find('|') != std::string::npos;
  return fmt::format("{} needs {}: {}", verb, names.front(), is_choice ? type : missing.front()->get_description());
}

// CLI11 says `--states: Value x not in range 0.000000 to 17976931...`, with all 309 digits of the largest number.
std::string value_text(const CLI::App& app, const std::string& said) {
  static const std::regex kRange(R"((-[^:]*): Value (.*) not in range \[?(\S+) (?:to|-) ([^\]]+)\]?)");
  static const std::regex kConversion("Could not convert: (-[^ ]*) = (.*)");
  static const std::regex kMissing("(-[^:]*): 1 required .* missing");
  std::smatch match;
  if (std::regex_match(said, match, kConversion))
    return fmt::format("{} does not take `{}`", match.str(1), match.str(2));
  if (std::regex_match(said, match, kMissing)) return match.str(1) + " needs a value";
  if (!std::regex_match(said, match, kRange)) return said;
  const CLI::Option* option = app.get_option_no_throw(match.str(1));
  const bool is_whole = option != nullptr && option->get_type_name().starts_with("INT");
  const double largest = std::strtod(match.str(4).c_str(), nullptr);
  return fmt::format("{} takes a {}number from {:g}{}, not `{}`", match.str(1), is_whole ? "whole " : "",
                     std::strtod(match.str(3).c_str(), nullptr),
                     largest < std::numeric_limits<float>::max() ? fmt::format(" to {}", largest) : " on",
                     match.str(2));
}

std::string problem_of(const CLI::App& program, const Asked& asked, const CLI::ParseError& error) {
  const std::vector<std::string> extras = program.remaining(true);
  const auto option =
      std::find_if(extras.begin(), extras.end(), [](const std::string& word) { return word.starts_with('-'); });
  if (option != extras.end()) {
    return unknown_name(asked.name.empty() ? "option" : "option of " + asked.name, option->substr(0, option->find('=')),
                        options_of(*asked.app));
  }
  if (const std::vector<std::string> parts = parts_of_verb(*asked.app); !parts.empty()) {
    if (!extras.empty()) {
      return unknown_name(asked.name.empty() ? "verb" : asked.name + " command", extras.front(), parts);
    }
    if (!asked.name.empty()) return fmt::format("{} needs one of {}", asked.name, fmt::join(parts, ", "));
    return "name a verb, such as `reprobench run`";
  }
  std::vector<const CLI::Option*> missing;
  for (const CLI::Option* needed : asked.app->get_options()) {
    if (needed->get_required() && needed->count() == 0) missing.push_back(needed);
  }
  if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr && !missing.empty()) {
    return missing_text(asked.name, missing);
  }
  if (!extras.empty()) return fmt::format("{} takes no further argument, got `{}`", asked.name, extras.front());
  return value_text(*asked.app, error.what());
}

}  // namespace

std::string parse_problem(const CLI::App& app, const CLI::ParseError& error) {
  const Asked asked = asked_of(app);
  const std::string problem = problem_of(app, asked, error);
  return fmt::format("{}{} `reprobench{}{} --help`", problem, problem.ends_with('?') ? " See" : "; see",
                     asked.name.empty() ? "" : " ", asked.name);
}

}  // namespace reprobench
