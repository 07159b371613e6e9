#include "models/data/text/text.hpp"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <span>
#include <stdexcept>
#include <string>

namespace reprobench {
namespace {

constexpr std::size_t kTextBytes = 456'838;

class TextWindows final : public DataSet {
 public:
  TextWindows(std::vector<unsigned char> text, std::int64_t context)
      : text_(std::move(text)),
        context_(context),
        count_(context < 1 ? 0 : (static_cast<std::int64_t>(text_.size()) - 1) / context) {
    if (count_ < 1) throw std::runtime_error("no text sample has a context of " + std::to_string(context) + " bytes");
  }

  std::int64_t size() const override { return count_; }
  std::vector<FieldSpec> fields() const override {
    return {{"input", ElementType::int64, {context_}}, {"target", ElementType::int64, {context_}}};
  }

  // The target begins one byte after the input.
  void copy(std::int64_t sample, std::size_t field, std::byte* to) const override {
    copy_sequence(sample, field, context_, to);
  }

  // Its first tokens.
  bool has_sequences() const override { return true; }
  void copy_sequence(std::int64_t sample, std::size_t field, std::int64_t length, std::byte* to) const override {
    const std::int64_t first = sample * context_ + static_cast<std::int64_t>(field);
    for (std::int64_t i = 0; i < length; ++i) {
      const std::int64_t token = text_[static_cast<std::size_t>(first + i)];
      std::memcpy(to + i * std::int64_t{sizeof token}, &token, sizeof token);
    }
  }

  Digest digest() const override {
    const std::int64_t shape[] = {static_cast<std::int64_t>(text_.size())};
    return DigestBuilder()
        .append(tensor_digest("uint8", shape, std::as_bytes(std::span(text_))))
        .append(static_cast<std::uint64_t>(context_))
        .finish();
  }

 private:
  std::vector<unsigned char> text_;
  std::int64_t context_;
  std::int64_t count_;
};

}  // namespace

std::vector<unsigned char> load_text(const std::filesystem::path& data_folder) {
  const std::filesystem::path path = data_folder / "text" / "paradise_lost.txt";
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error(path.string() + ": cannot be opened");
  std::vector<unsigned char> bytes{std::istreambuf_iterator<char>(file), {}};
  if (bytes.size() != kTextBytes) {
    throw std::runtime_error(path.string() + ": holds " + std::to_string(bytes.size()) + " bytes, expected " +
                             std::to_string(kTextBytes));
  }
  return bytes;
}

std::unique_ptr<DataSet> text_windows(const std::filesystem::path& data_folder, std::int64_t context_length) {
  return std::make_unique<TextWindows>(load_text(data_folder), context_length);
}

}  // namespace reprobench
