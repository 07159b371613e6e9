// The findings of an inspection about an image, worst first.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "matrix/contract/document/description.hpp"
#include "matrix/contract/document/words.hpp"

namespace reprobench {

// fail: the image is not what it claims to be, or is open to others. unread: something could not be judged. warn:
// someone should look.
enum class FindingSeverity { fail, unread, warn };
template <>
struct Words<FindingSeverity> {
  static constexpr std::array<std::string_view, 3> table = {"fail", "unread", "warn"};
};

struct ImageFinding {
  FindingSeverity severity = FindingSeverity::unread;
  std::string code;  // "second-copy": for filters
  std::string path;  // in the image, with a slash at its beginning; empty: the image as a whole
  std::string what;  // a sentence
};
template <>
struct Description<ImageFinding> {
  static constexpr About about = About::part("image_finding");
  static void fields(auto& field, ImageFinding& finding) {
    field("severity", finding.severity);
    field("code", finding.code, rule::not_empty);
    field("path", finding.path, "In the image; empty: the image as a whole.");
    field("what", finding.what, rule::not_empty);
  }
};

}  // namespace reprobench
