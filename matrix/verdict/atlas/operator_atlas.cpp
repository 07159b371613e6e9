#include "matrix/verdict/atlas/operator_atlas.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "matrix/base/usage_error.hpp"
#include "matrix/contract/document/writer.hpp"
#include "matrix/evidence/cell_partner.hpp"
#include "matrix/verdict/atlas/atlas_source.hpp"

namespace reprobench {
namespace {

std::size_t reference_among(const std::vector<AtlasSource>& sources, const std::string& wanted) {
  const auto found = std::find_if(sources.begin(), sources.end(), [&](const AtlasSource& source) {
    const AtlasColumn& column = source.column;
    return wanted.empty() ? source.is_reference
                          : column.name == wanted || column.release == wanted || column.name.starts_with(wanted + " ");
  });
  if (found != sources.end()) return static_cast<std::size_t>(found - sources.begin());
  if (wanted.empty()) return 0;
  throw UsageError(fmt::format("no column of the atlas is called `{}`", wanted));
}

}  // namespace

std::optional<std::size_t> reference_of(const OperatorAtlas& atlas, std::size_t column) {
  if (!atlas.expected_run.empty()) return atlas.columns[column].against;
  return column == atlas.reference ? std::nullopt : std::optional(atlas.reference);
}

std::optional<OperatorAtlas> operator_atlas(const RunRecord& run, const std::string& reference,
                                            const std::string& cell) {
  std::vector<AtlasSource> sources = atlas_sources(run);
  if (sources.empty()) return std::nullopt;
  name_columns(sources);
  OperatorAtlas atlas;
  atlas.run = run.info.run_id;
  atlas.planted = planted_in(run);
  atlas.reference = reference_among(sources, reference);
  if (!cell.empty()) {
    const std::string kept = sources[atlas.reference].column.cell_id;
    std::erase_if(sources, [&](const AtlasSource& source) {
      return source.column.cell_id != kept && !is_called(*source.cell, cell);
    });
    atlas.reference = static_cast<std::size_t>(
        std::ranges::find(sources, kept, [](const AtlasSource& source) { return source.column.cell_id; }) -
        sources.begin());
  }
  fill_atlas(sources, atlas);
  return atlas;
}

nlohmann::json to_json(const OperatorAtlas& atlas) { return written(atlas); }

}  // namespace reprobench
