#include <set>

#include "matrix/contract/device/device_class.hpp"
#include "matrix/plan/claim_rules.hpp"
#include "matrix/plan/coverage.hpp"
#include "matrix/plan/dotted_version.hpp"

namespace reprobench {
namespace {

using Texts = std::vector<std::string>;

// What a driver is to one CUDA.
struct DriverCase {
  Holds holds = Holds::unknown;
  std::string clause;
};

DriverCase driver_case(const std::string& driver, const std::string& name, const std::string& cuda,
                       const std::string& toolkit, bool is_native, const CompatFacts& facts, ToldClaim& finding) {
  const auto numbers = version_numbers(cuda);
  const auto floor = numbers.empty() ? facts.driver_floor.end() : facts.driver_floor.find(numbers.front());
  if (floor == facts.driver_floor.end()) return {Holds::unknown, name + " has no driver in the facts"};
  finding.by(facts.floor_evidence.at(floor->first));
  const std::string of_toolkit = facts.driver_of_toolkit(toolkit);
  std::string installed = "which driver its toolkit installs is not verified";
  if (!of_toolkit.empty()) {
    installed = fmt::format("toolkit {} installs {}", toolkit, of_toolkit);
    for (const auto& [known, evidence] : facts.toolkit_evidence) {
      if (!version_less(known, toolkit) && !version_less(toolkit, known)) finding.by(evidence);
    }
  }
  switch (at_least(driver, floor->second)) {
    case Holds::no:
      return {Holds::no,
              fmt::format("{} does not run before {}, the floor of CUDA {}", name, floor->second, floor->first)};
    case Holds::yes:
      break;
    default:
      return {Holds::depends, fmt::format("{} runs from {} on, the floor of CUDA {} ({})", name, floor->second,
                                          floor->first, installed)};
  }
  if (!of_toolkit.empty() && at_least(driver, of_toolkit) == Holds::yes) {
    return {Holds::yes, fmt::format("{} runs ({})", name, installed)};
  }
  return {is_native ? Holds::yes : Holds::depends,
          fmt::format("{} runs{} in minor-version mode, without PTX of its toolkit (floor {}, {})", name,
                      of_toolkit.empty() ? " at least" : "", floor->second, installed)};
}

// Which kernels a wheel has for the claimed GPU.
Coverage coverage_of(const StatedClaims& claims, const WheelFacts& row, const CompatFacts& facts) {
  const auto device = DeviceClass::of_capability(claims["sm"]);
  if (!device) return Coverage::unknown;
  StackSpec stack;
  stack.components = {{"cuda", claimed_cuda(row.variant)}};
  return coverage_on(device->text(), stack, &row, facts).compute;
}

// "470.57.02" is of the branch "470.57".
std::string forward_text(const std::string& driver, const std::string& cuda, const CompatFacts& facts) {
  for (const auto& [package, branches] : facts.forward_compat) {
    if (!version_names(package, cuda) && !version_names(cuda, package)) continue;
    for (const std::string& branch : branches) {
      if (!version_names(branch, driver)) continue;
      return fmt::format("; NVIDIA lists branch {} for the cuda-compat package of CUDA {}, on data-center GPUs alone",
                         branch, package);
    }
  }
  return "";
}

std::string branch_text(const std::string& driver, const CompatFacts& facts) {
  const auto numbers = version_numbers(driver);
  for (const DriverBranch& branch : facts.driver_branches) {
    if (numbers.empty() || branch.number != numbers.front()) continue;
    return fmt::format("; branch R{} ({}) is supported until {}", branch.number, branch.kind, branch.end);
  }
  return "";
}

std::optional<ClaimFinding> driver_finding(const StatedClaims& claims, const WheelRows& rows,
                                           const CompatFacts& facts) {
  if (!claims.has("driver") || (rows.empty() && !claims.has("cuda"))) return std::nullopt;
  const std::string& driver = claims["driver"];
  ToldClaim finding("driver", Holds::unknown, "");
  std::vector<DriverCase> cases;
  std::set<std::string> forward;
  for (const WheelFacts& row : rows) {
    const bool is_native = claims.has("sm") && coverage_of(claims, row, facts) == Coverage::native;
    const std::string cuda = claimed_cuda(row.variant);
    cases.push_back(driver_case(driver, row.variant, cuda, row.cuda_toolkit, is_native, facts, finding));
    if (cases.back().holds != Holds::yes) forward.insert(forward_text(driver, cuda, facts));
  }
  if (rows.empty()) {
    const std::string& cuda = claims["cuda"];
    cases.push_back(driver_case(driver, "CUDA " + cuda, cuda, cuda, false, facts, finding));
    if (cases.back().holds != Holds::yes) forward.insert(forward_text(driver, cuda, facts));
  }
  std::vector<Holds> answers;
  Texts clauses;
  for (const DriverCase& one : cases) {
    answers.push_back(one.holds);
    if (std::ranges::find(clauses, one.clause) == clauses.end()) clauses.push_back(one.clause);
  }
  forward.erase("");
  if (!forward.empty()) finding.by(facts.forward_evidence);
  ClaimFinding found = finding;
  found.holds = with_each(answers);
  if (found.holds == Holds::no && !forward.empty()) found.holds = Holds::depends;
  std::string compat;
  for (const std::string& text : forward) compat += text;
  found.sentence =
      fmt::format("driver {}: {}{}{}", driver, fmt::join(clauses, "; "), compat, branch_text(driver, facts));
  return found;
}

std::optional<ClaimFinding> kernels_finding(const StatedClaims& claims, const WheelRows& rows,
                                            const CompatFacts& facts) {
  if (!claims.has("sm") || rows.empty()) return std::nullopt;
  std::vector<Holds> answers;
  Texts clauses;
  for (const WheelFacts& row : rows) {
    const Coverage coverage = coverage_of(claims, row, facts);
    answers.push_back(coverage == Coverage::native ? Holds::yes
                      : coverage == Coverage::none ? Holds::no
                      : coverage == Coverage::ptx  ? Holds::depends
                                                   : Holds::unknown);
    clauses.push_back(
        coverage == Coverage::native ? fmt::format("{} has machine code for it", row.variant)
        : coverage == Coverage::none
            ? fmt::format("{} has none for it, but for {}", row.variant, fmt::join(row.kernels_of, " "))
        : coverage == Coverage::ptx
            ? fmt::format("{} reaches it through PTX, which NCCL lacks and an older driver cannot compile", row.variant)
            : fmt::format("of {} it is not verified", row.variant));
  }
  return ToldClaim("kernels", with_each(answers),
                   fmt::format("compute capability {}: {}", claims["sm"], fmt::join(clauses, "; ")))
      .by(rows);
}

// What CUDA, driver and GPU say of each other without torch.
void architectures(const StatedClaims& claims, const CompatFacts& facts, std::vector<ClaimFinding>& findings) {
  if (!claims.has("sm")) return;
  const auto is_meant = [&](const Texts& capabilities) {
    return std::ranges::find(capabilities, claims["sm"]) != capabilities.end();
  };
  for (const ArchitectureEnd& end : facts.architecture_ends) {
    if (!is_meant(end.compute_capabilities)) continue;
    if (claims.has("cuda")) {
      const Holds holds = held(VersionRange::parse("<=" + end.last_cuda).match(claims["cuda"]));
      findings.push_back(ToldClaim("gpu-cuda", holds,
                                   fmt::format("CUDA {} is the last for {} (compute capability {})", end.last_cuda,
                                               end.name, claims["sm"]))
                             .by(end.evidence));
    }
    if (claims.has("driver")) {
      const Holds holds =
          held(VersionRange::parse(fmt::format("<={}", end.last_driver_branch)).match(claims["driver"]));
      findings.push_back(ToldClaim("gpu-driver", holds,
                                   fmt::format("R{} is the last driver branch for {} (compute capability {})",
                                               end.last_driver_branch, end.name, claims["sm"]))
                             .by(end.evidence));
    }
  }
  for (const ArchitectureStart& start : facts.architecture_starts) {
    if (!is_meant(start.compute_capabilities) || !claims.has("driver")) continue;
    findings.push_back(ToldClaim("gpu-driver", at_least(claims["driver"], start.first_driver),
                                 fmt::format("{} (compute capability {}) needs driver {} or newer", start.name,
                                             claims["sm"], start.first_driver))
                           .by(start.evidence));
  }
}

std::optional<ClaimFinding> glibc_finding(const StatedClaims& claims, const WheelRows& rows) {
  if (!claims.has("glibc") || rows.empty()) return std::nullopt;
  std::vector<Holds> answers;
  for (const WheelFacts& row : rows) answers.push_back(at_least(claims["glibc"], row.glibc_min));
  const std::string floors = joined(rows, [](const WheelFacts& row) {
    return fmt::format("{} needs {}", row.variant, row.glibc_min.empty() ? "one that is not verified" : row.glibc_min);
  });
  return ToldClaim("glibc", with_each(answers), fmt::format("glibc {}: {}", claims["glibc"], floors)).by(rows);
}

// Each is right somewhere, and nothing has them all.
std::optional<ClaimFinding> together_finding(const StatedClaims& claims, const ClaimedWheels& wheels,
                                             const CompatFacts& facts, std::span<const ClaimFinding> findings) {
  if (std::ranges::any_of(findings, [](const ClaimFinding& one) { return one.holds == Holds::no; }))
    return std::nullopt;
  if (!wheels.is_together) {
    return ToldClaim("together", Holds::no, "no one wheel has all of the claimed components").by(wheels.with_cuda);
  }
  const auto is_refused = [&](const WheelFacts& row) {
    const WheelRows alone = {row};
    for (const auto& one :
         {driver_finding(claims, alone, facts), kernels_finding(claims, alone, facts), glibc_finding(claims, alone)}) {
      if (one && one->holds == Holds::no) return true;
    }
    return false;
  };
  if (wheels.meant.empty() || !std::ranges::all_of(wheels.meant, is_refused)) return std::nullopt;
  return ToldClaim("together", Holds::no, "no one wheel runs on all of the claimed driver, GPU and glibc")
      .by(wheels.meant);
}

}  // namespace

void check_host(const StatedClaims& claims, const ClaimedWheels& wheels, const CompatFacts& facts,
                std::vector<ClaimFinding>& findings) {
  const WheelRows& rows = rows_of_host(wheels);
  const auto add = [&](const std::optional<ClaimFinding>& finding) {
    if (finding) findings.push_back(*finding);
  };
  add(kernels_finding(claims, rows, facts));
  add(driver_finding(claims, rows, facts));
  architectures(claims, facts, findings);
  add(glibc_finding(claims, rows));
  add(together_finding(claims, wheels, facts, findings));
}

}  // namespace reprobench
