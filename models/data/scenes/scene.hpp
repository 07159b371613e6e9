// Generated pictures: one coloured shape at one of nine places, on a background of weak noise, and a caption in words.
// The computation has integers and exact products only, so that every pixel has the same bits everywhere.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace reprobench {

struct Scene {
  std::int64_t index = 0;  // keys the noise
  std::size_t shape = 0;   // into the names below
  std::size_t colour = 0;
  std::size_t row = 0;  // 0 top, 2 bottom
  std::size_t column = 0;
  bool is_large = false;
};

inline constexpr std::string_view kShapes[] = {"square", "disc", "diamond", "cross"};
inline constexpr std::string_view kColours[] = {"red", "green", "blue", "yellow", "purple", "white"};
inline constexpr std::int64_t kScenes = 4 * 6 * 3 * 3 * 2;
inline constexpr std::int64_t kChannels = 3;

Scene scene_at(std::int64_t index);  // 0 <= index < kScenes, each a different one

std::string place_of(const Scene& scene);    // "top left", "middle", "bottom right"
std::string caption_of(const Scene& scene);  // "a small red disc at the top left"

// Draws (3, side, side) pixels, from -0.5 to 0.5 and 1/16 of noise. `shift` moves the shape by as many sixths of the
// side, down the rows and along the columns. Throws std::runtime_error for a side of less than 12 pixels.
struct Shift {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
};
void draw(const Scene& scene, std::int64_t side, Shift shift, bool is_grey, std::span<float> pixels);

// The tokens BEGIN, the bytes of the text, END and padding, `length` in all. Throws std::runtime_error for a text that
// does not fit.
std::vector<std::int64_t> tokens_of(const std::string& text, std::int64_t length);

}  // namespace reprobench
