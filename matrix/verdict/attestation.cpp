#include "matrix/verdict/attestation.hpp"

#include <algorithm>
#include <ctime>
#include <optional>
#include <set>

#include <fmt/format.h>

namespace reprobench {
namespace {

constexpr const char* kUtcFormat = "%Y-%m-%dT%H:%M:%SZ";
constexpr std::string_view kMatrix = "matrix ";  // before its name
constexpr std::string_view kSuite = "suite ";
constexpr std::time_t kSecondsOfDay = 24 * 60 * 60;

std::string utc_text(std::time_t moment) {
  std::tm parts{};
  gmtime_r(&moment, &parts);
  char text[32];
  return {text, std::strftime(text, sizeof text, kUtcFormat, &parts)};
}

std::optional<std::time_t> moment_of(const std::string& text) {
  std::tm parts{};
  const char* const end = strptime(text.c_str(), kUtcFormat, &parts);
  if (end == nullptr || *end != '\0') return std::nullopt;
  const std::time_t moment = timegm(&parts);
  // The 31st of June is a moment of July to timegm, and a field of fewer digits is one to strptime.
  if (utc_text(moment) != text) return std::nullopt;
  return moment;
}

// "sha256:3f9c..." as the map of algorithms that in-toto has.
std::map<std::string, std::string> digest_map(const std::string& digest) {
  const auto colon = digest.find(':');
  if (colon == std::string::npos) return {{"sha256", digest}};
  return {{digest.substr(0, colon), digest.substr(colon + 1)}};
}

std::string why_not(const RunVerdict& verdict) {
  if (!verdict.images.contains("candidate") || !verdict.images.contains("reference")) {
    return "it is a run of stacks and of no image; `reprobench qualify` runs inside one";
  }
  if (!verdict.planted.empty()) return fmt::format("it is a drill: {}", fmt::join(verdict.planted, "; "));
  for (const auto* options : {&verdict.request.selected_by, &verdict.request.changed_by}) {
    if (!options->empty()) return fmt::format("it is no verdict on the image: {}", fmt::join(*options, ", "));
  }
  if (!verdict.info.changed_images.empty()) {
    return fmt::format("files of {} were changed during the run", fmt::join(verdict.info.changed_images, " and "));
  }
  if (verdict.word != "passed" && verdict.word != "failed") {
    return fmt::format("it ended as {}: {}", verdict.word, verdict.sentence);
  }
  if (!verdict.seal) return "its plan and journal are not sealed";
  if (!moment_of(verdict.info.ended_utc)) return "when it ended is not on record";
  return "";
}

std::string result_word(const RunVerdict& verdict) {
  if (verdict.word == "failed") return "FAILED";
  const bool is_clean = verdict.images.at("candidate").inspection == "clean" && verdict.totals[Outcome::recorded] == 0;
  return is_clean ? "PASSED" : "WARNED";
}

std::vector<AttestedResource> configuration_of(const RunVerdict& verdict) {
  const PlanImage& reference = verdict.images.at("reference");
  std::vector<AttestedResource> configuration = {{"matrix " + verdict.matrix, digest_map(verdict.info.matrix_digest)},
                                                 {"reference " + reference.name, digest_map(reference.digest)}};
  for (const auto& [name, digest] : verdict.suites) {
    configuration.push_back({std::string(kSuite) + name, digest_map(digest)});
  }
  if (!verdict.info.program_sha256.empty()) {
    configuration.push_back({"reprobench " + verdict.info.reprobench_version, digest_map(verdict.info.program_sha256)});
  }
  return configuration;
}

void add_tests(AttestedResult& result, const std::vector<CellVerdict>& cells) {
  for (const CellVerdict& cell : cells) {
    if (cell.outcome == Outcome::skipped) continue;
    auto& tests = cell.outcome == Outcome::passed   ? result.passed_tests
                  : cell.outcome == Outcome::failed ? result.failed_tests
                                                    : result.warned_tests;
    tests.push_back(cell.slug);
  }
}

bool was_run(const AttestedResult& result, const std::string& matrix_sha256) {
  return std::any_of(result.configuration.begin(), result.configuration.end(), [&](const AttestedResource& resource) {
    return resource.name.starts_with(kMatrix) && resource.digest == digest_map(matrix_sha256);
  });
}

// A matrix names its suites; what they ask stands in their own files.
void object_to_suites(const AttestedResult& result, const std::map<std::string, std::string>& known,
                      std::vector<std::string>& objections) {
  bool names_one = false;
  for (const AttestedResource& used : result.configuration) {
    if (!used.name.starts_with(kSuite)) continue;
    names_one = true;
    const std::string name = used.name.substr(kSuite.size());
    const auto here = known.find(name);
    if (here != known.end() && used.digest == digest_map(here->second)) continue;
    objections.push_back(fmt::format("its suite {} is another one than this checkout has", name));
  }
  if (!names_one) objections.emplace_back("it names no suite, so what the matrix asked is not known");
}

std::vector<std::string> devices_that_passed(const std::vector<CellVerdict>& cells) {
  std::set<std::string> devices;
  for (const CellVerdict& cell : cells) {
    const auto device = cell.coordinates.find("device");
    if (cell.outcome == Outcome::passed && device != cell.coordinates.end()) devices.insert(device->second);
  }
  return {devices.begin(), devices.end()};
}

}  // namespace

std::string digest_text(const AttestedResource& resource) {
  std::vector<std::string> digests;
  for (const auto& [algorithm, hex] : resource.digest) digests.push_back(algorithm + ":" + hex);
  return fmt::format("{}", fmt::join(digests, ", "));
}

bool is_utc_moment(const std::string& text) { return moment_of(text).has_value(); }

std::variant<Attestation, NotAttested> attestation_of(const RunVerdict& verdict, const std::string& verdict_sha256,
                                                      int valid_days) {
  if (std::string sentence = why_not(verdict); !sentence.empty()) return NotAttested{std::move(sentence)};
  const PlanImage& candidate = verdict.images.at("candidate");
  Attestation attestation;
  attestation.subject = {{candidate.name, digest_map(candidate.digest)}};
  AttestedResult& result = attestation.predicate;
  result.result = result_word(verdict);
  result.configuration = configuration_of(verdict);
  add_tests(result, verdict.cells);
  result.run = {.run_id = verdict.info.run_id,
                .sentence = verdict.sentence,
                .devices = devices_that_passed(verdict.cells),
                .ended_utc = verdict.info.ended_utc,
                .expires_utc = utc_text(*moment_of(verdict.info.ended_utc) + valid_days * kSecondsOfDay),
                .reprobench_version = verdict.info.reprobench_version,
                .plan_sha256 = verdict.seal->plan_sha256,
                .journal_sha256 = verdict.seal->journal_sha256,
                .verdict_sha256 = verdict_sha256};
  return attestation;
}

std::vector<std::string> objections_to(const Attestation& attestation, const Promotion& promotion) {
  std::vector<std::string> objections;
  const auto& subject = attestation.subject;
  if (subject.size() != 1 || subject.front().digest != digest_map(promotion.image_digest)) {
    std::vector<std::string> subjects;
    for (const AttestedResource& resource : subject) subjects.push_back(digest_text(resource));
    objections.push_back(
        fmt::format("it is of {}, and the image is {}", fmt::join(subjects, " and "), promotion.image_digest));
  }
  const AttestedResult& result = attestation.predicate;
  const auto reference = std::ranges::find_if(result.configuration, [](const AttestedResource& used) {
    return used.name.starts_with("reference ") && !used.digest.empty();
  });
  if (reference == result.configuration.end()) {
    objections.push_back("it names no reference");
  } else if (reference->digest == digest_map(promotion.image_digest)) {
    objections.push_back("the image was held against itself");
  }
  if (result.result == "FAILED" || !result.failed_tests.empty()) {
    objections.push_back(fmt::format("the image failed: {}", result.run.sentence));
  }
  if (result.passed_tests.empty()) objections.push_back("no cell passed");
  if (!promotion.matrix_sha256.empty() && !was_run(result, promotion.matrix_sha256)) {
    objections.push_back(fmt::format("it is of another matrix than sha256:{}", promotion.matrix_sha256));
  } else if (!promotion.matrix_sha256.empty()) {
    object_to_suites(result, promotion.suites, objections);
  }
  const std::time_t now = moment_of(promotion.now_utc).value();
  const std::time_t ended = moment_of(result.run.ended_utc).value();
  const std::time_t expires = moment_of(result.run.expires_utc).value();
  if (now >= expires) objections.push_back(fmt::format("it expired at {}", result.run.expires_utc));
  if (now < ended) objections.push_back(fmt::format("its run ends at {}, which is yet to come", result.run.ended_utc));
  if (expires - ended > kMostValidDays * kSecondsOfDay) {
    objections.push_back(fmt::format("it holds for more than {} days", kMostValidDays));
  }
  return objections;
}

}  // namespace reprobench
