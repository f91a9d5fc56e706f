// Thinning by hand, and what holds for every map. Python's tests compare it with scikit-image.
#include "edges/thin.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/edges/pictures.h"

namespace tautstring_tasks::edges {
namespace {

std::string thinned_text(const Drawing& drawing) {
  return text_of(thinned(drawing.map, drawing.size), drawing.size);
}

TEST(Thin, ThinLinesStay) {
  const Drawing lines =
      drawn({"#......#", ".#....#.", "..#..#..", "...##...", "........", "########"});
  EXPECT_EQ(thinned_text(lines), text_of(lines.map, lines.size));
}

TEST(Thin, ABarBecomesItsMiddleLine) {
  const Drawing bar = drawn({".......", ".#####.", ".#####.", ".#####.", "......."});
  EXPECT_EQ(thinned_text(bar),
            ".......\n"
            ".......\n"
            "..###..\n"
            ".......\n"
            ".......\n");
}

TEST(Thin, ARingStaysARing) {
  const Drawing ring = drawn({"#####", "#####", "##.##", "#####", "#####"});
  const NewBytes result = thinned(ring.map, ring.size);
  EXPECT_EQ(result[12], 0);
  EXPECT_EQ(thinned_text(ring),
            ".....\n"
            "..#..\n"
            ".#.#.\n"
            "..#..\n"
            ".....\n");
}

TEST(Thin, AResultIsThin) {
  std::mt19937 random(2);
  for (const unsigned percent : {20U, 50U, 80U, 97U}) {
    const Drawing map = scattered({30, 41}, percent, random);
    const NewBytes once = thinned(map.map, map.size);
    EXPECT_EQ(thinned(once, map.size), once);
    for (std::size_t i = 0; i < once.size(); ++i) EXPECT_LE(once[i], map.map[i]);
  }
}

TEST(Thin, OneThinnerServesManyMaps) {
  std::mt19937 random(3);
  const Size size{17, 23};
  Thinner thinner(size);
  for (int round = 0; round < 20; ++round) {
    const Drawing map = noise(size, random);
    const auto level = static_cast<std::uint8_t>(1 + random() % 255);
    NewBytes binary(map.map);
    for (auto& pixel : binary) pixel = pixel >= level ? 1 : 0;
    NewBytes result(binary.size());
    const auto places = thinner.thin(map.map, level);
    for (const int place : places) result[to_index(place)] = 1;
    EXPECT_EQ(text_of(result, size), text_of(thinned(binary, size), size));
    EXPECT_TRUE(std::is_sorted(places.begin(), places.end()));
  }
}

TEST(Thin, MapsOfOnePixelAndNone) {
  EXPECT_EQ(thinned(NewBytes{1}, {1, 1}), NewBytes{1});
  EXPECT_TRUE(thinned({}, {0, 0}).empty());
}

}  // namespace
}  // namespace tautstring_tasks::edges
