#include <algorithm>
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "matrix/base/pending_file.hpp"
#include "matrix/cli/image_staging.hpp"
#include "matrix/cli/kept_image.hpp"
#include "matrix/cli/stored_runs.hpp"
#include "matrix/cli/text/inspection_text.hpp"
#include "matrix/cli/verbs/verb.hpp"
#include "matrix/contract/document/writer.hpp"
#include "matrix/image/inspection.hpp"
#include "matrix/image/unpacked_image.hpp"

namespace reprobench {
namespace {

struct InspectOptions {
  std::string image;
  std::vector<std::string> claims;
  std::string tag;
  std::string junit;
  std::string run;
  bool as_json = false;
};

ExitCode exit_code_of(InspectionWord word) {
  switch (word) {
    case InspectionWord::refused:
      return ExitCode::failed;
    case InspectionWord::undecided:
      return ExitCode::undecided;
    case InspectionWord::warned:
    case InspectionWord::clean:
      break;
  }
  return ExitCode::passed;
}

// What the workers of a run of `qualify` had loaded inside the image of that digest.
Fingerprint loaded_inside(const Project& project, const std::string& run, const std::string& digest) {
  const auto folder = find_judged_run(project.store(), run);
  const RunVerdict verdict = load_unchanged_verdict(folder);
  for (const auto& [stack, image] : verdict.images) {
    if (image.digest != digest) continue;
    const auto environment = std::ranges::find(verdict.environments, stack, &StackEnvironment::stack);
    if (environment != verdict.environments.end() && environment->fingerprint) return *environment->fingerprint;
    throw UsageError(fmt::format("the run {}: no worker inside {} told what it had loaded", folder.string(), stack));
  }
  throw UsageError(fmt::format("the run {} is not of this image, {}", folder.string(), digest));
}

ExitCode inspect(const InspectOptions& options, const Context& context) {
  const Project project(context.store);
  std::vector<ClaimsFile> claims;
  for (const std::string& file : options.claims) claims.push_back(load_claims(file));
  const ImageStaging staging(project.store());
  const std::filesystem::path path = is_kept_image(options.image)
                                         ? fetch_kept_image(options.image, staging.path() / "kept", project.shepherd())
                                         : std::filesystem::path(options.image);
  const ImageStaging content(staging.path());
  const Image image = read_image(path, content.path(), is_evidence, options.tag);
  Inspection inspection = inspect_image(image, claims, project.facts());
  inspection.image = options.image;
  if (!options.run.empty()) {
    add_loaded(
        loaded_inside(project, options.run, image.form == ImageForm::root ? digest_of_root(image) : image.digest),
        inspection);
  }
  if (!options.junit.empty()) {
    PendingFile junit(options.junit, 0644);
    junit.append(to_junit(inspection));
    junit.publish();
  }
  if (options.as_json) {
    context.terminal.out_document(written(inspection));
  } else {
    context.terminal.out(inspection_text(inspection, context.terminal));
  }
  return exit_code_of(inspection.word);
}

}  // namespace

std::function<ExitCode()> declare_image(CLI::App& app, Context& context) {
  auto options = std::make_shared<InspectOptions>();
  CLI::App* verb = app.add_subcommand("inspect", "Check what an image claims to hold against what it holds");
  app.require_subcommand(1);
  verb->add_option(
          "image", options->image,
          std::string("An OCI layout or archive, an archive of `docker save`, an unpacked root, ") + kKeptImageForms)
      ->type_name("IMAGE")
      ->required();
  verb->add_option("--claims", options->claims, "What a release promises, such as docker/claims/pytorch-2.1.0.yaml")
      ->type_name("FILE");
  verb->add_option("--tag", options->tag, "Which image of an archive that holds several")->type_name("NAME");
  verb->add_option("--junit", options->junit, "Write a test case for every claim and finding")->type_name("FILE");
  verb->add_option("--run", options->run,
                   "Add what a worker inside had loaded, in this run of `qualify`, its id or directory")
      ->type_name("RUN");
  verb->add_flag("--json", options->as_json, "Print one JSON document");
  return [options, &context] { return inspect(*options, context); };
}

}  // namespace reprobench
