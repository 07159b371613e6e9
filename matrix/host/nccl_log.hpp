// What NCCL writes with NCCL_DEBUG=INFO about the way between ranks.
#pragma once

#include <string_view>
#include <vector>

#include "matrix/contract/topology.hpp"

namespace reprobench {

// Of lines like
//   host:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[6] via P2P/CUMEM
//   host:1:2 [0] NCCL INFO Channel 00/0 : 1[0] -> 0[0] [receive] via NET/Socket/0
// one entry for each direction and way, with the number of its channels. Both ends write a line of a NET connection,
// which counts once. Other lines are passed over.
std::vector<UsedTransport> transports_in(std::string_view log);

}  // namespace reprobench
