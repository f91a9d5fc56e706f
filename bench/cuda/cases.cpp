#include "cases.h"

#include <sstream>

#include "short_number.h"

namespace bench {
namespace {

using tautstring::DType;

const char* name_of(Family family) {
  switch (family) {
    case Family::noise: return "noise";
    case Family::faint_noise: return "faint_noise";
    case Family::sine: return "sine";
    case Family::walk: return "walk";
    case Family::constants: return "constants";
    case Family::ramp: return "ramp";
    case Family::ramp_noise: return "ramp_noise";
    case Family::noise_one_ramp: return "noise_one_ramp";
  }
  return "";
}

Layout rows_of(std::int64_t n, std::int64_t elements) {
  return {.images = elements / n, .n = n};
}

void add_rows(std::vector<Case>& cases, std::int64_t elements) {
  for (const std::int64_t n : {32, 64, 128, 224, 256, 512, 1024, 2048, 4096, 8192}) {
    Case& plain = cases.emplace_back(Case{.group = "rows", .layout = rows_of(n, elements)});
    if (n == 128 || n == 1024) plain.dtypes = {DType::float32, DType::float64, DType::bfloat16};
    cases.push_back({.group = "rows", .layout = rows_of(n, elements), .lam = 10});
    cases.push_back({.group = "rows",
                     .family = Family::faint_noise,
                     .layout = rows_of(n, elements),
                     .lam = 0.05});
  }
}

void add_columns(std::vector<Case>& cases, std::int64_t elements) {
  constexpr std::int64_t kWidth = 1024;
  for (const std::int64_t n : {32, 64, 128, 256, 512, 1024, 2048}) {
    const Layout layout = {.images = elements / (n * kWidth), .n = n, .width = kWidth};
    cases.push_back({.group = "columns", .layout = layout});
  }
}

/// Too few rows to fill a GPU with one thread per row.
void add_few_rows(std::vector<Case>& cases) {
  cases.push_back({.group = "paper", .layout = {.images = 8192, .n = 32}, .with_graph = true});
  for (const Layout& layout : {Layout{.images = 64, .n = 8192}, Layout{.images = 1, .n = 1'000'000},
                               Layout{.images = 1, .n = 10'000'000}}) {
    cases.push_back({.group = "few_rows", .layout = layout});
  }
}

void add_ramps(std::vector<Case>& cases, std::int64_t elements) {
  const Layout layout = rows_of(4096, elements);
  cases.push_back({.group = "ramp", .family = Family::ramp, .layout = layout, .lam = kRampLam});
  // One such row among noise, compared with the noise alone and the row alone.
  for (const Family family : {Family::noise_one_ramp, Family::noise}) {
    cases.push_back({.group = "one_ramp",
                     .family = family,
                     .layout = layout,
                     .lam_kind = LamKind::per_row,
                     .with_backward = false});
  }
  cases.push_back({.group = "one_ramp",
                   .family = Family::ramp,
                   .layout = {.images = 1, .n = layout.n},
                   .lam = kRampLam,
                   .with_backward = false});
}

void add_edges(std::vector<Case>& cases, std::int64_t elements) {
  for (const std::int64_t n : {128, 1024}) {
    cases.push_back({.group = "edges",
                     .layout = rows_of(n, elements),
                     .lam_kind = LamKind::per_edge,
                     .with_backward = false});
  }
}

void add_hard(std::vector<Case>& cases, std::int64_t elements) {
  for (const std::int64_t n : {256, 4096}) {
    const Layout layout = rows_of(n, elements);
    cases.push_back({.group = "hard", .family = Family::sine, .layout = layout});
    cases.push_back({.group = "hard", .family = Family::constants, .layout = layout});
    cases.push_back({.group = "hard", .family = Family::walk, .layout = layout, .lam = 10});
    cases.push_back(
        {.group = "hard", .family = Family::ramp_noise, .layout = layout, .lam = kRampLam});
  }
}

}  // namespace

std::vector<std::int64_t> Case::shape() const {
  if (layout.width == 1) return {layout.images, layout.n};
  return {layout.images, layout.n, layout.width};
}

std::string Case::name() const {
  std::ostringstream text;
  text << group << '/' << name_of(family) << '/';
  const char* separator = "";
  for (const std::int64_t size : shape()) {
    text << separator << size;
    separator = "x";
  }
  text << "/lam:" << short_number(lam);
  return text.str();
}

std::int64_t Case::lams_a_row() const {
  switch (lam_kind) {
    case LamKind::number: return 0;
    case LamKind::per_row: return 1;
    case LamKind::per_edge: return layout.n - 1;
  }
  return 0;
}

std::vector<Case> all_cases(std::int64_t elements) {
  std::vector<Case> cases;
  add_rows(cases, elements);
  add_columns(cases, elements);
  add_few_rows(cases);
  add_ramps(cases, elements);
  add_edges(cases, elements);
  add_hard(cases, elements);
  return cases;
}

std::vector<Case> newton_cases() {
  std::vector<Case> cases;
  const auto add = [&](Family family, const Layout& layout, double lam) -> Case& {
    return cases.emplace_back(Case{
        .group = "newton", .family = family, .layout = layout, .lam = lam, .with_backward = false});
  };
  // The paper's shapes.
  for (const Layout& layout : {Layout{.images = 8192, .n = 32}, Layout{.images = 65536, .n = 32},
                               Layout{.images = 16384, .n = 64}, Layout{.images = 14336, .n = 224}})
    add(Family::noise, layout, 1).dtypes = {DType::float32, DType::float64};
  constexpr std::int64_t kElements = std::int64_t{1} << 24;
  for (const double lam : {0.05, 1.0, 10.0}) {
    for (const std::int64_t n : {32, 128, 512, 1024, 4096}) {
      add(Family::noise, rows_of(n, kElements), lam);
    }
    add(Family::walk, rows_of(256, kElements), lam);
    add(Family::sine, rows_of(1024, kElements), lam);
    add(Family::ramp, rows_of(4096, kElements), lam);
  }
  return cases;
}

}  // namespace bench
