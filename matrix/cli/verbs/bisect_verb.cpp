#include <memory>
#include <optional>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "matrix/cli/check_question.hpp"
#include "matrix/cli/image_stacks.hpp"
#include "matrix/cli/kept_image.hpp"
#include "matrix/cli/runnable_stack.hpp"
#include "matrix/cli/stored_runs.hpp"
#include "matrix/cli/verbs/bisected_work.hpp"
#include "matrix/cli/verbs/knob_options.hpp"
#include "matrix/cli/verbs/selection.hpp"
#include "matrix/cli/verbs/verb.hpp"
#include "matrix/host/detect_host.hpp"

namespace reprobench {
namespace {

// Stacks have no slash in their names. A file or folder that lies here is an image, unless a stack is called so.
bool is_image(const std::string& name, const Project& project) {
  if (name.find('/') != std::string::npos || is_kept_image(name)) return true;
  const StackFiles files = project.stack_files();
  return !files.stacks.contains(name) && !files.broken.contains(name) && std::filesystem::exists(name);
}

// Images are the stacks `good` and `bad` of the store, as those of `qualify` are `candidate` and `reference`, with a
// worker each.
void make_stacks(ImageStacks& images, const Project& project, const Terminal& terminal, BisectOptions& options) {
  const bool with_gpu = !detect_host().gpus.empty();
  const CudaHeaderSource cuda_headers = with_gpu ? cuda_headers_of(project, terminal) : CudaHeaderSource();
  std::vector<ImageStack> stacks;
  for (const NamedImage& named :
       {NamedImage{"good", options.given_good, ""}, NamedImage{"bad", options.given_bad, ""}}) {
    const InspectedImage image = images.inspect(named, {});
    terminal.log(fmt::format("{} {}: {}\n", named.role, image.digest, image.inspection.summary));
    if (image.inspection.word == InspectionWord::refused) {
      throw UsageError(fmt::format("{} is not what it says, and nothing of it was run", named.name));
    }
    stacks.push_back(images.make_stack(image, cuda_headers));
  }
  for (const ImageStack& stack : stacks) {
    if (made_runnable(stack.spec, project, terminal, with_gpu)) continue;
    throw UsageError(stack.spec.name + " does not load what it declares, and nothing was run");
  }
  options.good = "good";
  options.bad = "bad";
  options.images = true;
}

void require_one_question(const BisectOptions& options) {
  const int asked =
      (options.call.empty() ? 0 : 1) + (options.workload.empty() ? 0 : 1) + (options.check.empty() ? 0 : 1);
  if (asked != 1) throw UsageError("say one of --call, --workload and --check");
  if (options.components && !options.axis.empty()) throw UsageError("--components has no axis");
  if (options.components && !options.workers.empty()) {
    throw UsageError("--components exchanges files of installed stacks; a --worker brings none");
  }
  if (!options.calls_file.empty() && options.call.empty()) throw UsageError("--calls is the list of --call");
  if (!options.run.empty() && options.check.empty()) throw UsageError("--run is the run of --check");
  if (options.check.empty()) return;
  if (options.slower_percent > 0) throw UsageError("--slower has no --check: the check has a bound of its own");
  if (!options.knobs.empty()) throw UsageError("--knob has no --check: the cell has knobs of its own");
}

ExitCode run_bisect(BisectOptions& options, Context& context) {
  require_one_question(options);
  options.good = options.given_good;
  options.bad = options.given_bad;
  const Project project(context.store);
  const bool is_of_images = is_image(options.good, project);
  if (is_of_images != is_image(options.bad, project)) {
    throw UsageError(fmt::format("{} and {}: an image is held against another image", options.good, options.bad));
  }
  std::optional<CheckedCell> checked;
  if (!options.check.empty()) {
    context.terminal.error(passed_over(context.store, options.run));
    checked = stored_check(context.store, options.run, options.check.at(0), options.check.at(1));
    if (checked->is_of_images != is_of_images) {
      throw UsageError(fmt::format("the run {} is {}of images, and the ends are{}", checked->asked.run,
                                   is_of_images ? "not " : "", is_of_images ? "" : " not"));
    }
    if (is_of_images) hold_against(*checked, "good");
  }
  if (!is_of_images) return bisected(options, std::move(checked), context);
  if (!options.axis.empty() || !options.workers.empty()) throw UsageError("images have no --axis and no --worker");
  // What was typed wrongly is said before gigabytes are read.
  given_knobs(options.knobs);
  if (!options.call.empty()) chosen_calls(options, project);
  ImageStacks images(project);  // nobody else changes them meanwhile
  make_stacks(images, project, context.terminal, options);
  return bisected(options, std::move(checked), context);
}

}  // namespace

std::function<ExitCode()> declare_bisect(CLI::App& app, Context& context) {
  auto options = std::make_shared<BisectOptions>();
  app.footer(
      app.get_footer() +
      "\nExit codes of bisect: 0 the change was found, between two neighbours or in a range whose middle cannot be\n"
      "tested. With several calls: it was found for one at least, and none is unclear. 3 an end cannot be tested or "
      "is\n"
      "not what it was said to be, or noise leaves an end open. 2 nothing was run. Results are kept in the store\n"
      "(bisects/): the same command goes on where it was stopped.");
  app.add_option("--good", options->given_good, "The stack that does not show it, or the image")
      ->required()
      ->type_name("STACK");
  app.add_option("--bad", options->given_bad, "The stack that shows it, or the image")->required()->type_name("STACK");
  app.add_option("--axis", options->axis,
                 "The stacks to search, from good to bad; default: all whose torch lies between, by version")
      ->delimiter(',')
      ->type_name("STACK,...");
  app.add_flag(
      "--components", options->components,
      "Which component makes the difference? Between two stacks of wheels, by hybrids of both. Asked by itself, "
      "too, if no stack lies between them and no --axis is given");
  app.add_option("--call", options->call,
                 "Where do its bits change? A call as operators.yaml has it, or an operator: all its calls of the list")
      ->type_name("CALL");
  app.add_option("--calls", options->calls_file, "The list of calls; default: suites/operators/published.yaml")
      ->type_name("FILE");
  app.add_option("--workload", options->workload, "Where do the bits of this training change?")
      ->type_name("MODEL/PRESET");
  app.add_option("--steps", options->steps, "Steps of that training")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  app.add_option("--batch", options->batch, "Samples a step; default: the preset's")->check(CLI::Range(1, 1000000));
  app.add_option("--slower", options->slower_percent,
                 "Instead of bits: which stack is slower than the good end by more than this? Pairs of processes are "
                 "timed until each stack is decided; the whole answer holds with 95 % confidence")
      ->check(CLI::Range(0.1, 10000.0))
      ->type_name("PERCENT");
  app.add_option(
         "--check", options->check,
         "Where did this check of a run's cell begin to fail? The cell as `explain` takes it, and the metric; of "
         "several checks 'METRIC of MEASUREMENT'. The cell is run and judged on each stack as it was there")
      ->expected(2)
      ->type_name("CELL METRIC");
  app.add_option("--run", options->run, "The run of that cell, its id or directory; default: the newest of the store")
      ->type_name("RUN");
  app.add_option("--knob", options->knobs, "A knob of all stacks, may be repeated")->type_name("NAME=VALUE");
  app.add_option("--worker", options->workers, "Run a stack with this command instead of its installed worker")
      ->type_name("STACK=COMMAND");
  app.add_flag("--install", options->install,
               "Install stacks of wheels that are not there, when the search comes to them; else they are untestable");
  app.add_flag("--again", options->again, "Run every stack again, also those that an earlier call has decided");
  app.add_flag("--json", options->json, "One JSON document (schema: bisect)");
  return [options, &context] { return run_bisect(*options, context); };
}

}  // namespace reprobench
