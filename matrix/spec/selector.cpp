#include "matrix/spec/selector.hpp"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "matrix/spec/coordinate.hpp"
#include "matrix/spec/diagnostics.hpp"
#include "matrix/spec/nearest_name.hpp"

namespace reprobench {

struct Selector::Term {
  enum class Kind { any_of, none_of, both, either, negation };
  Kind kind = Kind::any_of;
  std::string name;                 // any_of, none_of
  std::vector<std::string> values;  // any_of, none_of
  std::shared_ptr<const Term> left;
  std::shared_ptr<const Term> right;
};

namespace {

using Term = Selector::Term;
using TermPtr = std::shared_ptr<const Term>;

constexpr int kMaxNesting = 32;

TermPtr comparison(Term::Kind kind, std::string name, std::vector<std::string> values) {
  return std::make_shared<const Term>(Term{kind, std::move(name), std::move(values), nullptr, nullptr});
}

TermPtr joined(Term::Kind kind, TermPtr left, TermPtr right) {
  return std::make_shared<const Term>(Term{kind, "", {}, std::move(left), std::move(right)});
}

bool is_word_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '_' || c == '-' || c == '+' || c == '/';
}

struct Token {
  enum class Kind { word, quoted, symbol, end };
  Kind kind = Kind::end;
  std::string text;
  std::size_t offset = 0;

  bool is(std::string_view symbol_or_keyword) const {
    return (kind == Kind::symbol || kind == Kind::word) && text == symbol_or_keyword;
  }
};

// expression := conjunction {"or" conjunction};  conjunction := negation {"and" negation}
// negation := "not" negation | "(" expression ")" | name ("==" | "!=") value | name ["not"] "in" "(" value {"," value}
// ")"
class ExpressionParser {
 public:
  ExpressionParser(const std::string& text, const Mark& mark) : text_(text), mark_(mark) { advance(); }

  TermPtr parse() {
    TermPtr term = expression(0);
    if (token_.kind != Token::Kind::end) fail("RB019", "expected `and`, `or` or the end, got " + shown_token());
    return term;
  }

 private:
  [[noreturn]] void fail(const char* code, const std::string& what, const std::string& hint = "") {
    Mark at = mark_;
    at.column += static_cast<int>(token_.offset);
    throw_spec_error(at, code, "in a selection: " + what, hint);
  }

  std::string shown_token() const {
    return token_.kind == Token::Kind::end ? "the end" : fmt::format("`{}`", token_.text.substr(0, 64));
  }

  void advance() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
    token_ = {Token::Kind::end, "", at_};
    if (at_ == text_.size()) return;
    const char c = text_[at_];
    if (is_word_character(c)) {
      const std::size_t start = at_;
      while (at_ < text_.size() && is_word_character(text_[at_])) ++at_;
      token_ = {Token::Kind::word, text_.substr(start, at_ - start), start};
    } else if (c == '\'' || c == '"') {
      advance_quoted(c);
    } else {
      advance_symbol(c);
    }
  }

  void advance_quoted(char quote) {
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string::npos) fail("RB005", "a quote is not closed");
    token_ = {Token::Kind::quoted, text_.substr(at_ + 1, end - at_ - 1), at_};
    at_ = end + 1;
  }

  void advance_symbol(char c) {
    std::size_t length = 1;
    if (c != '(' && c != ')' && c != ',') {
      while (at_ + length < text_.size() &&
             std::string_view("=!<>~&|").find(text_[at_ + length]) != std::string::npos) {
        ++length;
      }
    }
    token_ = {Token::Kind::symbol, text_.substr(at_, length), at_};
    at_ += length;
  }

  TermPtr expression(int depth) {
    TermPtr left = conjunction(depth);
    while (token_.is("or")) {
      advance();
      left = joined(Term::Kind::either, left, conjunction(depth));
    }
    return left;
  }

  TermPtr conjunction(int depth) {
    TermPtr left = negation(depth);
    while (token_.is("and")) {
      advance();
      left = joined(Term::Kind::both, left, negation(depth));
    }
    return left;
  }

  TermPtr negation(int depth) {
    if (depth >= kMaxNesting) fail("RB015", fmt::format("nesting deeper than {}", kMaxNesting));
    if (token_.is("not")) {
      advance();
      return joined(Term::Kind::negation, negation(depth + 1), nullptr);
    }
    if (token_.is("(")) {
      advance();
      TermPtr inner = expression(depth + 1);
      expect(")");
      return inner;
    }
    return comparison_term();
  }

  TermPtr comparison_term() {
    if (token_.kind != Token::Kind::word) fail("RB019", "expected a name, got " + shown_token());
    const std::string name = token_.text;
    if (!is_coordinate_name(name)) {
      fail("RB009", fmt::format("unknown name `{}`", name.substr(0, 64)), did_you_mean(name, coordinate_names()));
    }
    advance();
    if (token_.is("==") || token_.is("!=")) {
      const auto kind = token_.is("==") ? Term::Kind::any_of : Term::Kind::none_of;
      advance();
      return comparison(kind, name, {value()});
    }
    auto kind = Term::Kind::any_of;
    if (token_.is("not")) {
      kind = Term::Kind::none_of;
      advance();
    }
    if (!token_.is("in")) fail("RB033", "unknown operator " + shown_token(), "operators are ==, !=, in and not in");
    advance();
    return comparison(kind, name, value_list());
  }

  std::vector<std::string> value_list() {
    expect("(");
    std::vector<std::string> values{value()};
    while (token_.is(",")) {
      advance();
      values.push_back(value());
    }
    expect(")");
    return values;
  }

  std::string value() {
    if (token_.kind != Token::Kind::word && token_.kind != Token::Kind::quoted) {
      fail("RB019", "expected a value, got " + shown_token());
    }
    std::string text = token_.text;
    advance();
    return text;
  }

  void expect(std::string_view symbol) {
    if (!token_.is(symbol)) fail("RB019", fmt::format("expected `{}`, got {}", symbol, shown_token()));
    advance();
  }

  const std::string& text_;
  Mark mark_;
  std::size_t at_ = 0;
  Token token_;
};

bool term_matches(const Term& term, const CoordinateLookup& cell) {
  switch (term.kind) {
    case Term::Kind::both:
      return term_matches(*term.left, cell) && term_matches(*term.right, cell);
    case Term::Kind::either:
      return term_matches(*term.left, cell) || term_matches(*term.right, cell);
    case Term::Kind::negation:
      return !term_matches(*term.left, cell);
    case Term::Kind::any_of:
    case Term::Kind::none_of:
      break;
  }
  const auto value = cell(term.name);
  const bool listed = value && std::find(term.values.begin(), term.values.end(), *value) != term.values.end();
  return listed == (term.kind == Term::Kind::any_of);
}

std::string value_text(const std::string& value) {
  const bool plain = !value.empty() && std::all_of(value.begin(), value.end(), is_word_character);
  return plain ? value : fmt::format("\"{}\"", value);
}

std::string comparison_text(const Term& term) {
  const bool any = term.kind == Term::Kind::any_of;
  if (term.values.size() == 1) return term.name + (any ? " == " : " != ") + value_text(term.values.front());
  std::string list;
  for (const std::string& value : term.values) list += (list.empty() ? "" : ", ") + value_text(value);
  return fmt::format("{} {} ({})", term.name, any ? "in" : "not in", list);
}

std::string term_text(const Term& term) {
  const auto operand = [](const Term& inner) {
    return inner.kind == Term::Kind::either ? fmt::format("({})", term_text(inner)) : term_text(inner);
  };
  switch (term.kind) {
    case Term::Kind::both:
      return operand(*term.left) + " and " + operand(*term.right);
    case Term::Kind::either:
      return term_text(*term.left) + " or " + term_text(*term.right);
    case Term::Kind::negation:
      return fmt::format("not ({})", term_text(*term.left));
    case Term::Kind::any_of:
    case Term::Kind::none_of:
      break;
  }
  return comparison_text(term);
}

void add_necessary(const Term& term, std::vector<std::pair<std::string, std::vector<std::string>>>& found) {
  if (term.kind == Term::Kind::any_of) found.emplace_back(term.name, term.values);
  if (term.kind != Term::Kind::both) return;
  add_necessary(*term.left, found);
  add_necessary(*term.right, found);
}

void add_compared(const Term& term, std::vector<std::pair<std::string, std::vector<std::string>>>& found) {
  if (!term.name.empty()) found.emplace_back(term.name, term.values);
  if (term.left) add_compared(*term.left, found);
  if (term.right) add_compared(*term.right, found);
}

}  // namespace

CoordinateLookup lookup_in(const Coordinates& cell) {
  return [&cell](const std::string& name) -> std::optional<std::string_view> {
    const auto found = cell.find(name);
    if (found == cell.end()) return std::nullopt;
    return found->second;
  };
}

Selector Selector::parse(const std::string& text, const Mark& mark) {
  Selector selector;
  selector.root_ = ExpressionParser(text, mark).parse();
  return selector;
}

Selector Selector::all_of(const std::vector<std::pair<std::string, std::vector<std::string>>>& wanted) {
  Selector selector;
  for (const auto& [name, values] : wanted) {
    TermPtr term = comparison(Term::Kind::any_of, name, values);
    selector.root_ = selector.root_ ? joined(Term::Kind::both, selector.root_, std::move(term)) : std::move(term);
  }
  return selector;
}

bool Selector::matches(const CoordinateLookup& cell) const { return root_ == nullptr || term_matches(*root_, cell); }

std::vector<std::pair<std::string, std::vector<std::string>>> Selector::necessary() const {
  std::vector<std::pair<std::string, std::vector<std::string>>> found;
  if (root_ != nullptr) add_necessary(*root_, found);
  return found;
}

std::vector<std::pair<std::string, std::vector<std::string>>> Selector::compared() const {
  std::vector<std::pair<std::string, std::vector<std::string>>> found;
  if (root_ != nullptr) add_compared(*root_, found);
  return found;
}

std::string Selector::text() const { return root_ ? term_text(*root_) : ""; }

}  // namespace reprobench
