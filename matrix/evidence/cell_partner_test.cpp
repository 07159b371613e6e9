#include "matrix/evidence/cell_partner.hpp"

#include "ci/catch.hpp"

namespace reprobench {
namespace {

Cell cell_on(const std::string& stack, const std::string& device, const std::string& seed = "1") {
  Cell cell;
  cell.request.suite = "operators";
  cell.request.workload.preset = "base";
  cell.request.cell_id = "3f9c1e0a7b52";
  cell.request.stack = stack;
  cell.request.device = device;
  cell.slug = "operators-" + stack;
  cell.coordinates = {{"stack", stack}, {"device", device}, {"seed", seed}};
  return cell;
}

std::optional<std::size_t> partner_among(const std::vector<Cell>& theirs) {
  std::vector<PairingPoint> points;
  for (const Cell& cell : theirs) points.push_back(pairing_point(cell));
  return partner_of(pairing_point(cell_on("a", "cpu")), points);
}

TEST_CASE("a partner differs in nothing, else in its stack alone, else in its device alone", "[evidence]") {
  CHECK(partner_among({cell_on("a", "sm_90"), cell_on("b", "cpu"), cell_on("a", "cpu")}) == 2U);
  CHECK(partner_among({cell_on("a", "sm_90"), cell_on("b", "cpu")}) == 1U);
  CHECK(partner_among({cell_on("b", "sm_90"), cell_on("a", "sm_90")}) == 1U);
  CHECK_FALSE(partner_among({cell_on("b", "sm_90")}));
  CHECK_FALSE(partner_among({}));
}

TEST_CASE("of two stacks that are as near neither is the partner, nor is a cell of another seed", "[evidence]") {
  CHECK_FALSE(partner_among({cell_on("b", "cpu"), cell_on("c", "cpu")}));
  CHECK_FALSE(partner_among({cell_on("a", "cpu", "2")}));
  CHECK(partner_among({cell_on("a", "cpu", "2"), cell_on("b", "cpu")}) == 1U);
}

TEST_CASE("the same cell of another host is nearer than another stack's, the own host's nearest", "[evidence]") {
  Cell elsewhere = cell_on("a", "cpu");
  elsewhere.coordinates["host"] = "gpu-b";
  CHECK(partner_among({cell_on("b", "cpu"), elsewhere}) == 1U);
  CHECK(partner_among({elsewhere, cell_on("a", "cpu")}) == 1U);
  CHECK(partner_among({elsewhere, elsewhere}) == 0U);
}

TEST_CASE("a cell is called by its slug, its id, or four digits of that and more", "[evidence]") {
  const Cell cell = cell_on("a", "cpu");
  for (const char* name : {"operators-a", "3f9c1e0a7b52", "3f9c"}) CHECK(is_called(cell, name));
  for (const char* name : {"operators", "3f9", "", "f9c1"}) CHECK_FALSE(is_called(cell, name));
}

}  // namespace
}  // namespace reprobench
