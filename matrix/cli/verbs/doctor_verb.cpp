#include <algorithm>
#include <memory>

#include <CLI/CLI.hpp>

#include "matrix/base/plain_text.hpp"
#include "matrix/cli/doctor/preflight.hpp"
#include "matrix/cli/text/printed_documents.hpp"
#include "matrix/cli/text/text_table.hpp"
#include "matrix/cli/verbs/verb.hpp"
#include "matrix/contract/document/writer.hpp"

namespace reprobench {

std::function<ExitCode()> declare_doctor(CLI::App& app, Context& context) {
  auto as_json = std::make_shared<bool>(false);
  app.add_flag("--json", *as_json, "One JSON document (schema: doctor)");
  return [as_json, &context] {
    const std::vector<PreflightLine> lines = preflight(Project(context.store));
    const bool failed = std::any_of(lines.begin(), lines.end(),
                                    [](const PreflightLine& line) { return line.finding == Finding::fail; });
    if (*as_json) {
      context.terminal.out_document(written(DoctorDocument{lines}));
    } else {
      TextTable table("<4 <22 <");
      for (const PreflightLine& line : lines) {
        const Style style = line.finding == Finding::ok     ? Style::green
                            : line.finding == Finding::warn ? Style::yellow
                                                            : Style::red;
        table.row(context.terminal.paint(to_string(line.finding), style), line.check, plain_line(line.detail));
        if (!line.remedy.empty()) table.row("", "", line.remedy);
      }
      context.terminal.out(table.text());
    }
    return failed ? ExitCode::failed : ExitCode::passed;
  };
}

}  // namespace reprobench
