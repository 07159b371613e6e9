// Versions, schemas and the index: what is printed, and the code it ends with.
#include "ci/catch.hpp"
#include "matrix/cli/text/document_schemas.hpp"
#include "matrix/cli/verbs/verb_fixture.hpp"
#include "matrix/contract/version.hpp"

namespace reprobench {
namespace {

using Catch::Contains;
using nlohmann::json;

TEST_CASE("the version is that of the project and of its contract", "[cli]") {
  const std::string line =
      fmt::format("reprobench {} (contract {}.{})", kProjectVersion, kContractVersion.major, kContractVersion.minor);
  CHECK(version_text() == line);
  CHECK(said_by(&declare_version, "none", {}).out == line + "\n");
  const json document = json::parse(said_by(&declare_version, "none", {"--json"}).out);
  CHECK(document.at("reprobench") == kProjectVersion);
  CHECK_THAT(document.at("compiler").get<std::string>(), Catch::StartsWith("gcc-compatible ") && Contains("."));
}

TEST_CASE("schemas are named one a line, and one of them is printed without any file", "[cli]") {
  const auto schema = [&](const std::vector<std::string>& words) {
    return said_by(&declare_schema, "none", words).out;
  };
  const std::string names = schema({});
  CHECK_THAT(names, Catch::StartsWith("atlas\nattestation\n") && Catch::EndsWith("\nverdict\nversion\n"));
  CHECK(static_cast<std::size_t>(std::count(names.begin(), names.end(), '\n')) == document_schemas().size());
  const auto printed = nlohmann::json::parse(schema({"description"}));
  CHECK(printed.at("properties").at("schema").at("const") == "reprobench/description");
  CHECK_THAT(schema({"matrix"}), Contains("reference"));
  CHECK_THROWS_WITH(schema({"verdit"}), Contains("no schema `verdit`; did you mean `verdict`?"));
}

TEST_CASE("all schemas are written into a folder by their names", "[cli]") {
  const TemporaryFolder folder;
  const Said said = said_by(&declare_schema, "none", {"--write", folder.path.string()});
  CHECK(said.code == ExitCode::passed);
  CHECK(said.out.empty());
  for (const DocumentSchema& schema : document_schemas()) {
    const auto file = folder.path / (std::string(schema.name) + ".schema.json");
    CHECK(read_file(file) == schema.text());
    CHECK(static_cast<int>(std::filesystem::status(file).permissions()) == 0644);
  }
}

RunInfo info_of(const std::string& id) {
  RunInfo info;
  info.run_id = id;
  info.started_utc = "2026-01-01T00:00:00Z";
  return info;
}

TEST_CASE("the index is rebuilt from the runs that can be read, and the others are named", "[cli]") {
  const SmallProject project;
  const auto db = [&](const std::vector<std::string>& words) {
    return said_by(&declare_db, project.store().string(), words);
  };
  CHECK(db({"list"}).out.empty());
  const Plan plan = sample_plan({sample_cell("aaa", "new")});
  RunDirectory::create(project.store(), std::nullopt, info_of("r-1"), plan);
  const Said one = db({"rebuild"});
  CHECK(one.out == "index rebuilt from 1 run\n");
  CHECK(one.code == ExitCode::passed);
  RunDirectory::create(project.store(), std::nullopt, info_of("r-2"), plan);
  CHECK(db({"rebuild"}).out == "index rebuilt from 2 runs\n");
  CHECK_THAT(db({"list"}).out, Contains("r-1  2026") && Contains("r-2  2026"));
  CHECK(json::parse(db({"list", "--json"}).out).at("entries").size() == 2);
  written_file(project.store() / "runs/r-1/run.json", "{");
  const Said broken = db({"rebuild"});
  CHECK(broken.code == ExitCode::store);
  CHECK(broken.out == "index rebuilt from 1 run\n");
  CHECK_THAT(broken.err, Catch::StartsWith("store: not in the index: ") && Contains("r-1"));
}

}  // namespace
}  // namespace reprobench
