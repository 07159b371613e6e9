#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "matrix/base/json_parse.hpp"
#include "matrix/base/pending_file.hpp"
#include "matrix/base/plain_text.hpp"
#include "matrix/base/sha256.hpp"
#include "matrix/cli/image_stacks.hpp"
#include "matrix/cli/stored_runs.hpp"
#include "matrix/cli/suite_digests.hpp"
#include "matrix/cli/verbs/verb.hpp"
#include "matrix/contract/document/reader.hpp"
#include "matrix/provision/sha256.hpp"
#include "matrix/record/plain_file.hpp"
#include "matrix/record/run_directory.hpp"
#include "matrix/record/run_identity.hpp"
#include "matrix/verdict/attestation.hpp"

namespace reprobench {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kLargestAttestationBytes = 16 << 20;
constexpr std::int64_t kLargestMatrixBytes = 16 << 20;

struct AttestOptions {
  std::string run;
  std::string out;
  int days = 30;
};

struct VerifyOptions {
  std::string attestation;
  std::string image;
  std::string tag;
  std::string run;
  std::string matrix;
  std::string at;
};

// The verdict of a run in which nothing has changed since. Throws StoreError.
std::variant<Attestation, NotAttested> attestation_of_run(const fs::path& folder, int valid_days) {
  const RunVerdict verdict = load_unchanged_verdict(folder);
  return attestation_of(verdict, sha256_of_text(read_file(folder / "verdict.json")), valid_days);
}

ExitCode attest(const AttestOptions& options, const Context& context) {
  const Project project(context.store);
  const fs::path folder = find_judged_run(project.store(), options.run);
  context.terminal.error(passed_over(project.store(), options.run));
  const auto made = attestation_of_run(folder, options.days);
  if (const auto* refused = std::get_if<NotAttested>(&made)) {
    context.terminal.error(fmt::format("{} is not attested: {}\n", folder.filename().string(), refused->sentence));
    return ExitCode::undecided;
  }
  const nlohmann::json document = written(std::get<Attestation>(made));
  if (options.out.empty()) {
    context.terminal.out_document(document);
  } else {
    PendingFile file(options.out, 0644);
    file.append(document.dump(1) + "\n");
    file.publish();
  }
  return ExitCode::passed;
}

Attestation read_attestation(const std::string& path) {
  const auto read = read_plain_file(path, kLargestAttestationBytes);
  if (const auto* problem = std::get_if<FileProblem>(&read)) throw UsageError(path + ": " + problem->text);
  const ParsedJson parsed = parse_json(std::get<std::string>(read));
  if (!parsed.problem.empty()) throw UsageError(path + ": " + parsed.problem);
  try {
    return read_document<Attestation>(parsed.value);
  } catch (const ContractError& error) {
    throw UsageError(fmt::format("{}: {}", path, error.what()));
  }
}

// Empty: the run says what the attestation says, but for how long.
std::string other_run(const Attestation& attestation, const fs::path& folder) {
  auto made = attestation_of_run(folder, 0);
  if (const auto* refused = std::get_if<NotAttested>(&made)) return refused->sentence;
  Attestation& of_run = std::get<Attestation>(made);
  of_run.predicate.run.expires_utc = attestation.predicate.run.expires_utc;
  return of_run == attestation ? "" : fmt::format("{} does not say that", folder.string());
}

std::string digest_of_matrix(const std::string& path) {
  const auto read = read_plain_file(path, kLargestMatrixBytes);
  if (const auto* problem = std::get_if<FileProblem>(&read)) throw UsageError(path + ": " + problem->text);
  return sha256_of_text(std::get<std::string>(read));
}

ExitCode verify(const VerifyOptions& options, const Context& context) {
  const Project project(context.store);
  const std::string now = options.at.empty() ? utc_now("%Y-%m-%dT%H:%M:%SZ") : options.at;
  if (!is_utc_moment(now)) throw UsageError(fmt::format("--at {}: expected such as 2026-11-27T20:00:00Z", now));
  const Attestation attestation = read_attestation(options.attestation);
  const std::string digest = ImageStacks(project).inspect({"image", options.image, options.tag}, {}).digest;
  Promotion promotion{digest, now, "", {}};
  if (!options.matrix.empty()) {
    promotion.matrix_sha256 = digest_of_matrix(options.matrix);
    promotion.suites = suite_digests(project.suites());
  }
  std::vector<std::string> objections = objections_to(attestation, promotion);
  if (!options.run.empty()) {
    if (std::string other = other_run(attestation, find_judged_run(project.store(), options.run)); !other.empty()) {
      objections.push_back(std::move(other));
    }
  }
  for (const std::string& objection : objections) {
    context.terminal.error(fmt::format("refused: {}\n", plain_line(objection)));
  }
  if (!objections.empty()) return ExitCode::failed;
  context.terminal.out(fmt::format("{} until {}: {}\n", attestation.predicate.result,
                                   attestation.predicate.run.expires_utc,
                                   plain_line(attestation.predicate.run.sentence)));
  for (const AttestedResource& used : attestation.predicate.configuration) {
    context.terminal.out(fmt::format("  {} {}\n", plain_line(used.name), plain_line(digest_text(used))));
  }
  return ExitCode::passed;
}

}  // namespace

std::function<ExitCode()> declare_attest(CLI::App& app, Context& context) {
  auto options = std::make_shared<AttestOptions>();
  app.add_option("run", options->run, "Run of `qualify`, by id or directory; default: the newest of the store")
      ->type_name("RUN");
  app.add_option("--days", options->days, "How long it holds, from the end of the run")
      ->type_name("N")
      ->check(CLI::Range(1, kMostValidDays))
      ->capture_default_str();
  app.add_option("--out", options->out, "Write it into this file instead of standard output")->type_name("FILE");
  return [options, &context] { return attest(*options, context); };
}

std::function<ExitCode()> declare_verify(CLI::App& app, Context& context) {
  auto options = std::make_shared<VerifyOptions>();
  app.add_option("attestation", options->attestation, "What `attest` wrote; its signature is not looked at")
      ->type_name("ATTESTATION")
      ->required();
  app.add_option("image", options->image, "The image that is to be promoted, in the form that was qualified")
      ->type_name("IMAGE")
      ->required();
  app.add_option("--tag", options->tag, "Which image of an archive that holds several")->type_name("NAME");
  app.add_option("--run", options->run, "The run it speaks of, whose files must say the same")->type_name("RUN");
  app.add_option("--matrix", options->matrix, "The matrix that must have been run; default: any, and it is named")
      ->type_name("FILE");
  app.add_option("--at", options->at, "As of this moment, such as 2026-11-27T20:00:00Z; default: now")
      ->type_name("UTC");
  return [options, &context] { return verify(*options, context); };
}

}  // namespace reprobench
