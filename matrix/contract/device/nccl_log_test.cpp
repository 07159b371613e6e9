#include "matrix/contract/device/nccl_log.hpp"

#include <string>

#include "ci/catch.hpp"
#include "matrix/contract/device/nccl_facts.hpp"

namespace reprobench {
namespace {

TEST_CASE("NCCL's log tells by what each two ranks are connected", "[contract]") {
  const auto used = transports_in(
      "host:1:1 [0] NCCL INFO NCCL version 2.27.5+cuda12.9\n"
      "host:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[6] via P2P/CUMEM/read\n"
      "host:1:1 [0] NCCL INFO Channel 01/0 : 0[0] -> 1[6] via P2P/CUMEM/read\r\n"
      "host:1:1 [0] NCCL INFO Channel 00 : 1[af000] -> 2[b0000] via SHM/direct/direct\n"
      "a:1:2 [0] NCCL INFO Channel 00/0 : 2[0] -> 3[0] [send] via NET/IB/0/GDRDMA\n"
      "b:1:2 [0] NCCL INFO Channel 00/0 : 2[0] -> 3[0] [receive] via NET/IB/0/GDRDMA\n"
      "a:1:2 [0] NCCL INFO Channel 00/0 : 3[0] -> 0[0] [send] via NET/Socket/0\n"
      "a:1:2 [0] NCCL INFO Channel 00/0 : 3[0] -> 1[0] [send] via NET/IBext/0");
  REQUIRE(used.size() == 5);
  CHECK(used[0].via == "P2P/CUMEM/read");
  CHECK(used[0].transport == "peer");
  CHECK(used[0].channels == 2);
  CHECK(used[1].transport == "shared_memory");
  CHECK(used[2].transport == "infiniband");
  CHECK(used[2].channels == 1);  // both ends wrote of it
  CHECK(used[3].transport == "socket");
  CHECK(used[4].via == "NET/IBext/0");
  CHECK(used[4].transport.empty());
}

TEST_CASE("lines that are cut off or of another shape name no transport", "[contract]") {
  for (const char* line :
       {"", "NCCL INFO Channel ", "NCCL INFO Channel 00/0 : 0[0] -> 1[6] via ", "NCCL INFO Channel 00/0 : 0[0] -> 1[6",
        "NCCL INFO Channel 00/0 : -1[0] -> 1[6] via P2P", "NCCL INFO Channel 00/04 : 0 1 2 3",
        "NCCL WARN Channel 00/0 : 0[0] -> 1[6] via P2P", "NCCL INFO Channel 00/0 : 99999999999[0] -> 1[6] via P2P"}) {
    CAPTURE(line);
    CHECK(transports_in(line).empty());
  }
}

TEST_CASE("#41: bytes that are no text become no part of a document", "[contract]") {
  const auto used = transports_in("host:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[6] via P2P/\xff\x1b[2J");
  REQUIRE(used.size() == 1);
  CHECK(used[0].via == "P2P/??[2J");
  CHECK(used[0].transport == "peer");
  CHECK(nccl_algorithm("a:1:1 [0] NCCL INFO AllReduce [Symmetric]: 4 Bytes -> Kernel A\xff nchannels 1",
                       "all_reduce") == "symmetric A?, 1 channel");
}

TEST_CASE("how a collective was done is read with algorithm, protocol and channels", "[contract]") {
  // As NCCL 2.27 and 2.28 write it, also of symmetric memory, which 2.28 says more of; the mixed-case words are 2.18's.
  const auto choices = choices_in(
      "gpu1:1:1 [0] NCCL INFO AllReduce: opCount 0 sendbuff 0x7f recvbuff 0x7f count 1 datatype 7 op 0 root 0 comm "
      "0x55 [nranks=16] stream 0x55\n"
      "gpu1:1:1 [0] NCCL INFO AllReduce: 4 Bytes -> Algo TREE proto LL channel{Lo..Hi}={0..0}\n"
      "gpu1:1:1 [0] NCCL INFO AllGather: 16777216 Bytes -> Algo RING proto SIMPLE channel{Lo..Hi}={0..15}\r\n"
      "gpu1:1:1 [0] NCCL INFO ReduceScatter: 1048576 Bytes -> Algo Ring proto Simple channel{Lo..Hi}={4..7}\n"
      "gpu1:1:1 [0] NCCL INFO AllReduce: 4294967296 Bytes -> Algo NVLS proto SIMPLE channel{Lo..Hi}={0..23}\n"
      "gpu1:1:1 [0] NCCL INFO AllReduce [Symmetric]: 4096 Bytes -> Kernel AllReduce_AGxLL_R nchannels 4 nthreads 512\n"
      "gpu1:1:1 [0] NCCL INFO AllGather [Symmetric]: 8 Bytes -> Kernel AllGather_LL nchannels 1 nthreads 512 nWorks 1");
  REQUIRE(choices.size() == 6);
  CHECK(choices[0].function == "AllReduce");
  CHECK(choices[0].bytes == 4);
  CHECK(choices[0].algorithm == "TREE LL, 1 channel");
  CHECK(choices[1].algorithm == "RING SIMPLE, 16 channels");
  CHECK(choices[2].algorithm == "RING SIMPLE, 4 channels");
  CHECK(choices[3].algorithm == "NVLS SIMPLE, 24 channels");
  CHECK(choices[3].bytes == 4'294'967'296);
  CHECK(choices[4].algorithm == "symmetric AllReduce_AGxLL_R, 4 channels");
  CHECK(choices[5].algorithm == "symmetric AllGather_LL, 1 channel");
}

TEST_CASE("a line of another shape says nothing of how a collective was done", "[contract]") {
  for (const char* line : {
           "NCCL INFO 4096 Bytes -> Algo 1 proto 0 time 12.300000",  // as 2.18 traces it: numbers, and no function
           "NCCL INFO AllReduce: 4096 Bytes -> Algo 1 proto 0 channel{Lo..Hi}={0..1}",
           "NCCL INFO AllReduce: 4096 Bytes -> Algo RINGS proto LL channel{Lo..Hi}={0..1}",
           "NCCL INFO AllReduce: 4096 Bytes -> Algo Unknown proto LL channel{Lo..Hi}={0..1}",
           "NCCL INFO AllReduce: 4096 Bytes -> Algo RING proto LL64 channel{Lo..Hi}={0..1}",
           "NCCL INFO AllReduce: 4096 Bytes -> Algo RING proto LL channel{Lo..Hi}={1..0}",
           "NCCL INFO AllReduce: 4096 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..64}",
           "NCCL INFO AllReduce: 4096 Bytes -> Algo RING proto LL channel{Lo..Hi}={-1..1}",
           "NCCL INFO AllReduce: 4096 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..1",
           "NCCL INFO AllReduce: 4096 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..1} and more",
           "NCCL INFO AllReduce: 4096 Bytes -> Algo RING proto LL",
           "NCCL INFO AllReduce: -4096 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..1}",
           "NCCL INFO AllReduce: 99999999999999999999 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..1}",
           "NCCL INFO AllReduceX: 4096 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..1}",
           "NCCL INFO Send: 4096 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..1}",
           "NCCL WARN AllReduce: 4096 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..1}",
           "NCCL INFO AllReduce [Symmetric]: 4096 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..1}",
           "NCCL INFO AllReduce: 4096 Bytes -> Kernel AllReduce_AGxLL_R nchannels 4 nthreads 512",
           "NCCL INFO AllReduce [Symmetric]: 4096 Bytes -> Kernel AllReduce_AGxLL_R nchannels 0 nthreads 512",
           "NCCL INFO AllReduce [Symmetric]: 4096 Bytes -> Kernel  nchannels 4 nthreads 512",
           "NCCL INFO AllGather [Copy Engine]: 4096 Bytes -> cudaMemcpy",
           "NCCL INFO Best tuning, algorithm, RING, protocol, LL",
       }) {
    CAPTURE(line);
    CHECK(choices_in(line).empty());
  }
}

TEST_CASE("calls of one function that were done in several ways have no one algorithm", "[contract]") {
  const std::string ring = "NCCL INFO AllReduce: 8 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..0}\n";
  const std::string tree = "NCCL INFO AllReduce: 8 Bytes -> Algo TREE proto LL channel{Lo..Hi}={0..0}\n";
  const std::string other = "NCCL INFO Broadcast: 8 Bytes -> Algo RING proto SIMPLE channel{Lo..Hi}={0..0}\n";
  CHECK(nccl_algorithm(ring + other + ring, "all_reduce") == "RING LL, 1 channel");
  CHECK(nccl_algorithm(ring + other, "broadcast") == "RING SIMPLE, 1 channel");
  CHECK(nccl_algorithm(ring + tree, "all_reduce").empty());
  CHECK(nccl_algorithm(other, "all_reduce").empty());
  CHECK(nccl_algorithm(ring, "send_recv").empty());
}

TEST_CASE("whether NVLink SHARP can be used is what every line of it says", "[contract]") {
  const std::string has = "h:1:2 [0] NCCL INFO NVLS multicast support is available on dev 0 (NVLS_NCHANNELS 24)\n";
  const std::string lacks = "h:1:2 [2] NCCL INFO NVLS multicast support is not available on dev 2\n";
  CHECK(nvls_support(has + has) == "available");
  CHECK(nvls_support(lacks) == "not available");
  CHECK(nvls_support(has + lacks).empty());
  CHECK(nvls_support("").empty());
  CHECK(nvls_support("NCCL INFO NVLS multicast support is unavailable").empty());
}

TEST_CASE("what is known of NCCL's work has transports and NVLS, or why there are none", "[contract]") {
  const NcclFacts facts = nccl_facts_in(
      "h:1:2 [0] NCCL INFO NVLS multicast support is not available on dev 0\n"
      "h:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via SHM/direct/direct\n");
  CHECK(facts.nvls == "not available");
  REQUIRE(facts.transports.size() == 1);
  CHECK(facts.transports[0].transport == "shared_memory");
  CHECK(facts.problem.empty());
  CHECK(nccl_facts_in("").problem == "NCCL wrote no log");
  CHECK(nccl_facts_in("NCCL INFO comm 0x55 rank 0").problem == "NCCL's log names neither a transport nor NVLS");
}

}  // namespace
}  // namespace reprobench
