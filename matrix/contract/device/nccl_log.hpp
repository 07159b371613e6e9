// Reads NCCL's log (NCCL_DEBUG=INFO): the ways between ranks, and how it did a collective. A line of another shape, or
// with a word that is not known here, is ignored: its meaning is not guessed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "matrix/contract/device/topology.hpp"

namespace reprobench {

// From lines like
//   host:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[6] via P2P/CUMEM
//   host:1:2 [0] NCCL INFO Channel 00/0 : 1[0] -> 0[0] [receive] via NET/Socket/0
// one entry for each direction and way, with the number of its channels. Both ends write a line of a NET connection,
// which counts once. Other lines are ignored.
std::vector<UsedTransport> transports_in(std::string_view log);

// How NCCL did one call, as rank 0 writes it with NCCL_DEBUG_SUBSYS=TUNING. Releases from before that line write none,
// and calls that are made of sends and receives have none. It is read from lines like
//   host:1:1 [0] NCCL INFO AllReduce: 4096 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..1}
//   host:1:1 [0] NCCL INFO AllReduce [Symmetric]: 4096 Bytes -> Kernel AllReduce_AGxLL_R nchannels 4 nthreads 512
struct NcclChoice {
  std::string function;  // "AllReduce"
  std::int64_t bytes = 0;
  std::string algorithm;  // "RING LL, 2 channels", "symmetric AllReduce_AGxLL_R, 4 channels"
};
std::vector<NcclChoice> choices_in(std::string_view log);

// How NCCL did all calls of one function in `log`. `collective` is a row of collective.cpp, such as "all_reduce". Empty
// if the log does not say, or if calls were done in different ways.
std::string nccl_algorithm(std::string_view log, std::string_view collective);

// Whether NVLink SHARP (NVLS) can be used: "available" or "not available". Empty if the log says neither or both.
std::string nvls_support(std::string_view log);

}  // namespace reprobench
