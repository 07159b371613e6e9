#include <sstream>

#include <fmt/format.h>
#include <pugixml.hpp>

#include "matrix/base/plain_text.hpp"
#include "matrix/image/inspection.hpp"

namespace reprobench {
namespace {

class Report {
 public:
  explicit Report(const std::string& image) {
    suite_ = document_.append_child("testsuites").append_child("testsuite");
    suite_.append_attribute("name") = plain_line(image).c_str();
  }

  // `element`: "failure", "error", or null for a case that passed.
  void add(const std::string& group, const std::string& name, const char* element, const std::string& what) {
    pugi::xml_node test = suite_.append_child("testcase");
    test.append_attribute("classname") = group.c_str();
    test.append_attribute("name") = plain_line(name).c_str();
    ++cases_;
    if (element == nullptr) return;
    (std::string_view(element) == "failure" ? failures_ : errors_) += 1;
    test.append_child(element).append_attribute("message") = plain_line(what).c_str();
  }

  std::string text() {
    suite_.append_attribute("tests") = cases_;
    suite_.append_attribute("failures") = failures_;
    suite_.append_attribute("errors") = errors_;
    std::ostringstream text;
    document_.save(text, "  ");
    return text.str();
  }

 private:
  pugi::xml_document document_;
  pugi::xml_node suite_;
  int cases_ = 0;
  int failures_ = 0;
  int errors_ = 0;
};

const char* element_of(ClaimWord word) {
  return word == ClaimWord::agrees ? nullptr : word == ClaimWord::contradicted ? "failure" : "error";
}

}  // namespace

std::string to_junit(const Inspection& inspection) {
  Report report(inspection.image);
  for (const JudgedClaim& claim : inspection.claims) {
    report.add("claims", fmt::format("{} {} ({})", claim.component, claim.claimed, claim.source),
               element_of(claim.word), claim.why);
  }
  for (const ImageFinding& finding : inspection.findings) {
    const char* element = finding.severity == FindingSeverity::fail     ? "failure"
                          : finding.severity == FindingSeverity::unread ? "error"
                                                                        : nullptr;
    report.add("findings", fmt::format("{} {}", finding.code, finding.path), element, finding.what);
  }
  // A file without a single case is what many servers take for a green one.
  report.add("image", "inspected",
             element_of(inspection.word == InspectionWord::refused     ? ClaimWord::contradicted
                        : inspection.word == InspectionWord::undecided ? ClaimWord::unread
                                                                       : ClaimWord::agrees),
             inspection.summary);
  return report.text();
}

}  // namespace reprobench
