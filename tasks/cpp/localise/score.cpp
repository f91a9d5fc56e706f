#include "localise/score.h"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "support/parallel.h"

namespace tautstring_tasks::localise {
namespace {

std::int64_t area(const Box& box) {
  const std::int64_t width = box.x1 - box.x0 + 1;
  const std::int64_t height = box.y1 - box.y0 + 1;
  return std::max<std::int64_t>(width, 0) * std::max<std::int64_t>(height, 0);
}

std::uint8_t best_overlap(const Box& box, std::span<const Box> truths) {
  std::uint8_t best = 0;
  for (const Box& truth : truths) best = std::max(best, overlap(box, truth));
  return best;
}

void require(bool is_met, std::size_t image, const std::string& what) {
  if (!is_met) throw std::invalid_argument("image " + std::to_string(image) + ": " + what);
}

void check_maps(std::span<const Image> images) {
  for (std::size_t i = 0; i < images.size(); ++i) {
    require(!images[i].map.empty() && images[i].map.size() == images[i].size.pixels(), i,
            "the map does not have its size, or is empty");
  }
}

NewFloats prepared(Floats map, Size size) {
  return stretched(resized(map, size, kScored));
}

Overlaps overlaps_of(const Image& image) {
  const Boxes boxes = boxes_of(to_bytes(prepared(image.map, image.size)), kScored);
  Overlaps result;
  for (const Lasting& each : boxes.all) {
    const std::uint8_t found = best_overlap(each.box, image.boxes);
    for (int cut = each.first; cut <= each.last; ++cut) {
      result.all[to_index(cut)] = std::max(result.all[to_index(cut)], found);
    }
  }
  std::transform(boxes.largest.begin(), boxes.largest.end(), result.largest.begin(),
                 [&](const Box& box) { return best_overlap(box, image.boxes); });
  return result;
}

std::size_t bin_of(float value) {
  const auto number = static_cast<double>(value);
  int bin = static_cast<int>(number * 1000);
  if (number < bin * 0.001) --bin;  // the limits of bins are rounded
  if (number >= (bin + 1) * 0.001) ++bin;
  return to_index(std::min(bin, kBins - 1));
}

PixelCounts counts_of(const Image& image) {
  const NewFloats values = prepared(image.map, image.size);
  PixelCounts counts;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (image.mask[i] == kIgnored) continue;
    ++(image.mask[i] != 0 ? counts.objects : counts.others)[bin_of(values[i])];
  }
  return counts;
}

}  // namespace

std::uint8_t overlap(const Box& a, const Box& b) {
  const std::int64_t both = area(
      {std::max(a.x0, b.x0), std::max(a.y0, b.y0), std::min(a.x1, b.x1), std::min(a.y1, b.y1)});
  const std::int64_t either = area(a) + area(b) - both;
  return either > 0 ? static_cast<std::uint8_t>(100 * both / either) : std::uint8_t{0};
}

std::vector<Overlaps> score_boxes(std::span<const Image> images, int threads) {
  check_maps(images);
  for (std::size_t i = 0; i < images.size(); ++i) {
    require(!images[i].boxes.empty(), i, "has no true box");
  }
  std::vector<Overlaps> result(images.size());
  for_each(images.size(), threads, [&](std::size_t i) { result[i] = overlaps_of(images[i]); });
  return result;
}

PixelCounts count_pixels(std::span<const Image> images, int threads) {
  check_maps(images);
  for (std::size_t i = 0; i < images.size(); ++i) {
    require(images[i].mask.size() == kScored.pixels(), i, "the mask has another size");
  }
  std::vector<PixelCounts> counts(images.size());
  for_each(images.size(), threads, [&](std::size_t i) { counts[i] = counts_of(images[i]); });
  PixelCounts sum;
  for (const PixelCounts& each : counts) {
    for (std::size_t bin = 0; bin < kBins; ++bin) {
      sum.objects[bin] += each.objects[bin];
      sum.others[bin] += each.others[bin];
    }
  }
  return sum;
}

}  // namespace tautstring_tasks::localise
