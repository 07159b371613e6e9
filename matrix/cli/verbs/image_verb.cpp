#include <memory>

#include <CLI/CLI.hpp>

#include "matrix/base/pending_file.hpp"
#include "matrix/cli/image_staging.hpp"
#include "matrix/cli/podman_image.hpp"
#include "matrix/cli/text/inspection_text.hpp"
#include "matrix/cli/verbs/verb.hpp"
#include "matrix/contract/document/writer.hpp"
#include "matrix/image/inspection.hpp"

namespace reprobench {
namespace {

struct InspectOptions {
  std::string image;
  std::vector<std::string> claims;
  std::string tag;
  std::string junit;
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

ExitCode inspect(const InspectOptions& options, const Context& context) {
  const Project project(context.store);
  std::vector<ClaimsFile> claims;
  for (const std::string& file : options.claims) claims.push_back(load_claims(file));
  const ImageStaging staging(project.store());
  std::filesystem::path path = options.image;
  if (is_podman_image(options.image)) {
    path = staging.path() / "saved.tar";
    save_podman_image(options.image, path, project.shepherd());
  }
  const Image image = read_image(path, staging.path(), is_evidence, options.tag);
  Inspection inspection = inspect_image(image, claims, project.facts());
  inspection.image = options.image;
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
  CLI::App* verb = app.add_subcommand("inspect", "Hold what is claimed of an image against what is in it");
  app.require_subcommand(1);
  verb->add_option("image", options->image,
                   "An OCI layout or archive, an archive of `docker save`, an unpacked root, or podman:NAME")
      ->type_name("IMAGE")
      ->required();
  verb->add_option("--claims", options->claims, "What a release promises, such as docker/claims/pytorch-2.1.0.yaml")
      ->type_name("FILE");
  verb->add_option("--tag", options->tag, "Which image of an archive that holds several")->type_name("NAME");
  verb->add_option("--junit", options->junit, "Write a test case for every claim and finding")->type_name("FILE");
  verb->add_flag("--json", options->as_json, "Print one JSON document");
  return [options, &context] { return inspect(*options, context); };
}

}  // namespace reprobench
