#include "matrix/spec/files/json_reader.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "matrix/base/digits.hpp"
#include "matrix/spec/diagnostics.hpp"
#include "matrix/spec/files/input_text.hpp"

namespace reprobench {
namespace {

// For configurations only: no other file here is one of DeepSpeed's.
constexpr const char* kHjsonHint =
    "DeepSpeed's own reader takes it, json.load of Hugging Face and every other does not";

// Recursive descent; the depth is capped, so the stack is.
class JsonParser {
 public:
  JsonParser(std::string_view text, const std::string& file, const char* lenient_hint)
      : text_(text), file_(file), lenient_hint_(lenient_hint) {}

  JsonNode parse() {
    skip_space();
    if (at_end()) {
      fail("RB001", *lenient_hint_ == '\0' ? "file has no content; it must be an object"
                                           : "file has no content; a DeepSpeed configuration is an object");
    }
    JsonNode root = value();
    skip_space();
    if (!at_end()) refuse_syntax("text after the end of the object");
    if (!root.is(JsonNode::Kind::object)) {
      throw_spec_error(root.mark, "RB007", fmt::format("the file must be an object of keys, got {}", shown(root)));
    }
    return root;
  }

  void parse_items(const std::function<void(const JsonNode&)>& take) {
    skip_space();
    if (at_end()) fail("RB001", "file has no content");
    if (peek() == '{') return parse_lines(take);
    if (peek() != '[') {
      const JsonNode other = value();
      throw_spec_error(other.mark, "RB007",
                       fmt::format("the file must be a list or JSON Lines, an object a line; got {}", shown(other)));
    }
    open();
    if (peek() != ']') {
      do {
        take(value());
      } while (continues(']', "an item"));
    }
    close();
    skip_space();
    if (!at_end()) refuse_syntax("text after the end of the list");
  }

 private:
  void parse_lines(const std::function<void(const JsonNode&)>& take) {
    while (!at_end()) {
      const JsonNode item = value();
      if (line_ != item.mark.line) {
        throw_spec_error(item.mark, "RB005", "not valid JSON Lines: an object goes on over several lines",
                         "a list of objects begins with `[`");
      }
      while (!at_end() && line_ == item.mark.line) {
        if (std::string_view(" \t\r\n").find(peek()) == std::string_view::npos) {
          refuse_syntax("text after the object of this line", peek() == ',' ? "a list of objects begins with `[`" : "");
        }
        advance();
      }
      take(item);
      skip_space();
    }
  }

  bool at_end() const { return at_ == text_.size(); }
  char peek() const { return at_end() ? '\0' : text_[at_]; }
  Mark mark() const { return {file_, line_, static_cast<int>(at_ - line_start_) + 1}; }

  [[noreturn]] void fail(const char* code, std::string what, std::string hint = "") {
    throw_spec_error(mark(), code, std::move(what), std::move(hint));
  }
  [[noreturn]] void refuse_syntax(std::string what, std::string hint = "") {
    fail("RB005", "not valid JSON: " + std::move(what), std::move(hint));
  }

  void advance() {
    if (text_[at_++] != '\n') return;
    ++line_;
    line_start_ = at_;
  }

  void skip_space() {
    while (!at_end() && std::string_view(" \t\r\n").find(peek()) != std::string_view::npos) advance();
    if (peek() == '#' || text_.substr(at_).starts_with("//") || text_.substr(at_).starts_with("/*")) {
      refuse_syntax("a comment", lenient_hint_);
    }
  }

  JsonNode value() {
    JsonNode node;
    node.mark = mark();
    const char first = peek();
    if (first == '{') {
      object(node);
    } else if (first == '[') {
      list(node);
    } else if (first == '"') {
      node.kind = JsonNode::Kind::text;
      node.text = quoted();
    } else if (is_digit(first) || first == '-') {
      node.kind = JsonNode::Kind::number;
      node.text = number();
    } else if (!word(node)) {
      refuse_value();
    }
    return node;
  }

  [[noreturn]] void refuse_value() {
    if (at_end()) refuse_syntax("the file ends where a value should stand");
    if (peek() == '\'') refuse_syntax("text in single quotes", lenient_hint_);
    if (peek() == ',' || peek() == '}' || peek() == ']') refuse_syntax("a value is missing");
    const std::size_t end = text_.find_first_of(" \t\r\n,}]:", at_);
    const std::string found(
        text_.substr(at_, std::min<std::size_t>(end == std::string_view::npos ? end : end - at_, 32)));
    const bool python = found == "True" || found == "False" || found == "None";
    refuse_syntax(fmt::format("`{}` is no value", found),
                  python ? "JSON has true, false and null" : "text stands in double quotes");
  }

  void open() {
    if (++depth_ > kMaxJsonDepth) fail("RB015", fmt::format("nesting deeper than {}", kMaxJsonDepth));
    advance();
    skip_space();
  }
  void close() {
    --depth_;
    advance();
  }

  // After a value: true if another one follows.
  bool continues(char end, const char* what) {
    skip_space();
    if (peek() == end) return false;
    if (at_end()) refuse_syntax(fmt::format("`{}` is missing at the end of the file", end));
    if (peek() != ',') refuse_syntax(fmt::format("`,` or `{}` is missing after {}", end, what));
    advance();
    skip_space();
    if (peek() == end) refuse_syntax(fmt::format("a comma before `{}`", end), lenient_hint_);
    return true;
  }

  void object(JsonNode& node) {
    node.kind = JsonNode::Kind::object;
    open();
    if (peek() != '}') {
      do {
        JsonMember member;
        member.key_mark = mark();
        if (peek() != '"') {
          refuse_syntax(at_end() ? "`}` is missing at the end of the file" : "a key in double quotes is missing",
                        at_end() ? "" : lenient_hint_);
        }
        member.key = quoted();
        skip_space();
        if (peek() != ':') refuse_syntax(fmt::format("`:` is missing after the key `{}`", member.key));
        advance();
        skip_space();
        member.value = value();
        node.members.push_back(std::move(member));
      } while (continues('}', "a value"));
    }
    close();
  }

  void list(JsonNode& node) {
    node.kind = JsonNode::Kind::list;
    open();
    if (peek() != ']') {
      do {
        node.items.push_back(value());
      } while (continues(']', "an item"));
    }
    close();
  }

  bool word(JsonNode& node) {
    for (const std::string_view known : {"true", "false", "null"}) {
      if (!text_.substr(at_).starts_with(known)) continue;
      const std::size_t next = at_ + known.size();
      if (next < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[next])) || text_[next] == '_'))
        continue;
      node.kind = known == "null" ? JsonNode::Kind::null : JsonNode::Kind::flag;
      node.text = known;
      at_ = next;
      return true;
    }
    return false;
  }

  void digits() {
    if (!is_digit(peek())) refuse_syntax("a number without a digit");
    while (is_digit(peek())) ++at_;
  }

  std::string number() {
    const std::size_t start = at_;
    if (peek() == '-') ++at_;
    if (peek() == '0' && at_ + 1 < text_.size() && is_digit(text_[at_ + 1]))
      refuse_syntax("a number that begins with 0");
    digits();
    if (peek() == '.') {
      ++at_;
      digits();
    }
    if (peek() == 'e' || peek() == 'E') {
      ++at_;
      if (peek() == '+' || peek() == '-') ++at_;
      digits();
    }
    return std::string(text_.substr(start, at_ - start));
  }

  unsigned hex4() {
    unsigned code = 0;
    for (int i = 0; i < 4; ++i, ++at_) {
      const char c = peek();
      const bool letter = (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
      if (!is_digit(c) && !letter) refuse_syntax("\\u without four hex digits");
      code = code * 16 + static_cast<unsigned>(is_digit(c) ? c - '0' : (c | 0x20) - 'a' + 10);
    }
    return code;
  }

  void append_utf8(std::string& text, char32_t code) {
    const auto byte = [&](char32_t value) { text += static_cast<char>(static_cast<unsigned char>(value)); };
    if (code < 0x80) return byte(code);
    if (code < 0x800) {
      byte(0xC0 | (code >> 6));
    } else if (code < 0x10000) {
      byte(0xE0 | (code >> 12));
      byte(0x80 | ((code >> 6) & 0x3F));
    } else {
      byte(0xF0 | (code >> 18));
      byte(0x80 | ((code >> 12) & 0x3F));
      byte(0x80 | ((code >> 6) & 0x3F));
    }
    byte(0x80 | (code & 0x3F));
  }

  char32_t escaped_code_point() {
    const char32_t first = hex4();
    if (first < 0xD800 || first > 0xDFFF) return first;
    if (first < 0xDC00 && text_.substr(at_).starts_with("\\u")) {
      at_ += 2;
      const char32_t second = hex4();
      if (second >= 0xDC00 && second <= 0xDFFF) return 0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00);
    }
    refuse_syntax("half of a surrogate pair");
  }

  std::string quoted() {
    const Mark start = mark();
    std::string text;
    for (++at_; peek() != '"'; ++at_) {
      if (at_end() || peek() == '\n') throw_spec_error(start, "RB005", "not valid JSON: a quote is not closed");
      if (static_cast<unsigned char>(peek()) < 0x20) refuse_syntax("a control character in text");
      if (peek() != '\\') {
        text += peek();
        continue;
      }
      ++at_;
      constexpr std::string_view kLetters = "\"\\/bfnrt";
      constexpr std::string_view kMeant = "\"\\/\b\f\n\r\t";
      const std::size_t letter = at_end() ? std::string_view::npos : kLetters.find(peek());
      if (letter != std::string_view::npos) {
        text += kMeant[letter];
      } else if (peek() == 'u') {
        ++at_;
        append_utf8(text, escaped_code_point());
        --at_;
      } else {
        refuse_syntax("a backslash before another character than \"\\/bfnrtu");
      }
    }
    ++at_;
    return text;
  }

  std::string_view text_;
  std::string file_;
  const char* lenient_hint_;
  std::size_t at_ = 0;
  std::size_t line_start_ = 0;
  int line_ = 1;
  int depth_ = 0;
};

JsonNode read_object(const std::string& text, const std::string& file, const char* lenient_hint) {
  if (text.size() > kMaxJsonBytes) {
    throw_spec_error({file, 1, 1}, "RB016", fmt::format("file is larger than {} bytes", kMaxJsonBytes));
  }
  const std::string_view content = without_byte_order_mark(text);
  Diagnostics diagnostics;
  std::string without_tabs(content);
  std::replace(without_tabs.begin(), without_tabs.end(), '\t', ' ');  // JSON may be indented by them
  check_input_text(without_tabs, file, diagnostics);
  diagnostics.throw_if_any();
  return JsonParser(content, file, lenient_hint).parse();
}

}  // namespace

JsonNode read_json(const std::string& text, const std::string& file) { return read_object(text, file, kHjsonHint); }

JsonNode read_json_object(const std::string& text, const std::string& file) { return read_object(text, file, ""); }

void read_json_items(const std::string& text, const std::string& file,
                     const std::function<void(const JsonNode&)>& take) {
  check_utf8(text, file);
  JsonParser(without_byte_order_mark(text), file, "").parse_items(take);
}

}  // namespace reprobench
