#include "matrix/host/nccl_log.hpp"

#include "ci/catch.hpp"

namespace reprobench {
namespace {

TEST_CASE("NCCL's log tells by what each two ranks are connected", "[host]") {
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

TEST_CASE("lines that are cut off or of another shape name no transport", "[host]") {
  for (const char* line :
       {"", "NCCL INFO Channel ", "NCCL INFO Channel 00/0 : 0[0] -> 1[6] via ", "NCCL INFO Channel 00/0 : 0[0] -> 1[6",
        "NCCL INFO Channel 00/0 : -1[0] -> 1[6] via P2P", "NCCL INFO Channel 00/04 : 0 1 2 3",
        "NCCL WARN Channel 00/0 : 0[0] -> 1[6] via P2P", "NCCL INFO Channel 00/0 : 99999999999[0] -> 1[6] via P2P"}) {
    CAPTURE(line);
    CHECK(transports_in(line).empty());
  }
}

}  // namespace
}  // namespace reprobench
