#include "matrix/spec/checkout.hpp"

#include <algorithm>

namespace reprobench {
namespace {

namespace fs = std::filesystem;

bool is_root(const fs::path& folder) {
  std::error_code error;
  return fs::exists(folder / ".git", error) ||
         (fs::is_directory(folder / "matrix/stacks", error) && fs::is_directory(folder / "suites/definitions", error));
}

bool is_below(const fs::path& file, const fs::path& folder) {
  return std::mismatch(folder.begin(), folder.end(), file.begin(), file.end()).first == folder.end();
}

}  // namespace

fs::path checkout_of(const fs::path& file) {
  const fs::path own = fs::absolute(file).lexically_normal().parent_path();
  for (fs::path folder = own; folder != folder.root_path(); folder = folder.parent_path()) {
    if (is_root(folder)) return folder;
  }
  return own;
}

std::string leads_out(const fs::path& file) {
  std::error_code error;
  const fs::path real = fs::canonical(file, error);
  if (error) return "";  // it cannot be opened either
  const fs::path checkout = checkout_of(file);
  const fs::path real_checkout = fs::canonical(checkout, error);
  if (error || is_below(real, real_checkout)) return "";
  return "a link leads out of " + checkout.string();
}

}  // namespace reprobench
