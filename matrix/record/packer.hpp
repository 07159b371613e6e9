// Values as bytes and back without loss, in little room where a value is near the one of the record before.
//
// One description of a record serves both ways: `Packer` appends each of its values, `Unpacker` takes them off in the
// same order. Example: way.integer(step.samples) of 32 after 32 is one byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace reprobench {

// The values of one type in the record before, in the order in which the description comes to them.
template <class Value>
class ValuesBefore {
 public:
  void begin_record() { next_ = 0; }
  Value& next() {
    if (next_ == values_.size()) values_.emplace_back();
    return values_[next_++];
  }

 private:
  std::vector<Value> values_;
  std::size_t next_ = 0;
};

struct RecordBefore {
  void begin_record();

  ValuesBefore<std::int64_t> integers;
  ValuesBefore<std::string> texts;
  ValuesBefore<std::vector<std::int64_t>> shapes;
  std::vector<std::string> event_names;
};

class Packer {
 public:
  void begin_record() { before_.begin_record(); }
  std::string take();

  void integer(const std::int64_t& value);  // as its difference from the one before
  void real(const double& value);           // likewise, of its bits
  void real_alone(const double& value) { raw(value); }
  template <class Value>
  void small(const Value& value) {  // of at most 256 values: a truth, a word
    raw(static_cast<unsigned char>(value));
  }
  void number(const nlohmann::json& value);  // an exact float (base/number.hpp), or anything
  void digest(const std::string& text);
  void text(const std::string& value);  // one byte if it is the one before
  void shape(const std::vector<std::int64_t>& value);
  void events(const nlohmann::json& events);
  template <class Value, class Pack>
  void maybe(const std::optional<Value>& value, Pack pack) {
    raw(value.has_value());
    if (value) pack(*value);
  }
  template <class Value, class Pack>
  void each(const std::vector<Value>& values, Pack pack) {
    varint(values.size());
    for (const Value& value : values) pack(value);
  }

 private:
  template <class Value>
  void raw(Value value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void varint(std::uint64_t value);
  void string(std::string_view text);
  void any(const nlohmann::json& value);

  std::string bytes_;
  RecordBefore before_;
};

// `bytes` must come from a Packer, and outlive this.
class Unpacker {
 public:
  explicit Unpacker(std::string_view bytes) : bytes_(bytes) {}

  bool is_at_end() const { return bytes_.empty(); }
  void begin_record() { before_.begin_record(); }

  void integer(std::int64_t& value);
  void real(double& value);
  void real_alone(double& value) { value = raw<double>(); }
  template <class Value>
  void small(Value& value) {
    value = static_cast<Value>(raw<unsigned char>());
  }
  void number(nlohmann::json& value);
  void digest(std::string& text);
  void text(std::string& value);
  void shape(std::vector<std::int64_t>& value);
  void events(nlohmann::json& events);
  template <class Value, class Unpack>
  void maybe(std::optional<Value>& value, Unpack unpack) {
    value.reset();
    if (raw<bool>()) unpack(value.emplace());
  }
  template <class Value, class Unpack>
  void each(std::vector<Value>& values, Unpack unpack) {
    values.resize(varint());
    for (Value& value : values) unpack(value);
  }

 private:
  template <class Value>
  Value raw() {
    Value value;
    std::memcpy(&value, bytes_.substr(0, sizeof value).data(), sizeof value);
    bytes_.remove_prefix(sizeof value);
    return value;
  }
  std::uint64_t varint();
  std::string_view string();
  nlohmann::json any();

  std::string_view bytes_;
  RecordBefore before_;
};

}  // namespace reprobench
