#include "models/data/scenes/scene.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <iterator>
#include <stdexcept>

#include "models/data/byte_tokens.hpp"
#include "models/initial_values.hpp"

namespace reprobench {
namespace {

constexpr std::array<float, kChannels> kPaint[] = {{0.5F, -0.5F, -0.5F}, {-0.5F, 0.5F, -0.5F}, {-0.5F, -0.5F, 0.5F},
                                                   {0.5F, 0.5F, -0.5F},  {0.5F, -0.5F, 0.5F},  {0.5F, 0.5F, 0.5F}};
constexpr std::array<float, kChannels> kGrey{0.25F, 0.25F, 0.25F};
constexpr float kBackground = -0.25F;
static_assert(std::size(kPaint) == std::size(kColours));

// Whether the point lies in the shape; distances from its centre and its half width in twelfths of a pixel.
bool covers(std::size_t shape, std::int64_t down, std::int64_t right, std::int64_t reach) {
  const std::int64_t far = std::max(std::abs(down), std::abs(right));
  if (kShapes[shape] == "square") return far <= reach;
  if (kShapes[shape] == "disc") return down * down + right * right <= reach * reach;
  if (kShapes[shape] == "diamond") return std::abs(down) + std::abs(right) <= reach;
  return far <= reach && std::min(std::abs(down), std::abs(right)) <= reach / 3;
}

}  // namespace

Scene scene_at(std::int64_t index) {
  Scene scene{index};
  auto rest = static_cast<std::size_t>(index);
  const auto take = [&](std::size_t count) {
    const std::size_t taken = rest % count;
    rest /= count;
    return taken;
  };
  scene.shape = take(std::size(kShapes));
  scene.colour = take(std::size(kColours));
  scene.row = take(3);
  scene.column = take(3);
  scene.is_large = take(2) == 1;
  return scene;
}

std::string place_of(const Scene& scene) {
  constexpr std::string_view kRows[] = {"top", "middle", "bottom"};
  constexpr std::string_view kColumns[] = {"left", "middle", "right"};
  const std::string row(kRows[scene.row]);
  if (scene.column == 1) return row;
  return scene.row == 1 ? std::string(kColumns[scene.column]) : row + " " + std::string(kColumns[scene.column]);
}

std::string caption_of(const Scene& scene) {
  return std::string("a ") + (scene.is_large ? "large " : "small ") + std::string(kColours[scene.colour]) + " " +
         std::string(kShapes[scene.shape]) + " at the " + place_of(scene);
}

void draw(const Scene& scene, std::int64_t side, Shift shift, bool is_grey, std::span<float> pixels) {
  if (side < 12) throw std::runtime_error("a scene of " + std::to_string(side) + " pixels a side shows nothing");
  const auto& paint = is_grey ? kGrey : kPaint[scene.colour];
  const std::uint32_t noise = tensor_id("scenes");
  // In twelfths of a pixel: places are at a sixth, a half and five sixths of the side.
  const std::int64_t centre_row = (2 + 4 * static_cast<std::int64_t>(scene.row) + 2 * shift.rows) * side;
  const std::int64_t centre_column = (2 + 4 * static_cast<std::int64_t>(scene.column) + 2 * shift.columns) * side;
  const std::int64_t reach = (scene.is_large ? 2 : 1) * side;
  for (std::int64_t row = 0; row < side; ++row) {
    for (std::int64_t column = 0; column < side; ++column) {
      const bool is_shape = covers(scene.shape, 12 * row + 6 - centre_row, 12 * column + 6 - centre_column, reach);
      const PhiloxBlock drawn = keyed_block(/*seed=*/0, noise, static_cast<std::uint32_t>(scene.index),
                                            static_cast<std::uint64_t>(row * side + column));
      for (std::int64_t channel = 0; channel < kChannels; ++channel) {
        const auto i = static_cast<std::size_t>(channel);
        pixels[static_cast<std::size_t>((channel * side + row) * side + column)] =
            (is_shape ? paint[i] : kBackground) + uniform_unit(drawn.word[i]) * 0x1p-4F;
      }
    }
  }
}

std::vector<std::int64_t> tokens_of(const std::string& text, std::int64_t length) {
  std::vector<std::int64_t> tokens{kBeginToken};
  for (const char c : text) tokens.push_back(static_cast<unsigned char>(c));
  tokens.push_back(kEndToken);
  if (static_cast<std::int64_t>(tokens.size()) > length) {
    throw std::runtime_error("`" + text + "` does not fit into " + std::to_string(length) + " tokens");
  }
  tokens.resize(static_cast<std::size_t>(length), kPaddingToken);
  return tokens;
}

}  // namespace reprobench
