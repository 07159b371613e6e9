#include "matrix/orders/moments_output.hpp"

#include "matrix/orders/formed_families.hpp"

namespace reprobench {
namespace {

constexpr std::int64_t kKindsOfRow = 4;
constexpr float kFar = 64;  // from a spread of 1
constexpr std::int64_t kLargeAtTheEnd = 3;

// Of mean and variance, by their mean.
const std::vector<MomentsForm>& all_moments() {
  static const std::vector<MomentsForm> kForms = [] {
    std::vector<MomentsForm> forms;
    for (const MomentsForm& mean : mean_forms()) {
      for (const MomentsForm& squares : square_forms(mean)) forms.push_back(squares);
    }
    return forms;
  }();
  return kForms;
}

FormTexts texts_of_inverse_sigma() {
  FormTexts texts;
  for (const MomentsForm& form : all_moments()) texts.insert(norm_text({NormOutput::inverse_sigma, form, {}}));
  return texts;
}

class MomentsOutput : public FormedOutput {
 public:
  MomentsOutput(NormOutput output, const NormRows& rows) : output_(output), rows_(rows) {
    if (!is_mean()) basis_ = {kMeanOutput, moments_output(NormOutput::mean, rows)};
  }

  std::int64_t elements() const override { return rows_.rows; }
  std::int64_t terms() const override { return rows_.width; }
  std::int64_t units() const override { return rows_.rows; }
  std::size_t forms() const override { return list().size(); }
  std::string text(std::size_t form) const override { return norm_text(named(form)); }
  std::string shape(std::size_t form) const override { return norm_shape(named(form)); }
  const Basis* basis() const override { return is_mean() ? nullptr : &basis_; }
  std::vector<std::size_t> forms_on(std::size_t mean) const override {
    const std::size_t of_a_mean = all_moments().size() / mean_forms().size();
    return forms_from(mean * of_a_mean, of_a_mean);
  }

  void compute(std::size_t form, const Tensors& tensors, std::int64_t unit, std::vector<Value>& made) const override {
    const RowMoments moments = row_moments(rows_.row_of(tensors, rows_.x, unit), list()[form]);
    made.push_back({unit, is_mean() ? moments.mean : rows_.inverse_sigma_of(moments.variance)});
  }

  void make_kind(std::int64_t round, Tensors& tensors) const override {
    make_kind_of_rows(tensors[static_cast<std::size_t>(rows_.x)], rows_.width, round);
  }

 private:
  bool is_mean() const { return output_ == NormOutput::mean; }
  const std::vector<MomentsForm>& list() const { return is_mean() ? mean_forms() : all_moments(); }
  NormForm named(std::size_t form) const { return {output_, list()[form], {}}; }

  NormOutput output_;
  NormRows rows_;
  Basis basis_;
};

}  // namespace

std::shared_ptr<const FormedOutput> moments_output(NormOutput output, const NormRows& rows) {
  return std::make_shared<MomentsOutput>(output, rows);
}

OutputOnMoments::OutputOnMoments(const NormRows& rows, const std::optional<GivenMoments>& given, std::size_t own_forms)
    : rows_(rows), given_(given), own_forms_(own_forms) {
  if (given && given->are_operands) return;
  basis_ = {kInverseSigmaOutput, moments_output(NormOutput::inverse_sigma, rows)};
}

std::size_t OutputOnMoments::forms() const { return own_forms_ * (basis_.output ? all_moments().size() : 1); }

const MomentsForm& OutputOnMoments::moments_form(std::size_t form) const { return all_moments()[form / own_forms_]; }

std::string OutputOnMoments::text(std::size_t form) const {
  const std::string own = own_text(own_form(form));
  return basis_.output ? basis_.output->text(form / own_forms_) + std::string(kThen) + own : own;
}

std::string OutputOnMoments::shape(std::size_t form) const {
  const std::string own = own_shape(own_form(form));
  return basis_.output ? basis_.output->shape(form / own_forms_) + std::string(kThen) + own : own;
}

std::vector<std::size_t> OutputOnMoments::forms_on(std::size_t form_of_basis) const {
  return forms_from(form_of_basis * own_forms_, own_forms_);
}

ChannelMoments OutputOnMoments::given_moments(const Tensors& tensors, std::int64_t row) const {
  const auto value = [&](int tensor) {
    return tensors[static_cast<std::size_t>(tensor)][static_cast<std::size_t>(row)];
  };
  return {value(given_->mean), value(given_->inverse_sigma)};
}

void OutputOnMoments::add_row(std::int64_t row, std::span<const float> values, std::vector<Value>& made) const {
  for (std::size_t i = 0; i < values.size(); ++i) {
    made.push_back({row * rows_.width + static_cast<std::int64_t>(i), values[i]});
  }
}

std::vector<std::string> OutputOnMoments::given_outputs() const {
  if (!given_ || given_->are_operands) return {};
  return {kMeanOutput, kInverseSigmaOutput};
}

void OutputOnMoments::make_kind(std::int64_t round, Tensors& tensors) const {
  make_kind_of_rows(tensors[static_cast<std::size_t>(rows_.x)], rows_.width, round);
  if (!given_ || !given_->are_operands) return;
  constexpr float kEpsilon = 1e-5F;
  for (std::int64_t row = 0; row < rows_.rows; ++row) {
    const RowMoments moments = row_moments(rows_.row_of(tensors, rows_.x, row), {});
    const auto at = static_cast<std::size_t>(row);
    tensors[static_cast<std::size_t>(given_->mean)][at] = moments.mean;
    tensors[static_cast<std::size_t>(given_->inverse_sigma)][at] = inverse_sigma(moments.variance, kEpsilon);
  }
}

bool is_moments_text(std::string_view text) {
  static const FormTexts kTexts = [] {
    FormTexts texts = texts_of_inverse_sigma();
    for (const MomentsForm& form : mean_forms()) texts.insert(norm_text({NormOutput::mean, form, {}}));
    return texts;
  }();
  return kTexts.contains(text);
}

bool is_behind_moments(std::string_view text, const FormTexts& own_texts) {
  static const FormTexts kTexts = texts_of_inverse_sigma();
  const std::size_t then = text.find(kThen);
  return then != std::string_view::npos && kTexts.contains(text.substr(0, then)) &&
         own_texts.contains(text.substr(then + kThen.size()));
}

void make_kind_of_rows(std::span<float> x, std::int64_t width, std::int64_t round) {
  const std::int64_t kind = round % kKindsOfRow;
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(x.size()); ++i) {
    float& one = x[static_cast<std::size_t>(i)];
    const std::int64_t at = i % width;
    if (kind == 1) one += kFar;
    if (kind == 2) one += kFar * static_cast<float>(at) / static_cast<float>(width);
    if (kind == 3 && at + kLargeAtTheEnd >= width) one *= kFar;
  }
}

}  // namespace reprobench
