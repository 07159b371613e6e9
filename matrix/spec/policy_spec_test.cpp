#include "matrix/spec/policy_spec.hpp"

#include "ci/catch.hpp"
#include "matrix/spec/spec_fixture.hpp"

namespace reprobench {
namespace {

using std::chrono::hours;
using std::chrono::minutes;

std::string policy_error(const std::string& text) {
  return spec_error_of([&] { parse_policy(text, "p.yaml"); });
}

TEST_CASE("a policy of untrusted runs gives each bound, and keeps the default of one that it leaves out", "[spec]") {
  const UntrustedPolicy policy = parse_policy(
      "schema: 1\nstacks: [old, new]\nworkloads: [mlp]\ncells: 50\nrepeats: 10\nattempt: 10m\nrun: 2h\n"
      "attempt_disk: 256MiB\n",
      "p.yaml");
  CHECK(policy.stacks == std::set<std::string>{"new", "old"});
  CHECK(policy.workloads == std::set<std::string>{"mlp"});
  CHECK(policy.cells == 50);
  CHECK(policy.repeats == 10);
  CHECK(policy.attempt == minutes(10));
  CHECK(policy.run == hours(2));
  CHECK(policy.attempt_disk_bytes == 256 << 20);

  const UntrustedPolicy none = parse_policy("schema: 1\n", "p.yaml");
  CHECK(none.stacks.empty());
  CHECK(none.workloads.empty());
  CHECK(none.cells == 1'000);
  CHECK(none.repeats == 100);
  CHECK(none.attempt == hours(1));
  CHECK(none.run == hours(24));
  CHECK(none.attempt_disk_bytes == 1 << 30);
}

TEST_CASE("a policy that allows nothing, or that cannot be read to its end, is refused with its place", "[spec]") {
  CHECK(policy_error("schema: 1\nstacks: []\n") == "p.yaml:2:9: error[RB023]: `stacks` allows none");
  CHECK(policy_error("schema: 1\nworkloads: []\n") == "p.yaml:2:12: error[RB023]: `workloads` allows none");
  CHECK(policy_error("schema: 1\nstacks: mlp\n") ==
        "p.yaml:2:9: error[RB019]: `stacks` must be a list such as [a, b], got `mlp`");
  CHECK(policy_error("schema: 1\ncells: 0\n") == "p.yaml:2:8: error[RB021]: `cells` must be from 1 to 100000, got `0`");
  CHECK(policy_error("schema: 1\nrepeats: 1001\n") ==
        "p.yaml:2:10: error[RB021]: `repeats` must be from 1 to 1000, got `1001`");
  CHECK(policy_error("schema: 1\nrun: 3\n") != "");
  CHECK(policy_error("schema: 1\nattempt_disk: 10\n") ==
        "p.yaml:2:15: error[RB019]: `attempt_disk` must be a size such as 2GiB, got `10`");
  CHECK(policy_error("schema: 1\nworkload: [mlp]\n") ==
        "p.yaml:2:1: error[RB009]: unknown key `workload`; did you mean `workloads`?");
  CHECK(policy_error("cells: 5\n") == "p.yaml:1:1: error[RB018]: required key `schema` is missing");
  CHECK(policy_error("") == "p.yaml:1:1: error[RB001]: file has no content; a policy needs `schema:`");
}

}  // namespace
}  // namespace reprobench
