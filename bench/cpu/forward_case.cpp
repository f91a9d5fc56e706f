#include "forward_case.h"

#include <random>
#include <sstream>

namespace bench {
namespace {

constexpr double kLams[] = {0.05, 1, 10};

bool is_image(const ForwardCase& c) {
  return c.data.family == &kImage;
}

}  // namespace

std::vector<std::int64_t> ForwardCase::shape() const {
  if (is_image(*this)) return {data.rows / data.n, data.n, data.n};
  return {data.rows, data.n};
}

std::string ForwardCase::name() const {
  std::ostringstream text;
  text << group << '/' << data.family->name << '/';
  const char* separator = "";
  for (const std::int64_t size : shape()) {
    text << separator << size;
    separator = "x";
  }
  text << "/lam:" << lam;
  return text.str();
}

std::vector<float> lam_values(const ForwardCase& c) {
  const auto per_row = static_cast<std::size_t>(c.lam_kind == LamKind::per_row ? 1 : c.data.n - 1);
  std::vector<float> values(static_cast<std::size_t>(c.data.rows) * per_row,
                            static_cast<float>(c.lam));
  if (c.lam_kind == LamKind::per_edge_equal) return values;
  std::mt19937 random(2);
  std::uniform_real_distribution<float> factor(0.5F, 1.5F);
  for (float& value : values) value *= factor(random);
  return values;
}

std::vector<ForwardCase> forward_cases() {
  std::vector<ForwardCase> cases;
  const auto add_each_lam = [&](const ForwardCase& c) {
    for (const double lam : kLams) cases.emplace_back(c).lam = lam;
  };
  const Data rows_of_32 = {&kNoise, 8192, 32};
  const Data rows_of_128 = {&kNoise, 8192, 128};
  const Data rows_of_1024 = {&kNoise, 1024, 1024};

  add_each_lam({.group = "rows", .data = rows_of_32, .with_peers = true});
  for (const Data& data : {rows_of_128, rows_of_1024}) {
    add_each_lam({.group = "rows", .data = data, .with_peers = true, .with_bf16 = true});
    const ForwardCase edges = {.group = "edges_varied",
                               .data = data,
                               .lam_kind = LamKind::per_edge_varied,
                               .with_peers = true};
    add_each_lam(edges);
    add_each_lam({.group = "edges_equal", .data = data, .lam_kind = LamKind::per_edge_equal});
    add_each_lam({.group = "lam_per_row", .data = data, .lam_kind = LamKind::per_row});
  }
  add_each_lam({.group = "rows", .data = {&kWalk, 14336, 224}, .with_peers = true});

  for (const Family* family : {&kNoise, &kWalk, &kSine}) {
    for (const std::int64_t n : {1000, 4096, 16'384, 65'535}) {
      add_each_lam({.group = "single", .data = {family, 1, n}, .with_peers = true});
    }
  }

  const ForwardCase signal = {
      .group = "signal", .data = {&kNoise, 1, 10'000'000}, .threads = {1, 2}, .with_peers = true};
  add_each_lam(signal);
  cases.emplace_back(signal).lam = 100;

  add_each_lam({.group = "hard", .data = {&kSine, 1024, 1024}, .with_peers = true});
  for (const Family* family : {&kRamp, &kNoisyRamp}) {
    cases.push_back(
        {.group = "hard", .data = {family, 64, 40'000}, .lam = 2000, .with_peers = true});
  }
  for (const Family* family : {&kConstants, &kTies}) {
    cases.push_back({.group = "hard", .data = {family, 1024, 1024}, .lam = 1, .with_peers = true});
  }

  for (const Data& data : {Data{&kImage, 64 * 512, 512}, Data{&kImage, 8192 * 32, 32}}) {
    add_each_lam({.group = "image_rows", .data = data});
    add_each_lam({.group = "image_columns", .data = data, .columns = true});
  }
  return cases;
}

}  // namespace bench
