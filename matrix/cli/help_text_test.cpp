#include "matrix/cli/help_text.hpp"

#include <memory>
#include <vector>

#include "ci/catch.hpp"

namespace reprobench {
namespace {

TEST_CASE("help breaks descriptions between words and writes ranges in a few characters", "[cli]") {
  CLI::App app{"", "reprobench"};
  app.formatter(std::make_shared<HelpFormatter>());
  app.set_help_flag();
  int steps = 20;
  double share = 0;
  std::vector<int> states;
  app.add_option("--steps", steps, "Steps of that training, as many as it takes to see that both sides train alike")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  app.add_option("--share", share, "Of the cores")->check(CLI::Range(0.0, 0.5));
  app.add_option("--states", states, "After these")->check(CLI::NonNegativeNumber);
  const std::string help = app.help();
  CHECK(help.substr(help.find("  --steps")) ==
        "  --steps INT 1..1000000=20   Steps of that training, as many as it takes to see\n"
        "                              that both sides train alike\n"
        "  --share FLOAT 0..0.5        Of the cores\n"
        "  --states INT 0.. ...        After these\n\n");
}

}  // namespace
}  // namespace reprobench
