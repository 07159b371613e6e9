// NCCL's reports about its work between the ranks of an attempt, as one rank saw them. NCCL's version is in the
// fingerprint; the algorithm of a collective is beside its measurement (`algorithm`).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "matrix/contract/device/topology.hpp"
#include "matrix/contract/document/description.hpp"

namespace reprobench {

struct NcclFacts {
  std::vector<UsedTransport> transports;  // this rank's; both ends report a connection over a network
  std::string nvls;                       // kNvlsWords; empty: not reported
  std::string problem;                    // why nothing is known; empty if something is
};
inline constexpr std::string_view kNvlsWords[] = {"", "available", "not available"};

template <>
struct Description<NcclFacts> {
  static constexpr About about = About::part("nccl", "What NCCL told in its log of its work between the ranks.");
  static void fields(auto& field, NcclFacts& facts) {
    field("transports", facts.transports, "As this rank saw them.");
    field("nvls", facts.nvls, rule::one_of(kNvlsWords).says("NVLink SHARP; empty: it did not say."));
    field("problem", facts.problem, "Why nothing is known.");
    field.hold(facts.problem.empty() || (facts.transports.empty() && facts.nvls.empty()),
               "has something of NCCL's and a reason for having nothing");
  }
};

// The facts from a whole log. A log that reports neither transports nor NVLS is a problem.
NcclFacts nccl_facts_in(std::string_view log);

}  // namespace reprobench
