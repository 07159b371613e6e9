// `compare STACK_A STACK_B --orders`: the calls of matrix/orders.yaml on two stacks now, as an atlas of two columns.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "matrix/cli/project.hpp"
#include "matrix/exec/executor.hpp"
#include "matrix/inquiry/replays.hpp"
#include "matrix/verdict/atlas/operator_atlas.hpp"

namespace reprobench {

// One stack with the knobs of its side that are not the default.
struct OrderSide {
  std::string stack;
  KnobValues knobs;
};

struct ComparedOrders {
  OperatorAtlas atlas;
  std::size_t measured = 0;  // columns of it
  std::size_t expected = 0;
  std::vector<std::string> left_aside;  // files of kept orders that are damaged
};

// The request for one side: the suite `orders` with its own list, or with that in `calls_file`. Throws UsageError and
// SpecError.
CellRequest orders_request(const OrderSide& side, const std::string& calls_file, const Project& project);

// Makes those calls on both stacks whose orders are not kept beside their workers (inquiry/kept_orders.hpp). A side
// that does not come to its end has no records, and says why.
ComparedOrders compare_orders(const OrderSide& measured, const OrderSide& expected, const std::string& calls_file,
                              const Project& project, const std::map<std::string, WorkerCommand>& workers,
                              Replays& replays);

}  // namespace reprobench
