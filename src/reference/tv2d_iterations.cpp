#include "reference/tv2d_iterations.h"

#include <cmath>
#include <cstddef>

#include "reference/tv1d_reference.h"

namespace tautstring::reference {
namespace {

/// A line of an image: a row or a column.
struct Line {
  std::size_t first;
  std::size_t step;
  std::size_t size;
};

/// The lines of an image along one direction, each with the lams of its edges.
class Lines {
 public:
  static Lines rows(const Problem2d& problem) {
    return {problem.lam_rows,
            size(problem.height),
            size(problem.width),
            size(problem.width),
            1,
            size(problem.width) - 1,
            1};
  }
  static Lines columns(const Problem2d& problem) {
    return {
        problem.lam_cols,   size(problem.width), size(problem.height), 1, size(problem.width), 1,
        size(problem.width)};
  }

  [[nodiscard]] std::size_t count() const { return count_; }
  [[nodiscard]] Line line(std::size_t i) const { return {i * apart_, step_, length_}; }
  [[nodiscard]] std::vector<double> lam(std::size_t i) const {
    std::vector<double> lam;
    for (std::size_t e = 0; e + 1 < length_; ++e) {
      lam.push_back(lam_[i * lams_apart_ + e * lam_step_]);
    }
    return lam;
  }

 private:
  Lines(const std::vector<double>& lam, std::size_t count, std::size_t length, std::size_t apart,
        std::size_t step, std::size_t lams_apart, std::size_t lam_step)
      : lam_(lam),
        count_(count),
        length_(length),
        apart_(apart),
        step_(step),
        lams_apart_(lams_apart),
        lam_step_(lam_step) {}

  static std::size_t size(std::int32_t value) { return static_cast<std::size_t>(value); }

  const std::vector<double>& lam_;
  std::size_t count_, length_, apart_, step_, lams_apart_, lam_step_;
};

std::vector<double> read(std::span<const double> image, const Line& line) {
  std::vector<double> values;
  for (std::size_t k = 0; k < line.size; ++k) values.push_back(image[line.first + k * line.step]);
  return values;
}

std::vector<double> solve(const Lines& lines, std::span<const double> image) {
  std::vector<double> solution(image.size());
  for (std::size_t i = 0; i < lines.count(); ++i) {
    const Line line = lines.line(i);
    const std::vector<double> y = prox_tv1d(read(image, line), lines.lam(i));
    for (std::size_t k = 0; k < line.size; ++k) solution[line.first + k * line.step] = y[k];
  }
  return solution;
}

double penalty(const Lines& lines, std::span<const double> image) {
  double sum = 0;
  for (std::size_t i = 0; i < lines.count(); ++i) {
    const std::vector<double> y = read(image, lines.line(i));
    const std::vector<double> lam = lines.lam(i);
    for (std::size_t e = 0; e < lam.size(); ++e) sum += lam[e] * std::abs(y[e + 1] - y[e]);
  }
  return sum;
}

/// The penalty less the lower bound that the dual variables, which are sums of `part`, give for it.
double slack(const Lines& lines, std::span<const double> image, std::span<const double> part) {
  double sum = 0;
  for (std::size_t i = 0; i < lines.count(); ++i) {
    const std::vector<double> y = read(image, lines.line(i));
    const std::vector<double> parts = read(part, lines.line(i));
    const std::vector<double> lam = lines.lam(i);
    double u = 0;
    for (std::size_t e = 0; e < lam.size(); ++e) {
      u -= parts[e];
      const double rise = y[e + 1] - y[e];
      sum += lam[e] * std::abs(rise) - u * rise;
    }
  }
  return sum;
}

std::vector<double> difference(std::span<const double> a, std::span<const double> b) {
  std::vector<double> result(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) result[i] = a[i] - b[i];
  return result;
}

}  // namespace

Iterate2d iterate(const Problem2d& problem, Method2d method, int iterations) {
  const Lines rows = Lines::rows(problem);
  const Lines columns = Lines::columns(problem);
  const std::size_t pixels = problem.x.size();
  Iterate2d result;
  result.q.assign(pixels, 0);
  std::vector<double> before = result.q;  // Qold
  double t = 1;
  double b = 0;
  for (int k = 0; k < iterations; ++k) {
    result.momentum.push_back(b);
    std::vector<double> ahead(pixels);  // Qb
    for (std::size_t i = 0; i < pixels; ++i) {
      ahead[i] = result.q[i] + b * (result.q[i] - before[i]);
    }
    const std::vector<double> without_q = difference(problem.x, ahead);
    result.p = difference(without_q, solve(rows, without_q));
    const std::vector<double> without_p = difference(problem.x, result.p);
    result.y = solve(columns, without_p);
    before = result.q;
    result.q = difference(without_p, result.y);
    if (method == Method2d::dykstra) continue;
    double leads_away = 0;
    for (std::size_t i = 0; i < pixels; ++i) {
      leads_away += (ahead[i] - result.q[i]) * (result.q[i] - before[i]);
    }
    if (leads_away > 0) t = 1;
    const double next = (1 + std::sqrt(1 + 4 * t * t)) / 2;
    b = (t - 1) / next;
    t = next;
  }
  return result;
}

double objective(const Problem2d& problem, std::span<const double> y) {
  double sum = 0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    sum += (y[i] - problem.x[i]) * (y[i] - problem.x[i]) / 2;
  }
  return sum + penalty(Lines::rows(problem), y) + penalty(Lines::columns(problem), y);
}

double duality_gap(const Problem2d& problem, const Iterate2d& iterate) {
  double residual = 0;
  for (std::size_t i = 0; i < iterate.y.size(); ++i) {
    const double rest = problem.x[i] - iterate.y[i] - iterate.p[i] - iterate.q[i];
    residual += rest * rest / 2;
  }
  return slack(Lines::rows(problem), iterate.y, iterate.p) +
         slack(Lines::columns(problem), iterate.y, iterate.q) + residual;
}

}  // namespace tautstring::reference
