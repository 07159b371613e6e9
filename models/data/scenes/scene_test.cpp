#include "models/data/scenes/scene.hpp"

#include <algorithm>
#include <set>

#include "ci/catch.hpp"
#include "models/data/byte_tokens.hpp"
#include "models/data_set.hpp"
#include "models/model_spec.hpp"

namespace reprobench {
namespace {

constexpr std::int64_t kSide = 24;
constexpr std::size_t kPlane = 24 * 24;

std::vector<float> drawn(const Scene& scene, Shift shift = {}, bool is_grey = false) {
  std::vector<float> pixels(3 * kPlane);
  draw(scene, kSide, shift, is_grey, pixels);
  return pixels;
}

bool is_painted(float pixel) { return pixel < -0.4F || pixel > 0; }  // the background is -0.25 and at most 1/16

struct Centre {
  double row = 0;
  double column = 0;
  int count = 0;
};

Centre centre_of(const std::vector<float>& pixels) {
  Centre centre;
  for (std::size_t i = 0; i < kPlane; ++i) {
    if (!is_painted(pixels[i])) continue;
    centre.row += static_cast<double>(i / 24);
    centre.column += static_cast<double>(i % 24);
    ++centre.count;
  }
  centre.row /= centre.count;
  centre.column /= centre.count;
  return centre;
}

ModelPreset preset_of(std::int64_t context) {
  ModelPreset preset;
  preset.context_length = context;
  preset.image_side = kSide;
  preset.frames = 3;
  return preset;
}

std::unique_ptr<DataSet> scenes_called(std::string_view name, std::int64_t context = 48) {
  return std::ranges::find(data_sets(), name, &DataSetRow::name)->open("", preset_of(context));
}

template <class T>
std::vector<T> field_of(const DataSet& data, std::int64_t sample, std::size_t field) {
  std::size_t count = 1;
  const std::vector<std::int64_t> shape = data.fields()[field].shape;
  for (const std::int64_t extent : shape) count *= static_cast<std::size_t>(extent);
  std::vector<T> values(count);
  data.copy(sample, field, reinterpret_cast<std::byte*>(values.data()));
  return values;
}

// The bytes among tokens, hidden ones as `?`.
std::string text_of(const std::vector<std::int64_t>& tokens) {
  std::string text;
  for (const std::int64_t token : tokens) {
    if (token == kHiddenToken) text += '?';
    if (token >= 0 && token < 256) text += static_cast<char>(token);
  }
  return text;
}

TEST_CASE("every scene has a caption and a picture of its own", "[models]") {
  std::set<std::string> captions;
  std::set<std::vector<float>> pictures;
  for (std::int64_t i = 0; i < kScenes; ++i) {
    CHECK(captions.insert(caption_of(scene_at(i))).second);
    CHECK(pictures.insert(drawn(scene_at(i))).second);
  }
  CHECK(caption_of({.shape = 1, .colour = 0, .row = 0, .column = 0}) == "a small red disc at the top left");
  CHECK(caption_of({.shape = 3, .colour = 5, .row = 1, .column = 1, .is_large = true}) ==
        "a large white cross at the middle");
}

TEST_CASE("a shape lies where its caption says, in its colour, and a large one is larger", "[models]") {
  for (std::size_t shape = 0; shape < 4; ++shape) {
    for (std::size_t row = 0; row < 3; ++row) {
      for (std::size_t column = 0; column < 3; ++column) {
        Scene scene{7, shape, 0, row, column, false};
        const Centre centre = centre_of(drawn(scene));
        CHECK(centre.row == Approx(3.5 + 8 * static_cast<double>(row)));
        CHECK(centre.column == Approx(3.5 + 8 * static_cast<double>(column)));
        scene.is_large = true;
        CHECK(centre_of(drawn(scene)).count > centre.count);
      }
    }
  }
  const auto red = drawn({.shape = 0, .colour = 0, .row = 1, .column = 1});
  const std::size_t middle = 12 * 24 + 12;
  CHECK((red[middle] >= 0.5F && red[middle] < 0.5625F));
  CHECK((red[kPlane + middle] >= -0.5F && red[kPlane + middle] < -0.4375F));
  CHECK((red[2 * kPlane + middle] >= -0.5F && red[2 * kPlane + middle] < -0.4375F));
}

TEST_CASE("captions end where they say, and a context they do not fit is refused", "[models]") {
  const auto data = scenes_called("captions");
  CHECK(data->size() == kScenes);
  for (const std::int64_t sample : {0, 100, 431}) {
    const auto tokens = field_of<std::int64_t>(*data, sample, 1);
    CHECK(text_of(tokens) == caption_of(scene_at(sample)));
    CHECK(tokens[0] == kBeginToken);
    CHECK(tokens[static_cast<std::size_t>(field_of<std::int64_t>(*data, sample, 2)[0])] == kEndToken);
    CHECK(field_of<float>(*data, sample, 0) == drawn(scene_at(sample)));
  }
  CHECK_THROWS_WITH(scenes_called("captions", 20), "`a small red square at the top left` does not fit into 20 tokens");
}

TEST_CASE("a clip moves the way that its sentence hides, in grey, and the image has the colour", "[models]") {
  const auto data = scenes_called("clips");
  const Shift ways[] = {{-1, 0}, {1, 0}, {0, -1}, {0, 1}};
  const char* names[] = {"up", "down", "left", "right"};
  for (std::int64_t way = 0; way < 4; ++way) {
    const std::int64_t sample = 4 * 17 + way;
    const Scene scene = scene_at(17);
    const std::string colour(kColours[scene.colour]);
    const std::string name = names[way];
    CHECK(text_of(field_of<std::int64_t>(*data, sample, 2)) == "the " + std::string(colour.size(), '?') + " " +
                                                                   std::string(kShapes[scene.shape]) + " moves " +
                                                                   std::string(name.size(), '?'));
    CHECK(text_of(field_of<std::int64_t>(*data, sample, 3)) == colour + name);
    CHECK(field_of<float>(*data, sample, 0) == drawn(scene));
    const auto video = field_of<float>(*data, sample, 1);
    const auto frame = [&](std::size_t i) {
      return std::vector<float>(video.begin() + static_cast<std::ptrdiff_t>(i * 3 * kPlane),
                                video.begin() + static_cast<std::ptrdiff_t>((i + 1) * 3 * kPlane));
    };
    const Centre first = centre_of(frame(0));
    const Centre second = centre_of(frame(1));
    CHECK(second.row - first.row == Approx(4 * ways[way].rows).margin(1e-9));
    CHECK(second.column - first.column == Approx(4 * ways[way].columns).margin(1e-9));
  }
}

TEST_CASE("a question's targets are its answer, and its slices the whole and four quarters", "[models]") {
  const auto data = scenes_called("questions");
  const std::int64_t scene = 30;
  const std::string answers[] = {std::string(kColours[scene_at(scene).colour]), place_of(scene_at(scene)),
                                 std::string(kShapes[scene_at(scene).shape])};
  for (std::int64_t kind = 0; kind < 3; ++kind) {
    const auto input = field_of<std::int64_t>(*data, 3 * scene + kind, 1);
    const auto target = field_of<std::int64_t>(*data, 3 * scene + kind, 2);
    CHECK(text_of(input).ends_with("? " + answers[kind]));
    CHECK(text_of(target) == answers[kind]);
    for (std::size_t i = 0; i + 1 < target.size(); ++i) CHECK((target[i] == kNoTarget || target[i] == input[i + 1]));
    CHECK(std::ranges::count(target, kEndToken) == 1);
  }
  const auto slices = field_of<float>(*data, 3 * scene, 0);
  std::vector<float> large(3 * 4 * kPlane);
  draw(scene_at(scene), 2 * kSide, {}, false, large);
  const auto at = [&](std::size_t slice, std::size_t channel, std::size_t row, std::size_t column) {
    return slices[((slice * 3 + channel) * 24 + row) * 24 + column];
  };
  const auto large_at = [&](std::size_t channel, std::size_t row, std::size_t column) {
    return large[(channel * 48 + row) * 48 + column];
  };
  CHECK(std::vector<float>(slices.begin(), slices.begin() + 3 * kPlane) == drawn(scene_at(scene)));
  CHECK(at(1, 0, 5, 7) == large_at(0, 5, 7));
  CHECK(at(2, 1, 5, 7) == large_at(1, 5, 31));
  CHECK(at(3, 2, 5, 7) == large_at(2, 29, 7));
  CHECK(at(4, 2, 23, 23) == large_at(2, 47, 47));
}

}  // namespace
}  // namespace reprobench
