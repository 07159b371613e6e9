// How `--help` writes options: in lines of 80 columns, "--steps INT 4..1000000" instead of "INT:INT in [4 - 1e+06]".
#pragma once

#include <string>

#include <CLI/CLI.hpp>

namespace reprobench {

class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_option_opts(const CLI::Option* option) const override;
  std::string make_option_desc(const CLI::Option* option) const override;
};

}  // namespace reprobench
