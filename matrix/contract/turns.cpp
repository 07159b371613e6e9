#include "matrix/contract/turns.hpp"

#include <algorithm>

#include "matrix/contract/json_field.hpp"

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
  json header = document("turns");
  header["kind"] = "header";
  header["cell_id"] = request.cell_id;
  header["nonce"] = request.nonce;
  header["rank"] = request.rank;
  return header;
}

json to_json(const Turn& turn) {
  return {{"kind", "turn"}, {"block", turn.block}, {"first_step", turn.first_step}, {"last_step", turn.last_step}};
}

void require_turns_header(const json& body, const CellRequest& request) {
  require_document(body, "turns");
  if (required<std::string>("turns", body, "nonce") != request.nonce ||
      required<int>("turns", body, "rank") != request.rank) {
    throw ContractError("turns: of another attempt or rank");
  }
}

Turn turn_from_json(const json& body, const CellRequest& request, std::int64_t block) {
  const Turn turn{required<std::int64_t>("turns", body, "block"), required<std::int64_t>("turns", body, "first_step"),
                  required<std::int64_t>("turns", body, "last_step")};
  if (to_json(turn) != to_json(turn_of(request, block))) {
    throw ContractError("turns: block " + std::to_string(turn.block) + " has other steps than were asked for");
  }
  return turn;
}

}  // namespace reprobench
