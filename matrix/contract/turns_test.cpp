#include "matrix/contract/turns.hpp"

#include "ci/catch.hpp"
#include "matrix/contract/version.hpp"

namespace reprobench {
namespace {

CellRequest resident_request() {
  CellRequest request;
  request.cell_id = "3f9c1e0a7b52";
  request.nonce = "0123456789abcdef";
  request.rank = 1;
  request.workload = {"mlp", "default", 25, 32};
  request.turn_steps = 10;
  return request;
}

TEST_CASE("turns cut the steps into blocks, the last one of what is left", "[contract]") {
  const CellRequest request = resident_request();
  CHECK(count_of_turns(request) == 3);
  CHECK(to_json(turn_of(request, 0)) == to_json(Turn{0, 1, 10}));
  CHECK(to_json(turn_of(request, 2)) == to_json(Turn{2, 21, 25}));
  CHECK(block_of(request, 10) == 0);
  CHECK(block_of(request, 11) == 1);
  CellRequest alone = request;
  alone.turn_steps = 0;
  CHECK(count_of_turns(alone) == 0);
  CHECK_FALSE(block_of(alone, 1));
}

TEST_CASE("a turn is taken only from the file of this rank, and only with the steps of its block", "[contract]") {
  const CellRequest request = resident_request();
  CHECK_NOTHROW(require_turns_header(turns_header(request), request));
  CellRequest other = request;
  other.rank = 0;
  CHECK_THROWS_AS(require_turns_header(turns_header(other), request), ContractError);
  other = request;
  other.nonce = "ffffffffffffffff";
  CHECK_THROWS_AS(require_turns_header(turns_header(other), request), ContractError);
  CHECK(turn_from_json(to_json(turn_of(request, 1)), request, 1).first_step == 11);
  CHECK_THROWS_AS(turn_from_json(to_json(turn_of(request, 1)), request, 0), ContractError);
  CHECK_THROWS_AS(turn_from_json(to_json(Turn{1, 11, 21}), request, 1), ContractError);
}

}  // namespace
}  // namespace reprobench
