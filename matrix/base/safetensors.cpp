#include "matrix/base/safetensors.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include <nlohmann/json.hpp>

#include "matrix/base/json_parse.hpp"

namespace reprobench {
namespace {

constexpr std::uint64_t kPrefixBytes = 8;
constexpr std::uint64_t kLongestHeaderBytes = 100'000'000;
constexpr const char* kMetadata = "__metadata__";
constexpr std::size_t kMostTensors = 150'000;     // a model of 10^12 parameters has 140,000
constexpr std::size_t kMostNameBytes = 12 << 20;  // of all tensors: 89 letters for each of 140,000
constexpr std::size_t kMostSizesInAll = 500'000;
constexpr std::size_t kMostSizes = 64;  // of one tensor, as LibTorch's own iterators

constexpr std::array kDtypes = {
    SafetensorsDtype{"BOOL", "bool", 1},
    SafetensorsDtype{"U8", "uint8", 1},
    SafetensorsDtype{"I8", "int8", 1},
    SafetensorsDtype{"F8_E5M2", "float8_e5m2", 1},
    SafetensorsDtype{"F8_E4M3", "float8_e4m3fn", 1},
    SafetensorsDtype{"I16", "int16", 2},
    SafetensorsDtype{"U16", "uint16", 2},
    SafetensorsDtype{"F16", "float16", 2},
    SafetensorsDtype{"BF16", "bfloat16", 2},
    SafetensorsDtype{"I32", "int32", 4},
    SafetensorsDtype{"U32", "uint32", 4},
    SafetensorsDtype{"F32", "float32", 4},
    SafetensorsDtype{"F64", "float64", 8},
    SafetensorsDtype{"I64", "int64", 8},
    SafetensorsDtype{"U64", "uint64", 8},
};

class HeaderParser {
 public:
  HeaderParser(const std::string& source, std::span<const std::byte> head, std::uint64_t file_bytes)
      : source_(source), head_(head), file_bytes_(file_bytes) {}

  std::uint64_t head_bytes() const {
    if (file_bytes_ < kPrefixBytes || head_.size() < kPrefixBytes) {
      fail(file_bytes_,
           "the file is cut: it has " + std::to_string(file_bytes_) + " bytes, the header's length alone takes 8");
    }
    std::uint64_t length = 0;
    for (std::size_t i = kPrefixBytes; i-- > 0;) length = length << 8 | std::to_integer<std::uint64_t>(head_[i]);
    if (length > kLongestHeaderBytes) {
      fail(0, "a header of " + std::to_string(length) + " bytes is announced, more than the format's 100000000");
    }
    if (length > file_bytes_ - kPrefixBytes) {
      fail(file_bytes_, "the file is cut: its header of " + std::to_string(length) + " bytes ends at byte " +
                            std::to_string(kPrefixBytes + length));
    }
    return kPrefixBytes + length;
  }

  SafetensorsHeader parse() {
    find_text();
    check_text();
    SafetensorsHeader header;
    std::size_t sizes = 0;
    parse_json_members(text_, [&](const std::string& name, const nlohmann::json& value) {
      if (name == kMetadata) {
        header.metadata = metadata(value);
      } else {
        header.tensors.push_back(entry(name, value));
        sizes += header.tensors.back().shape.size();
        if (sizes > kMostSizesInAll) {
          fail(kPrefixBytes, "the shapes in the header list more than " + std::to_string(kMostSizesInAll) + " sizes");
        }
      }
    });
    std::ranges::sort(header.tensors, {}, &SafetensorsEntry::name);
    check_coverage(header.tensors);
    return header;
  }

 private:
  [[noreturn]] void fail(std::uint64_t offset, const std::string& sentence) const {
    throw ContractError(source_ + ": byte " + std::to_string(offset) + ": " + sentence);
  }

  [[noreturn]] void fail_at(const std::string& name, const std::string& sentence) const {
    const std::size_t found = text_.find(nlohmann::json(name).dump());
    fail(kPrefixBytes + (found == std::string_view::npos ? 0 : found), "tensor `" + name + "`: " + sentence);
  }

  void find_text() {
    data_begin_ = head_bytes();
    if (head_.size() < data_begin_) fail(head_.size(), "the head was not read to its end");
    text_ = {reinterpret_cast<const char*>(head_.data()) + kPrefixBytes,
             static_cast<std::size_t>(data_begin_ - kPrefixBytes)};
  }

  // The text as a whole is JSON and names everything once, before any of it counts.
  void check_text() const {
    std::vector<std::string> names;
    std::size_t tensors = 0;
    std::size_t name_bytes = 0;
    ParsedJson parsed = parse_json_members(text_, [&](const std::string& name, const nlohmann::json&) {
      tensors += name == kMetadata ? 0 : 1;
      if (tensors > kMostTensors)
        fail(kPrefixBytes, "the header names more than " + std::to_string(kMostTensors) + " tensors");
      name_bytes += name.size();
      if (name_bytes > kMostNameBytes)
        fail(kPrefixBytes, "the names in the header take more than " + std::to_string(kMostNameBytes) + " bytes");
      names.push_back(name);
    });
    std::ranges::sort(names);
    const auto twice = std::ranges::adjacent_find(names);
    if (parsed.problem.empty() && twice != names.end()) parsed.doubled_key = *twice;
    if (!parsed.doubled_key.empty()) {
      const std::string key = nlohmann::json(parsed.doubled_key).dump();
      const std::size_t first = text_.find(key);
      const std::size_t second = first == std::string_view::npos ? first : text_.find(key, first + 1);
      fail(kPrefixBytes + (second == std::string_view::npos ? 0 : second), "the header holds " + key + " twice");
    }
    if (parsed.is_malformed) fail(kPrefixBytes + parsed.error_byte, "the header is not JSON");
    if (!parsed.problem.empty()) fail(kPrefixBytes, "the header holds " + parsed.problem);
    if (!parsed.value.is_object()) fail(kPrefixBytes, "the header is not a JSON object");
  }

  SafetensorsMetadata metadata(const nlohmann::json& value) const {
    if (!value.is_object()) fail(kPrefixBytes, "`__metadata__` is not an object");
    SafetensorsMetadata result;
    for (const auto& [key, text] : value.items()) {
      if (!text.is_string()) fail(kPrefixBytes, "`__metadata__`: `" + key + "` is not text");
      result[key] = text.get<std::string>();
    }
    return result;
  }

  const nlohmann::json& field(const std::string& name, const nlohmann::json& value, const char* key) const {
    const auto found = value.find(key);
    if (found == value.end()) fail_at(name, "`" + std::string(key) + "` is missing");
    return *found;
  }

  SafetensorsEntry entry(const std::string& name, const nlohmann::json& value) const {
    if (!value.is_object() || value.size() != 3) fail_at(name, "is not described by dtype, shape and data_offsets");
    SafetensorsEntry result;
    result.name = name;
    const nlohmann::json& dtype = field(name, value, "dtype");
    if (!dtype.is_string()) fail_at(name, "`dtype` is not text");
    result.dtype = dtype.get<std::string>();
    const nlohmann::json& shape = field(name, value, "shape");
    if (!shape.is_array()) fail_at(name, "`shape` is not a list");
    if (shape.size() > kMostSizes) fail_at(name, "`shape` lists more than " + std::to_string(kMostSizes) + " sizes");
    for (const nlohmann::json& size : shape) {
      if (!size.is_number_unsigned() || size.get<std::uint64_t>() > INT64_MAX) {
        fail_at(name, "`shape` holds " + size.dump() + ", not a size");
      }
      result.shape.push_back(size.get<std::int64_t>());
    }
    const nlohmann::json& offsets = field(name, value, "data_offsets");
    if (!offsets.is_array() || offsets.size() != 2 || !offsets[0].is_number_unsigned() ||
        !offsets[1].is_number_unsigned()) {
      fail_at(name, "`data_offsets` is not a pair of offsets");
    }
    set_range(offsets[0].get<std::uint64_t>(), offsets[1].get<std::uint64_t>(), result);
    return result;
  }

  void set_range(std::uint64_t begin, std::uint64_t end, SafetensorsEntry& entry) const {
    if (end < begin) fail_at(entry.name, "`data_offsets` ends before it begins");
    if (end > file_bytes_ - data_begin_) {
      fail(file_bytes_, "the file is cut, or an offset is wrong: tensor `" + entry.name + "` ends at data offset " +
                            std::to_string(end) + ", the data at " + std::to_string(file_bytes_ - data_begin_));
    }
    const SafetensorsDtype* dtype = safetensors_dtype(entry.dtype);
    if (dtype != nullptr) {
      std::uint64_t bytes = dtype->bytes;
      bool overflow = false;
      for (const std::int64_t size : entry.shape) {
        overflow |= __builtin_mul_overflow(bytes, static_cast<std::uint64_t>(size), &bytes);
      }
      if (overflow || bytes != end - begin) {
        fail_at(entry.name, "type and shape make " + (overflow ? "more than 2^64" : std::to_string(bytes)) +
                                " bytes, the offsets " + std::to_string(end - begin));
      }
    }
    entry.begin_bytes = data_begin_ + begin;
    entry.end_bytes = data_begin_ + end;
  }

  void check_coverage(const std::vector<SafetensorsEntry>& tensors) const {
    std::vector<const SafetensorsEntry*> order;
    for (const SafetensorsEntry& tensor : tensors) order.push_back(&tensor);
    std::sort(order.begin(), order.end(), [](const SafetensorsEntry* a, const SafetensorsEntry* b) {
      return std::pair(a->begin_bytes, a->end_bytes) < std::pair(b->begin_bytes, b->end_bytes);
    });
    std::uint64_t covered = data_begin_;
    for (const SafetensorsEntry* tensor : order) {
      if (tensor->begin_bytes < covered) {
        fail(tensor->begin_bytes,
             "tensor `" + tensor->name + "` overlaps the one before it, which ends at byte " + std::to_string(covered));
      }
      if (tensor->begin_bytes > covered) {
        fail(covered, std::to_string(tensor->begin_bytes - covered) + " bytes before tensor `" + tensor->name +
                          "` belong to none");
      }
      covered = tensor->end_bytes;
    }
    if (covered != file_bytes_) {
      fail(covered, std::to_string(file_bytes_ - covered) + " bytes after the last tensor belong to none");
    }
  }

  const std::string& source_;
  std::span<const std::byte> head_;
  std::uint64_t file_bytes_;
  std::string_view text_;
  std::uint64_t data_begin_ = 0;
};

}  // namespace

std::span<const SafetensorsDtype> safetensors_dtypes() { return kDtypes; }

const SafetensorsDtype* safetensors_dtype(std::string_view name) {
  const auto found = std::find_if(kDtypes.begin(), kDtypes.end(), [&](const auto& row) { return row.name == name; });
  return found == kDtypes.end() ? nullptr : &*found;
}

const SafetensorsDtype* safetensors_dtype_of_torch(std::string_view torch_name) {
  const auto found =
      std::find_if(kDtypes.begin(), kDtypes.end(), [&](const auto& row) { return row.torch_name == torch_name; });
  return found == kDtypes.end() ? nullptr : &*found;
}

SafetensorsHeader parse_safetensors(const std::string& source, std::span<const std::byte> file) {
  return HeaderParser(source, file, file.size()).parse();
}

SafetensorsHeader parse_safetensors(const std::string& source, std::span<const std::byte> head,
                                    std::uint64_t file_bytes) {
  return HeaderParser(source, head, file_bytes).parse();
}

std::uint64_t safetensors_head_bytes(const std::string& source, std::span<const std::byte> first,
                                     std::uint64_t file_bytes) {
  return HeaderParser(source, first, file_bytes).head_bytes();
}

}  // namespace reprobench
