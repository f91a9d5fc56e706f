// The demo: renders a scene, adds noise, and removes the noise in two ways: by a Gaussian low-pass
// and by total variation in 2D. Writes the three images side by side (noisy | low-pass | TV) and
// prints how close each is to the clean scene, with each filter at its best setting.
//
// usage: tautstring_demo OUTPUT.png
#include <tautstring/error.h>
#include <tautstring/tautstring.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <random>
#include <string>
#include <vector>
#include <vips/vips8>

namespace {

constexpr std::int64_t kWidth = 320;
constexpr std::int64_t kHeight = 320;
constexpr std::int64_t kChannels = 3;
constexpr int kGap = 8;
constexpr float kNoise = 0.12F;

/// kHeight x kWidth pixels of kChannels values in [0, 1].
using Image = std::vector<float>;

struct Colour {
  float red, green, blue;
};

/// The colour of the scene at (u, v) in [0, 1]^2: flat shapes with sharp edges on a sky that
/// changes slowly. A low-pass must either blur the edges or keep noise.
Colour scene(double u, double v) {
  const double sun = std::hypot(u - 0.73, v - 0.27);
  if (sun < 0.12) return {0.98F, 0.84F, 0.36F};
  if (v > 0.78) return u < 0.5 ? Colour{0.20F, 0.33F, 0.30F} : Colour{0.25F, 0.41F, 0.33F};
  if (std::abs(u - 0.30) < 0.13 && v > 0.45) {  // a house with a window
    const bool window = std::abs(u - 0.30) < 0.05 && std::abs(v - 0.60) < 0.05;
    return window ? Colour{0.96F, 0.93F, 0.80F} : Colour{0.75F, 0.34F, 0.27F};
  }
  if (v > 0.30 && v <= 0.45 && std::abs(u - 0.30) < (v - 0.30) * 1.15) return {0.36F, 0.22F, 0.24F};
  if (u > 0.58 && u < 0.92 && v > 0.60 && static_cast<int>(u * 50) % 3 != 0) {  // a fence
    return {0.90F, 0.90F, 0.88F};
  }
  const auto height = static_cast<float>(v);
  return {0.36F + 0.25F * height, 0.55F + 0.20F * height, 0.82F};
}

Image render() {
  constexpr int kSamples = 4;  // per axis, to smooth the edges of the shapes
  Image image(kHeight * kWidth * kChannels);
  for (int y = 0; y < kHeight * kSamples; ++y) {
    for (int x = 0; x < kWidth * kSamples; ++x) {
      const Colour colour =
          scene((x + 0.5) / (kWidth * kSamples), (y + 0.5) / (kHeight * kSamples));
      float* pixel = image.data() + ((y / kSamples) * kWidth + x / kSamples) * kChannels;
      pixel[0] += colour.red / (kSamples * kSamples);
      pixel[1] += colour.green / (kSamples * kSamples);
      pixel[2] += colour.blue / (kSamples * kSamples);
    }
  }
  return image;
}

Image add_noise(Image image) {
  std::mt19937 random(2022);
  std::normal_distribution<float> noise(0, kNoise);
  for (float& value : image) value += noise(random);
  return image;
}

/// Applies total variation to each channel, which is a view of the same memory, until the objective
/// is proven to be within 1e-4 of its optimum.
Image total_variation(Image image, double lam) {
  tautstring::ThreadExecutor threads;
  const tautstring::View channels = tautstring::view(image.data(), {kChannels, kHeight, kWidth},
                                                     {1, kWidth * kChannels, kChannels});
  tautstring::check(tautstring::prox_tv2d(
      {.x = channels, .lam_rows = lam, .lam_cols = lam},
      {.method = tautstring::Method2d::accelerated, .iterations = 256, .tol = 1e-4},
      {.y = channels}, {.executor = &threads}));
  return image;
}

vips::VImage to_vips(Image& image) {
  return vips::VImage::new_from_memory(image.data(), image.size() * sizeof(float), kWidth, kHeight,
                                       kChannels, VIPS_FORMAT_FLOAT);
}

Image low_pass(Image image, double sigma) {
  std::size_t bytes = 0;
  void* memory =
      to_vips(image)
          .gaussblur(sigma, vips::VImage::option()->set("precision", VIPS_PRECISION_FLOAT))
          .write_to_memory(&bytes);
  const auto* values = static_cast<const float*>(memory);
  Image result(values, values + bytes / sizeof(float));
  g_free(memory);
  return result;
}

/// Peak signal-to-noise ratio in dB.
double psnr(const Image& image, const Image& clean) {
  double sum = 0;
  for (std::size_t i = 0; i < image.size(); ++i) {
    const double error = static_cast<double>(image[i]) - clean[i];
    sum += error * error;
  }
  return -10 * std::log10(sum / static_cast<double>(image.size()));
}

struct Best {
  Image image;
  double setting = 0;
  double psnr = 0;
};

/// Applies the filter at the setting that comes closest to the clean scene.
template <class Filter>
Best best_of(Filter filter, const Image& noisy, const Image& clean, double from, double to) {
  Best best;
  constexpr int kSteps = 24;
  for (int step = 0; step <= kSteps; ++step) {
    const double setting = from * std::pow(to / from, static_cast<double>(step) / kSteps);
    Image image = filter(noisy, setting);
    const double quality = psnr(image, clean);
    if (quality > best.psnr) best = {std::move(image), setting, quality};
  }
  return best;
}

void write_side_by_side(const std::vector<Image*>& images, const std::string& path) {
  std::vector<vips::VImage> panels;
  panels.reserve(images.size());
  for (Image* image : images)
    panels.push_back((to_vips(*image) * 255).rint().cast(VIPS_FORMAT_UCHAR));
  vips::VImage::arrayjoin(panels, vips::VImage::option()
                                      ->set("across", static_cast<int>(panels.size()))
                                      ->set("shim", kGap)
                                      ->set("background", std::vector<double>{255}))
      .copy(vips::VImage::option()->set("interpretation", VIPS_INTERPRETATION_sRGB))
      .pngsave(path.c_str(), vips::VImage::option()->set("compression", 9));
}

int run(const std::string& path) {
  const Image clean = render();
  Image noisy = add_noise(clean);
  Best blurred = best_of(low_pass, noisy, clean, 0.4, 4);
  Best smooth = best_of(total_variation, noisy, clean, 0.02, 1);
  write_side_by_side({&noisy, &blurred.image, &smooth.image}, path);
  std::printf("noisy       %.2f dB\n", psnr(noisy, clean));
  std::printf("low-pass    %.2f dB  (sigma %.2f)\n", blurred.psnr, blurred.setting);
  std::printf("TV          %.2f dB  (lam %.3f)\n", smooth.psnr, smooth.setting);
  std::printf("noisy | low-pass | TV: %s\n", path.c_str());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s OUTPUT.png\n", argv[0]);
    return 2;
  }
  if (VIPS_INIT(argv[0]) != 0) return 1;
  int result = 1;
  try {
    result = run(argv[1]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tautstring_demo: %s\n", error.what());
  }
  vips_shutdown();
  return result;
}
