#include "matrix/contract/turns.hpp"

#include <algorithm>

#include "matrix/contract/document/reader.hpp"

namespace reprobench {

using nlohmann::json;

std::int64_t count_of_turns(const CellRequest& request) {
  return request.turn_steps > 0 ? *block_of(request, last_step_of(request)) + 1 : 0;
}

Turn turn_of(const CellRequest& request, std::int64_t block) {
  const std::int64_t first = first_step_of(request) + block * request.turn_steps;
  return {block, first, std::min(first + request.turn_steps - 1, last_step_of(request))};
}

json turns_header(const CellRequest& request) {
  return written(TurnsHeader{request.cell_id, request.nonce, request.rank});
}

json to_json(const Turn& turn) { return written(turn); }

void require_turns_header(const json& body, const CellRequest& request) {
  const auto header = read_document<TurnsHeader>(body);
  if (header.nonce != request.nonce || header.rank != request.rank) {
    throw ContractError("turns: of another attempt or rank");
  }
}

Turn turn_from_json(const json& body, const CellRequest& request, std::int64_t block) {
  const auto turn = read_document<Turn>(body);
  if (to_json(turn) != to_json(turn_of(request, block))) {
    throw ContractError("turns: block " + std::to_string(turn.block) + " has other steps than were asked for");
  }
  return turn;
}

}  // namespace reprobench
