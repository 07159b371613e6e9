#include "matrix/contract/declared_call.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <utility>

#include "matrix/base/digits.hpp"
#include "matrix/contract/version.hpp"

namespace reprobench {
namespace {

// More than any machine holds: sizes stay far from where 64 bits end.
constexpr std::int64_t kMostElements = std::int64_t{1} << 40;

struct Token {
  enum class Kind { word, number, text, sign, end };
  Kind kind = Kind::end;
  std::string text;
};

bool begins_word(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }

[[noreturn]] void reject(const std::string& before, const std::string& problem) {
  throw ContractError("operator call: after `" + before + "`: " + problem);
}

std::size_t end_of_number(const std::string& text, std::size_t at) {
  if (text[at] == '-') ++at;
  while (at < text.size()) {
    const bool is_exponent = text[at] == 'e' && at + 1 < text.size();
    if (!is_digit(text[at]) && text[at] != '.' && !is_exponent) break;
    at += is_exponent && text[at + 1] == '-' ? 2 : 1;
  }
  return at;
}

std::size_t end_of_word(const std::string& text, std::size_t at) {
  while (at < text.size() && (begins_word(text[at]) || is_digit(text[at]) || text[at] == ':' || text[at] == '.')) ++at;
  return at;
}

std::vector<Token> tokens_of(const std::string& text) {
  std::vector<Token> tokens;
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (c == ' ') {
      ++at;
      continue;
    }
    Token token{Token::Kind::sign, std::string(1, c)};
    std::size_t end = at + 1;
    if (begins_word(c)) {
      token.kind = Token::Kind::word;
      end = end_of_word(text, at);
    } else if (is_digit(c) || c == '-') {
      token.kind = Token::Kind::number;
      end = end_of_number(text, at);
    } else if (c == '\'') {
      token.kind = Token::Kind::text;
      const std::size_t closing = text.find('\'', at + 1);
      if (closing == std::string::npos) reject(text.substr(0, at), "the quote is not closed");
      end = closing + 1;
    } else if (std::string("()[]{},=").find(c) == std::string::npos) {
      reject(text.substr(0, at), std::string("`") + c + "` has no meaning");
    }
    token.text = text.substr(at, end - at);
    tokens.push_back(std::move(token));
    at = end;
  }
  return tokens;
}

std::string joined(const std::vector<Token>& tokens) {
  std::string text;
  for (const Token& token : tokens) {
    const bool opens = token.text == "(" || token.text == "[" || token.text == "{";
    const bool closes = token.text == ")" || token.text == "]" || token.text == "}" || token.text == ",";
    const bool is_apart = !text.empty() && std::string("([{=").find(text.back()) == std::string::npos;
    const bool after_word = !text.empty() && text.ends_with(" strides");
    if (token.text == "=" || closes || (opens && !after_word && !text.ends_with(","))) {
      text += token.text;
    } else {
      text += (is_apart ? " " : "") + token.text;
    }
  }
  return text;
}

// Whether two elements may lie at one place: some dimension steps over no more than the smaller steps reach.
bool overlaps(const DeclaredTensor& tensor) {
  std::vector<std::pair<std::int64_t, std::int64_t>> steps;  // stride, extent
  for (std::size_t i = 0; i < tensor.strides.size(); ++i) {
    if (tensor.shape[i] > 1) steps.emplace_back(tensor.strides[i], tensor.shape[i]);
  }
  std::sort(steps.begin(), steps.end());
  double reached = 0;  // 2^40 times 2^40 is beyond 64 bits
  for (const auto& [stride, extent] : steps) {
    if (static_cast<double>(stride) <= reached) return true;
    reached += static_cast<double>(stride) * static_cast<double>(extent - 1);
  }
  return false;
}

class CallParser {
 public:
  explicit CallParser(const std::string& text) : tokens_(tokens_of(text)) {}

  DeclaredCall call() {
    DeclaredCall call;
    call.text = joined(tokens_);
    const std::string name = word("the operator's name");
    const std::size_t dot = name.find('.');
    call.name = name.substr(0, dot);
    if (dot != std::string::npos) call.overload = name.substr(dot + 1);
    expect("(");
    while (!takes(")")) {
      if (!call.arguments.empty()) expect(",");
      call.arguments.push_back(argument());
    }
    if (at_ != tokens_.size()) fail("nothing may follow the call");
    return call;
  }

 private:
  const Token& peek(std::size_t ahead = 0) const {
    static const Token kEnd;
    return at_ + ahead < tokens_.size() ? tokens_[at_ + ahead] : kEnd;
  }

  [[noreturn]] void fail(const std::string& problem) const {
    reject(joined({tokens_.begin(), tokens_.begin() + static_cast<std::ptrdiff_t>(at_)}), problem);
  }

  bool takes(const std::string& text) {
    if (peek().text != text || peek().kind == Token::Kind::text) return false;
    ++at_;
    return true;
  }

  void expect(const std::string& text) {
    if (!takes(text)) fail("`" + text + "` is missing");
  }

  std::string word(const std::string& what) {
    if (peek().kind != Token::Kind::word) fail(what + " is missing");
    return tokens_[at_++].text;
  }

  std::int64_t integer(std::int64_t least) {
    const std::string& text = peek().text;
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (peek().kind != Token::Kind::number || error != std::errc() || end != text.data() + text.size()) {
      fail("a whole number is missing");
    }
    if (value < least || value > kMostElements) fail(text + " is out of range");
    ++at_;
    return value;
  }

  std::vector<std::int64_t> integers(std::int64_t least) {
    std::vector<std::int64_t> values;
    expect("[");
    while (!takes("]")) {
      if (!values.empty()) expect(",");
      values.push_back(integer(least));
    }
    return values;
  }

  DeclaredArgument argument() {
    DeclaredArgument argument;
    if (peek().kind == Token::Kind::word && peek(1).text == "=") {
      argument.name = word("the argument's name");
      expect("=");
    }
    const Token& first = peek();
    if (first.kind == Token::Kind::number) {
      number(argument);
    } else if (first.kind == Token::Kind::text) {
      argument.value = first.text.substr(1, first.text.size() - 2);
      ++at_;
    } else if (first.text == "[") {
      list(argument);
    } else if (takes("{")) {
      DeclaredTensors tensors;
      while (!takes("}")) {
        if (!tensors.empty()) expect(",");
        tensors.push_back(tensor());
      }
      argument.value = std::move(tensors);
    } else if (takes("none")) {
      argument.value = NoValue{};
    } else if (first.text == "true" || first.text == "false") {
      argument.value = first.text == "true";
      ++at_;
    } else {
      argument.value = tensor();
    }
    return argument;
  }

  void list(DeclaredArgument& argument) {
    if (peek(1).text != "true" && peek(1).text != "false") {
      argument.value = integers(-kMostElements);
      return;
    }
    DeclaredFlags flags;
    expect("[");
    while (!takes("]")) {
      if (!flags.empty()) expect(",");
      const bool is_set = takes("true");
      if (!is_set) expect("false");
      flags.push_back(is_set);
    }
    argument.value = std::move(flags);
  }

  void number(DeclaredArgument& argument) {
    const std::string& text = peek().text;
    if (text.find_first_of(".e") == std::string::npos) {
      argument.value = integer(-kMostElements);
      return;
    }
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    if (*end != '\0') fail("`" + text + "` is no number");
    argument.value = value;
    ++at_;
  }

  DeclaredTensor tensor() {
    DeclaredTensor tensor;
    const auto& known = declared_dtypes();
    if (std::find(known.begin(), known.end(), peek().text) == known.end()) {
      fail(
          "a value is missing: a number, true, false, none, 'text', [whole numbers], {tensors}, or a tensor such as "
          "f32[256, 768] of f64, f32, f16, bf16, i64 or bool");
    }
    tensor.dtype = word("the dtype");
    tensor.shape = integers(0);
    while (peek().kind == Token::Kind::word) attribute(tensor);
    if (!tensor.from.empty() && (tensor.below > 0 || tensor.is_positive)) {
      fail("what a file holds is not drawn: `from` goes with neither `positive` nor `below`");
    }
    if (!tensor.from.empty() && overlaps(tensor)) fail("a file's elements need a place each, and its strides overlap");
    if (tensor.dtype == "i64" && tensor.below == 0 && tensor.from.empty()) fail("whole numbers need `below N`");
    // One extent at a time, so that no product overflows.
    std::int64_t count = 1;
    for (const std::int64_t extent : tensor.shape) {
      if (extent > 0 && count > kMostElements / extent) fail("the tensor has too many elements");
      count *= extent;
    }
    if (tensor.storage_elements() > kMostElements) fail("its strides reach too far");
    return tensor;
  }

  void attribute(DeclaredTensor& tensor) {
    if (takes("strides")) {
      tensor.strides = integers(0);
      if (tensor.strides.size() != tensor.shape.size()) fail("a stride for every extent is needed");
    } else if (takes("constant")) {
      tensor.is_constant = true;
    } else if (takes("positive") && tensor.is_floating()) {
      tensor.is_positive = true;
    } else if (takes("below") && tensor.dtype == "i64") {
      tensor.below = integer(1);
    } else if (takes("from")) {
      tensor.from = quoted("a tensor's name in quotes, from 'NAME',");
    } else {
      fail("`" + peek().text + "` is no attribute of such a tensor: strides, constant, positive, below, from");
    }
  }

  std::string quoted(const std::string& what) {
    const std::string& text = peek().text;
    if (peek().kind != Token::Kind::text || text.size() < 3) fail(what + " is missing");
    ++at_;
    return text.substr(1, text.size() - 2);
  }

  std::vector<Token> tokens_;
  std::size_t at_ = 0;
};

}  // namespace

std::int64_t DeclaredTensor::elements() const {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) count *= extent;
  return count;
}

std::int64_t DeclaredTensor::storage_elements() const {
  if (strides.empty() || elements() == 0) return elements();
  // Saturates: both factors are at most 2^40.
  double last = 0;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    last += static_cast<double>(shape[i] - 1) * static_cast<double>(strides[i]);
  }
  return last >= 0x1p62 ? std::int64_t{1} << 62 : static_cast<std::int64_t>(last) + 1;
}

std::vector<DeclaredTensor> DeclaredCall::tensors() const {
  std::vector<DeclaredTensor> all;
  for (const DeclaredArgument& argument : arguments) {
    if (const auto* one = std::get_if<DeclaredTensor>(&argument.value)) all.push_back(*one);
    if (const auto* several = std::get_if<DeclaredTensors>(&argument.value)) {
      all.insert(all.end(), several->begin(), several->end());
    }
  }
  return all;
}

const std::vector<std::string>& declared_dtypes() {
  static const std::vector<std::string> kDtypes = {"f64", "f32", "f16", "bf16", "i64", "bool"};
  return kDtypes;
}

std::int64_t dtype_bytes(const std::string& dtype) {
  if (dtype == "bool") return 1;
  if (dtype == "f16" || dtype == "bf16") return 2;
  return dtype == "f32" ? 4 : 8;
}

std::string_view safetensors_name(const std::string& dtype) {
  static const std::map<std::string, std::string_view> kNames = {{"f64", "F64"},   {"f32", "F32"}, {"f16", "F16"},
                                                                 {"bf16", "BF16"}, {"i64", "I64"}, {"bool", "BOOL"}};
  return kNames.at(dtype);
}

DeclaredCall parse_call(const std::string& text) { return CallParser(text).call(); }

std::string canonical_call(const std::string& text, const std::map<std::string, std::string>& values) {
  std::vector<Token> tokens = tokens_of(text);
  for (Token& token : tokens) {
    const auto value = values.find(token.text);
    if (token.kind == Token::Kind::word && value != values.end()) token.text = value->second;
  }
  return joined(tokens);
}

}  // namespace reprobench
