#include "matrix/stats/transfer_fit.hpp"

#include <vector>

#include "ci/catch.hpp"

namespace reprobench {
namespace {

TEST_CASE("a startup time and a bandwidth are found again", "[stats]") {
  std::vector<Transfer> transfers;
  for (const double bytes : {8.0, 4096.0, 65536.0, 1048576.0}) transfers.push_back({bytes, 20'000 + bytes / 2.5});
  const auto fit = fit_transfers(transfers);
  REQUIRE(fit);
  CHECK(fit->startup_ns == Approx(20'000));
  CHECK(fit->bandwidth_gb_per_s == Approx(2.5));
  CHECK(fit->worst_factor < 1 + 1e-9);
}

// The normal equations of three transfers, written out.
TEST_CASE("relative errors count alike, however long a transfer takes", "[stats]") {
  const std::vector<Transfer> transfers{{0, 10}, {1, 12}, {2, 40}};
  const auto fit = fit_transfers(transfers);
  REQUIRE(fit);
  const double xx = 1.0 / 100 + 1.0 / 144 + 1.0 / 1600;
  const double xy = 1.0 / 144 + 2.0 / 1600;
  const double yy = 1.0 / 144 + 4.0 / 1600;
  const double x = 1.0 / 10 + 1.0 / 12 + 1.0 / 40;
  const double y = 1.0 / 12 + 2.0 / 40;
  CHECK(fit->startup_ns * xx + xy / fit->bandwidth_gb_per_s == Approx(x));
  CHECK(fit->startup_ns * xy + yy / fit->bandwidth_gb_per_s == Approx(y));
  CHECK(fit->worst == 2);  // 21.7 instead of 40; 15.3 instead of 12 is nearer
  CHECK(fit->worst_factor == Approx(40 / (8.857645 + 2 * 6.432337)));
}

TEST_CASE("what no startup time and bandwidth explain is not fitted", "[stats]") {
  using Transfers = std::vector<Transfer>;
  CHECK_FALSE(fit_transfers(Transfers{}));
  CHECK_FALSE(fit_transfers(Transfers{{8, 10}, {64, 20}}));
  CHECK_FALSE(fit_transfers(Transfers{{8, 10}, {64, 20}, {64, 21}}));  // two sizes
  CHECK(fit_transfers(Transfers{{8, 10}, {64, 20}, {65, 21}}));
  CHECK_FALSE(fit_transfers(Transfers{{8, 30}, {64, 20}, {512, 10}}));  // faster the more passes
  CHECK_FALSE(fit_transfers(Transfers{{8, 1}, {64, 20}, {512, 500}}));  // less than nothing to begin with
  CHECK_FALSE(fit_transfers(Transfers{{8, 10}, {64, 0}, {512, 30}}));
  CHECK_FALSE(fit_transfers(Transfers{{8, 10}, {64, -1}, {512, 30}}));
  // A time so far below 0 that it would hardly move the fit of the others.
  CHECK(fit_transfers(Transfers{{8, 10}, {64, 20}, {512, 60}}));
  CHECK_FALSE(fit_transfers(Transfers{{8, 10}, {64, 20}, {512, 60}, {64, -1e9}}));
}

}  // namespace
}  // namespace reprobench
