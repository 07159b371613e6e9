#include "models/data/text/text.hpp"

#include <algorithm>
#include <fstream>
#include <set>
#include <string>

#include <unistd.h>

#include "ci/catch.hpp"
#include "ci/temporary.hpp"

namespace reprobench {
namespace {

const std::filesystem::path kTextFolder = std::filesystem::path(REPROBENCH_SOURCE_ROOT) / "models" / "data";

std::vector<std::int64_t> tokens(const DataSet& data, std::int64_t sample, bool target) {
  std::vector<std::int64_t> values(static_cast<std::size_t>(data.fields().front().shape.front()));
  data.copy(sample, target ? 1 : 0, reinterpret_cast<std::byte*>(values.data()));
  return values;
}

std::string as_text(const std::vector<std::int64_t>& values) { return {values.begin(), values.end()}; }

TEST_CASE("the shipped text is the poem from its first line to its last, in ASCII", "[models]") {
  const auto bytes = load_text(kTextFolder);
  const std::string text(bytes.begin(), bytes.end());
  CHECK(text.starts_with("Book I\n\n\nOf Man's first disobedience, and the fruit\n"));
  CHECK(text.ends_with("Through Eden took their solitary way.\n"));
  CHECK(std::all_of(bytes.begin(), bytes.end(), [](unsigned char c) { return c == '\n' || (c >= ' ' && c < 127); }));
  CHECK(std::set(bytes.begin(), bytes.end()).size() == 75);
}

TEST_CASE("a sample's target is its input one byte on, and samples follow each other without a gap", "[models]") {
  const auto data = text_windows(kTextFolder, 16);
  CHECK(data->size() == 456'837 / 16);
  CHECK(as_text(tokens(*data, 0, false)) == "Book I\n\n\nOf Man'");
  CHECK(as_text(tokens(*data, 0, true)) == "ook I\n\n\nOf Man's");
  CHECK(as_text(tokens(*data, 1, false)) == "s first disobedi");
  const std::int64_t last = data->size() - 1;
  const auto bytes = load_text(kTextFolder);
  CHECK(tokens(*data, last, true).back() == bytes[static_cast<std::size_t>(data->size()) * 16]);
}

TEST_CASE("the text's digest depends on how samples are cut", "[models]") {
  CHECK(text_windows(kTextFolder, 16)->digest() == text_windows(kTextFolder, 16)->digest());
  CHECK_FALSE(text_windows(kTextFolder, 16)->digest() == text_windows(kTextFolder, 32)->digest());
}

TEST_CASE("a context the text cannot fill is refused", "[models]") {
  CHECK(text_windows(kTextFolder, 456'837)->size() == 1);
  CHECK_THROWS_WITH(text_windows(kTextFolder, 456'838), "no text sample has a context of 456838 bytes");
  CHECK_THROWS_WITH(text_windows(kTextFolder, 0), "no text sample has a context of 0 bytes");
}

TEST_CASE("a text of another length is refused by name and size", "[models]") {
  const TemporaryFolder place;
  const auto folder = place.path / "data";
  const auto file = folder / "text" / "paradise_lost.txt";
  std::filesystem::create_directories(folder / "text");
  std::ofstream(file) << "short";
  CHECK_THROWS_WITH(load_text(folder), file.string() + ": holds 5 bytes, expected 456838");
  std::filesystem::remove_all(folder);
  CHECK_THROWS_WITH(load_text(folder), file.string() + ": cannot be opened");
}

}  // namespace
}  // namespace reprobench
