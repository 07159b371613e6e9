#include "matrix/base/json_parse.hpp"

#include <vector>

namespace reprobench {
namespace {

using nlohmann::json;

constexpr int kNumberOutOfRange = 406;  // nlohmann/json's id of that error

// Builds the document from the parser's events. The library's own parser with a callback could see the keys as well,
// but takes twice the time, and every line of every trace comes through here.
class Builder final : public nlohmann::json_sax<json> {
 public:
  explicit Builder(ParsedJson& parsed, const AcceptMember* accept = nullptr) : parsed_(parsed), accept_(accept) {}

  bool null() override { return put(nullptr); }
  bool boolean(bool value) override { return put(value); }
  bool number_integer(number_integer_t value) override { return put(value); }
  bool number_unsigned(number_unsigned_t value) override { return put(value); }
  bool number_float(number_float_t value, const string_t&) override { return put(value); }
  bool string(string_t& value) override { return put(std::move(value)); }
  bool binary(binary_t&) override { return false; }  // no text has one

  bool start_object(std::size_t) override { return open(json::value_t::object); }
  bool start_array(std::size_t) override { return open(json::value_t::array); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t& name) override {
    if (is_in_passed_object()) {
      member_ = std::move(name);
      values_ = 0;
      value_of_key_ = &member_value_;
      return true;
    }
    const auto [place, is_new] = open_.back()->get_ref<json::object_t&>().try_emplace(name);
    if (!is_new && parsed_.problem.empty()) {
      parsed_.doubled_key = name;
      parsed_.problem = "`" + name + "` stands twice in one object";
    }
    value_of_key_ = &place->second;
    return true;
  }

  bool parse_error(std::size_t bytes_read, const std::string&, const json::exception& error) override {
    parsed_ = {};
    parsed_.is_malformed = error.id != kNumberOutOfRange;
    parsed_.problem = parsed_.is_malformed ? "not JSON" : "a number too large for any type";
    if (parsed_.is_malformed && bytes_read > 0) parsed_.error_byte = bytes_read - 1;
    return false;
  }

 private:
  // Puts the next value in its place: the document itself, the end of the open array, or the last key of the open
  // object.
  template <class Value>
  bool put(Value&& value) {
    if (!counts()) return false;
    place() = std::forward<Value>(value);
    pass_on();
    return true;
  }

  bool is_in_passed_object() const { return accept_ != nullptr && open_.size() == 1 && open_.front()->is_object(); }

  void pass_on() {
    if (!is_in_passed_object()) return;
    (*accept_)(member_, member_value_);
    member_value_ = nullptr;
  }

  // One more value of the present member.
  bool counts() {
    if (accept_ == nullptr || ++values_ <= kMostMemberValues) return true;
    parsed_ = {};
    parsed_.problem = "a member of more than " + std::to_string(kMostMemberValues) + " values";
    return false;
  }

  json& place() {
    if (open_.empty()) return parsed_.value;
    if (open_.back()->is_array()) return open_.back()->get_ref<json::array_t&>().emplace_back();
    return *value_of_key_;
  }

  bool open(json::value_t type) {
    if (open_.size() == kMostJsonDepth) {
      parsed_ = {};
      parsed_.problem = "nested deeper than " + std::to_string(kMostJsonDepth);
      return false;
    }
    if (!counts()) return false;
    json& value = place();
    value = json(type);
    open_.push_back(&value);
    return true;
  }

  bool close() {
    open_.pop_back();
    pass_on();
    return true;
  }

  ParsedJson& parsed_;
  const AcceptMember* accept_;  // null: the document is built
  std::string member_;
  json member_value_;
  std::size_t values_ = 0;   // of it so far
  std::vector<json*> open_;  // objects and arrays around the place; none moves before it is closed
  json* value_of_key_ = nullptr;
};

}  // namespace

nlohmann::json json_or_discarded(std::string_view text) {
  ParsedJson parsed = parse_json(text);
  return parsed.problem.empty() ? std::move(parsed.value) : json(json::value_t::discarded);
}

ParsedJson parse_json_members(std::string_view text, const AcceptMember& accept) {
  ParsedJson parsed;
  Builder builder(parsed, &accept);
  json::sax_parse(text, &builder);
  return parsed;
}

ParsedJson parse_json(std::string_view text) {
  ParsedJson parsed;
  Builder builder(parsed);
  json::sax_parse(text, &builder);
  return parsed;
}

}  // namespace reprobench
