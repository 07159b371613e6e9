#include <filesystem>
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "matrix/base/plain_text.hpp"
#include "matrix/cli/image_stacks.hpp"
#include "matrix/cli/kept_image.hpp"
#include "matrix/cli/runnable_stack.hpp"
#include "matrix/cli/text/inspection_text.hpp"
#include "matrix/cli/verbs/run_options.hpp"
#include "matrix/contract/document/writer.hpp"
#include "matrix/host/detect_host.hpp"
#include "matrix/provision/sha256.hpp"

namespace reprobench {
namespace {

struct QualifyOptions {
  NamedImage candidate{"candidate", "", ""};
  NamedImage reference{"reference", "", ""};
  std::vector<std::string> claims;
  RunOptions run;
};

RunImage run_image(const InspectedImage& image) {
  const std::string document = written(image.inspection).dump(1) + "\n";
  return {{.name = image.named.name,
           .digest = image.digest,
           .inspection = std::string(to_string(image.inspection.word)),
           .summary = image.inspection.summary,
           .inspection_sha256 = sha256_of_text(document)},
          document};
}

// Before two workers are built, which takes minutes.
void require_matrix_of_images(const RunOptions& run, const Project& project) {
  Plan plan = make_plan(project, run.selection).plan;
  for (const auto& [stack, image] : run.images) plan.images.emplace(stack, image.planned);
  require_pair_of_images(plan);
}

ExitCode qualify(QualifyOptions& options, Context& context) {
  const Terminal& terminal = context.terminal;
  const Project project(context.store);
  ImageStacks images(project);
  std::vector<ClaimsFile> claims;
  for (const std::string& file : options.claims) claims.push_back(load_claims(file));

  // What a release promises is promised of the candidate; what the reference says of itself is shown and decides
  // nothing.
  const InspectedImage candidate = images.inspect(options.candidate, claims);
  terminal.log(fmt::format("candidate {}\n{}", candidate.digest, inspection_text(candidate.inspection, terminal)));
  if (candidate.inspection.word == InspectionWord::refused) {
    terminal.error(fmt::format("candidate {} NOT qualified: the image is not what it says, and nothing of it was run\n",
                               candidate.digest));
    return ExitCode::failed;
  }
  const InspectedImage reference = images.inspect(options.reference, {});
  terminal.log(fmt::format("reference {}: {}\n", reference.digest, reference.inspection.summary));

  // Both can be stacks before a worker is built for one.
  const bool with_gpu = !detect_host().gpus.empty();
  const CudaHeaderSource cuda_headers = with_gpu ? cuda_headers_of(project, terminal) : CudaHeaderSource();
  std::vector<ImageStack> stacks;
  for (const InspectedImage* image : {&candidate, &reference}) {
    stacks.push_back(images.make_stack(*image, cuda_headers));
    terminal.log(fmt::format("{}: {}\n", image->named.role, stacks.back().spec.summary));
    for (const std::string& note : stacks.back().notes) terminal.log(fmt::format("  WARN {}\n", plain_line(note)));
    options.run.images.emplace(image->named.role, run_image(*image));
  }
  if (options.run.selection.matrix.empty()) {
    options.run.selection.matrix = std::filesystem::proximate(project.root() / "matrix" / "image.yaml").string();
  }
  require_matrix_of_images(options.run, project);
  for (const ImageStack& stack : stacks) {
    if (made_runnable(stack.spec, project, terminal, with_gpu)) continue;
    terminal.error(fmt::format("{} does not load what it declares, and nothing was run\n", stack.spec.name));
    return stack.spec.name == "candidate" ? ExitCode::failed : ExitCode::undecided;
  }
  // Builds and runs take their time, and a root lies where others write. A library that is patched keeps its build id.
  options.run.changed_images = [&] {
    std::vector<std::string> changed;
    for (const InspectedImage* image : {&candidate, &reference}) {
      if (images.is_changed(*image)) changed.push_back(image->named.role);
    }
    return changed;
  };
  return run_matrix(options.run, context);
}

}  // namespace

std::function<ExitCode()> declare_qualify(CLI::App& app, Context& context) {
  auto options = std::make_shared<QualifyOptions>();
  const std::string forms =
      std::string("An unpacked root, an OCI layout or archive, an archive of `docker save`, ") + kKeptImageForms;
  app.add_option("--candidate", options->candidate.name, forms)->type_name("IMAGE")->required();
  app.add_option("--reference", options->reference.name, "The image that it is held against, in any of these forms")
      ->type_name("IMAGE")
      ->required();
  app.add_option("--candidate-tag", options->candidate.tag, "Which image of an archive that holds several")
      ->type_name("NAME");
  app.add_option("--reference-tag", options->reference.tag, "The same of the reference")->type_name("NAME");
  app.add_option("--claims", options->claims, "What a release promises of the candidate")->type_name("FILE");
  app.add_option("--matrix", options->run.selection.matrix,
                 "A matrix of the stacks `candidate` and `reference`; as shipped matrix/image.yaml")
      ->type_name("FILE");
  add_run_options(app, options->run);
  return [options, &context] { return qualify(*options, context); };
}

}  // namespace reprobench
