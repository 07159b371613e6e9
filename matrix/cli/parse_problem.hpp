// What is wrong with a command line that could not be parsed, and which help says more.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

namespace reprobench {

// "there is no option of stack adopt `--nme`; did you mean `--name`? See `reprobench stack adopt --help`". `app` is the
// whole program, after parse() threw `error`. CLI11 itself calls a mistyped verb a missing one and names no help.
std::string parse_problem(const CLI::App& app, const CLI::ParseError& error);

}  // namespace reprobench
