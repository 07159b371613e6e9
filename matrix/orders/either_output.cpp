#include "matrix/orders/either_output.hpp"

#include <algorithm>
#include <utility>

namespace reprobench {
namespace {

class EitherOutput : public FormedOutput {
 public:
  EitherOutput(std::shared_ptr<const FormedOutput> first, std::shared_ptr<const FormedOutput> second)
      : first_(std::move(first)), second_(std::move(second)) {
    const Basis* const of_first = first_->basis();
    const Basis* const of_second = second_->basis();
    if (of_first != nullptr) basis_ = {of_first->name, either_output(of_first->output, of_second->output)};
  }

  std::int64_t elements() const override { return first_->elements(); }
  std::int64_t terms() const override { return std::max(first_->terms(), second_->terms()); }
  std::int64_t units() const override { return first_->units(); }
  std::size_t forms() const override { return first_->forms() + second_->forms(); }
  std::string text(std::size_t form) const override {
    return is_first(form) ? first_->text(form) : second_->text(form - first_->forms());
  }
  std::string shape(std::size_t form) const override {
    return is_first(form) ? first_->shape(form) : second_->shape(form - first_->forms());
  }

  const Basis* basis() const override { return basis_.output ? &basis_ : nullptr; }
  std::vector<std::size_t> forms_on(std::size_t of_basis) const override {
    const std::size_t of_first = first_->basis()->output->forms();
    if (of_basis < of_first) return first_->forms_on(of_basis);
    std::vector<std::size_t> forms = second_->forms_on(of_basis - of_first);
    for (std::size_t& form : forms) form += first_->forms();
    return forms;
  }
  std::vector<std::string> given_outputs() const override { return first_->given_outputs(); }
  void add_hidden(std::size_t form, Tensors& tensors) const override {
    is_first(form) ? first_->add_hidden(form, tensors) : second_->add_hidden(form - first_->forms(), tensors);
  }

  void compute(std::size_t form, const Tensors& tensors, std::int64_t unit, std::vector<Value>& made) const override {
    is_first(form) ? first_->compute(form, tensors, unit, made)
                   : second_->compute(form - first_->forms(), tensors, unit, made);
  }
  void make_kind(std::int64_t round, Tensors& tensors) const override { first_->make_kind(round, tensors); }

 private:
  bool is_first(std::size_t form) const { return form < first_->forms(); }

  std::shared_ptr<const FormedOutput> first_;
  std::shared_ptr<const FormedOutput> second_;
  Basis basis_;
};

}  // namespace

std::shared_ptr<const FormedOutput> either_output(std::shared_ptr<const FormedOutput> first,
                                                  std::shared_ptr<const FormedOutput> second) {
  return std::make_shared<EitherOutput>(std::move(first), std::move(second));
}

}  // namespace reprobench
