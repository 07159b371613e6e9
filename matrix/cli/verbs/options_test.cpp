// What every verb can be asked: its options with their values, bounds, defaults and words, as one page. The layout of
// `--help` is CLI11's, which differs from version to version.
#include <fstream>
#include <set>

#include "ci/catch.hpp"
#include "matrix/cli/verbs/verb_fixture.hpp"

namespace reprobench {
namespace {

constexpr std::pair<const char*, Declare> kDeclared[] = {{"run", &declare_run},
                                                         {"plan", &declare_plan},
                                                         {"list", &declare_list},
                                                         {"describe", &declare_describe},
                                                         {"stack", &declare_stack},
                                                         {"image", &declare_image},
                                                         {"qualify", &declare_qualify},
                                                         {"attest", &declare_attest},
                                                         {"verify", &declare_verify},
                                                         {"report", &declare_report},
                                                         {"explain", &declare_explain},
                                                         {"compare", &declare_compare},
                                                         {"bisect", &declare_bisect},
                                                         {"atlas", &declare_atlas},
                                                         {"merge", &declare_merge},
                                                         {"calibrate", &declare_calibrate},
                                                         {"selftest", &declare_selftest},
                                                         {"ingest", &declare_ingest},
                                                         {"lint", &declare_lint},
                                                         {"doctor", &declare_doctor},
                                                         {"db", &declare_db},
                                                         {"schema", &declare_schema},
                                                         {"version", &declare_version}};

std::string option_text(const CLI::Option& option) {
  std::string text = fmt::format("  {} {}", option.get_name(true, true), option.get_type_name());
  if (option.get_required()) text += ", required";
  if (option.get_expected_max() == CLI::detail::expected_max_vector_size) {
    text += ", may be repeated";
  } else if (option.get_expected_min() != 1 && !option.get_type_name().empty()) {
    text += ", value may be left out";
  }
  if (!option.get_default_str().empty()) text += ", default " + option.get_default_str();
  std::set<std::string> others;
  for (const CLI::Option* other : option.get_excludes()) others.insert(other->get_name(true, true));
  for (const std::string& other : others) text += ", not with " + other;
  return text + ": " + option.get_description() + "\n";
}

std::string options_text(const std::string& name, const CLI::App& app) {
  std::string text = fmt::format("{}{}\n", name, app.get_require_subcommand_min() > 0 ? " takes one of:" : "");
  if (!app.get_description().empty()) text += "  " + app.get_description() + "\n";
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_name() != "--help") text += option_text(*option);
  }
  for (const CLI::App* below : app.get_subcommands([](const CLI::App*) { return true; })) {
    text += options_text(name + " " + below->get_name(), *below);
  }
  return text + (app.get_footer().empty() ? "" : "  footer: " + app.get_footer() + "\n");
}

TEST_CASE("the options of every verb are those of the page", "[cli]") {
  std::string page;
  for (const auto& [name, declare] : kDeclared) {
    CLI::App app;
    Context context;
    declare(app, context);
    page += options_text(name, app);
  }
  const auto shipped = std::filesystem::path(REPROBENCH_SOURCE_ROOT) / "matrix/cli/verbs/testdata/options.txt";
  const auto found = std::filesystem::temp_directory_path() / "reprobench-options.txt";
  if (page != read_file(shipped)) std::ofstream(found) << page;
  INFO("if this is meant: cp " << found << " " << shipped);
  CHECK(page == read_file(shipped));
}

}  // namespace
}  // namespace reprobench
