// Makes the request of one rank from the request of its attempt.
#pragma once

#include "matrix/contract/request.hpp"

namespace reprobench {

// The attempt's request with the rank's number, and with the fault only if it is planted in that rank.
inline CellRequest request_of_rank(const CellRequest& attempt, int rank) {
  CellRequest request = attempt;
  request.rank = rank;
  if (request.inject && request.inject->rank != rank) request.inject.reset();
  return request;
}

}  // namespace reprobench
