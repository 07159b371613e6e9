// The verdict on an image as an in-toto statement, which a policy reads before the image is promoted. It is not signed;
// docker/README.md has the commands that sign it and check it against an image.
//
// Format: in-toto Statement v1 with the predicate test-result v0.1 (https://github.com/in-toto/attestation). Readers of
// that predicate ignore the part `reprobench`. `verify` needs it: it has the end of validity and the SHA-256 of the
// run's files.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "matrix/verdict/verdict.hpp"

namespace reprobench {

inline constexpr std::string_view kStatementTypes[] = {"https://in-toto.io/Statement/v1"};
inline constexpr std::string_view kPredicateTypes[] = {"https://in-toto.io/attestation/test-result/v0.1"};
inline constexpr std::string_view kTestResults[] = {"PASSED", "WARNED", "FAILED"};
inline constexpr int kMostValidDays = 366;

// A thing that is named by its digest.
struct AttestedResource {
  std::string name;
  std::map<std::string, std::string> digest;  // algorithm ("sha256"; of an unpacked root "root-sha256") -> hex
  bool operator==(const AttestedResource&) const = default;
};

struct AttestedRun {
  std::string run_id;
  std::string sentence;              // the verdict's
  std::vector<std::string> devices;  // classes on which cells passed: "cpu", "sm_90"
  std::string ended_utc;             // of the run, whenever it is attested
  std::string expires_utc;
  std::string reprobench_version;
  std::string plan_sha256;
  std::string journal_sha256;  // without the lines that verdicts add
  std::string verdict_sha256;
  bool operator==(const AttestedRun&) const = default;
};

struct AttestedResult {
  std::string result;                           // kTestResults
  std::vector<AttestedResource> configuration;  // matrix, reference image, suites, program
  std::vector<std::string> passed_tests;        // slugs of cells
  std::vector<std::string> warned_tests;        // cells that ran and neither passed nor failed
  std::vector<std::string> failed_tests;
  AttestedRun run;
  bool operator==(const AttestedResult&) const = default;
};

struct Attestation {
  std::string type{kStatementTypes[0]};
  std::vector<AttestedResource> subject;  // the candidate, alone
  std::string predicate_type{kPredicateTypes[0]};
  AttestedResult predicate;
  bool operator==(const Attestation&) const = default;
};

// Why a run is no test result of an image, in one sentence.
struct NotAttested {
  std::string sentence;
};

// `verdict_sha256` is that of the run's verdict.json. The attestation is valid for `valid_days` from the end of the
// run, not from now, so that an old run cannot be attested anew.
std::variant<Attestation, NotAttested> attestation_of(const RunVerdict& verdict, const std::string& verdict_sha256,
                                                      int valid_days);

// The question that `verify` asks of an attestation.
struct Promotion {
  std::string image_digest;                        // "sha256:3f9c..."
  std::string now_utc;                             // "2026-11-27T20:00:00Z"
  std::string matrix_sha256;                       // of the matrix that must have been run; empty: any
  std::map<std::string, std::string> suites = {};  // as in Plan, of the checkout whose matrix that is
};

// All reasons why the attestation does not allow the image to be promoted; empty if it does.
std::vector<std::string> objections_to(const Attestation& attestation, const Promotion& promotion);

// "sha256:3f9c..."
std::string digest_text(const AttestedResource& resource);

// False for text that is no moment in that form.
bool is_utc_moment(const std::string& text);

template <>
struct Description<AttestedResource> {
  static constexpr About about = About::part("attested_resource", "Something that is named by its content.");
  static void fields(auto& field, AttestedResource& resource) {
    field("name", resource.name, rule::not_empty);
    field("digest", resource.digest, rule::not_empty.says("Algorithm, hex digits."));
  }
};

template <>
struct Description<AttestedRun> {
  static constexpr About about = About::part("attested_run", "The run behind it. Other readers pass over this.");
  static void fields(auto& field, AttestedRun& run) {
    field("run_id", run.run_id, rule::not_empty);
    field("sentence", run.sentence, rule::not_empty);
    field("devices", run.devices, "Classes on which cells passed.");
    field("ended_utc", run.ended_utc, rule::not_empty);
    field("expires_utc", run.expires_utc, rule::not_empty);
    field("reprobench_version", run.reprobench_version);
    field("plan_sha256", run.plan_sha256, rule::hex(64));
    field("journal_sha256", run.journal_sha256, rule::hex(64).says("Without the lines that verdicts add."));
    field("verdict_sha256", run.verdict_sha256, rule::hex(64));
    field.hold(is_utc_moment(run.ended_utc) && is_utc_moment(run.expires_utc), "its moments are no UTC times");
  }
};

template <>
struct Description<AttestedResult> {
  static constexpr About about = About::part("attested_result", "https://in-toto.io/attestation/test-result/v0.1");
  static void fields(auto& field, AttestedResult& result) {
    field("result", result.result, rule::one_of(kTestResults));
    field("configuration", result.configuration, rule::not_empty_list);
    field("passedTests", result.passed_tests, "Cells.");
    field("warnedTests", result.warned_tests, "Cells that ran and neither passed nor failed.");
    field("failedTests", result.failed_tests, "Cells.");
    field("reprobench", result.run);
  }
};

template <>
struct Description<Attestation> {
  static constexpr About about = About::part("attestation", "What `attest` says of an image: an in-toto statement");
  static void fields(auto& field, Attestation& attestation) {
    field("_type", attestation.type, rule::one_of(kStatementTypes));
    field("subject", attestation.subject, rule::not_empty_list.says("The image, alone."));
    field("predicateType", attestation.predicate_type, rule::one_of(kPredicateTypes));
    field("predicate", attestation.predicate);
  }
};

}  // namespace reprobench
