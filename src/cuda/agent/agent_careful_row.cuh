// Solves any row in float64 by the taut string. This is the fallback for rows that no other method
// takes: they have an edge of lam 0, or are near the ends of their type's range, or their search
// gave up in a kernel without lists for a warp's work. Linear in n.
//
// Mapping: one lane per row; the lanes of a warp interleave their scratch memory. Traffic: x is
// read three times; running sums and the chains of the string (16 bytes per element) are written
// and read once or more.
#pragma once

#include <cstdint>

#include "cuda/agent/careful_scratch.cuh"
#include "cuda/warp/forward_rows.cuh"
#include "step/prefix_sums.h"
#include "step/row/scaling.h"
#include "step/segment.h"
#include "step/taut_string.h"

namespace tautstring::detail {

template <class Call>
class AgentCarefulRow {
 public:
  using Storage = typename Call::Storage;

  __device__ AgentCarefulRow(const Call& call, const CarefulScratch& scratch,
                             std::int64_t row) noexcept
      : call_(call),
        s_(scratch),
        n_(call.shape.n),
        x_(call.x.row(row)),
        y_(call.y.row(row)),
        codes_(call.partition == nullptr ? nullptr : call.partition + row * ((n_ + 15) / 16)),
        lam_offset_(call.lam_data == nullptr ? 0 : call.lam.offset(row)) {}

  __device__ void solve() noexcept {
    double size = 0;
    const double origin = sample(0);
    bool finite = true;
    for (std::int32_t i = 0; i < n_; ++i) {
      const double value = sample(i);
      finite = finite && value - value == 0;
      size = fmax(size, fabs(value));
    }
    // Also for a row without edges: lam 0 copies it. A negative lam may be too small to be seen as
    // negative in the search's type.
    double largest_lam = lam(0);
    bool is_allowed = largest_lam >= 0;
    for (std::int32_t e = 1; e + 1 < n_; ++e) {
      is_allowed = is_allowed && lam(e) >= 0;
      largest_lam = fmax(largest_lam, lam(e));
    }
    if (!is_allowed) return fill_nan();
    if (largest_lam == 0) return copy();
    if (!finite) return fill_nan();
    scale_ = choose_scale(size);

    double sum = 0;
    s_.sums[0] = 0;
    for (std::int32_t i = 0; i < n_; ++i) {
      sum += sample(i) * scale_ - origin * scale_;
      s_.sums[i + 1] = sum;
    }
    const Tube<double, Sums, UnitSums<double>, Lams> tube = {{s_.sums}, {}, {this}, n_};
    pull_taut_string<double>(tube, s_.lower, s_.upper,
                             [&](std::int32_t k, Code code) { close_segment(k, code); });
    close_segment(n_, Code::continues);
    finish_codes();
  }

 private:
  struct Sums {
    Strided<double> total;
    [[nodiscard]] __device__ double between(std::int32_t a, std::int32_t b) const noexcept {
      return total[b] - total[a];
    }
  };
  struct Lams {
    const AgentCarefulRow* row;
    [[nodiscard]] __device__ double operator[](std::int32_t e) const noexcept {
      return scale_lam(row->lam(e), row->scale_, 1);
    }
  };

  [[nodiscard]] __device__ double sample(std::int32_t i) const noexcept {
    return widen<double>(x_[i * call_.x.stride]);
  }
  [[nodiscard]] __device__ double lam(std::int32_t e) const noexcept {
    if (call_.lam_data == nullptr) return call_.lam_number;
    const std::int64_t at = lam_offset_ + (call_.lam.size > 1 ? e * call_.lam.stride : 0);
    return load_as<double>(call_.lam_data, call_.lam_dtype, at);
  }

  /// The open segment, which begins at first_, ends before element `last` with a jump of this code.
  __device__ void close_segment(std::int32_t last, Code after) noexcept {
    // An edge of lam 0 within the segment is a border without a sign.
    if (call_.lam_data != nullptr && call_.lam.size > 1) {
      for (std::int32_t e = first_; e + 1 < last; ++e) {
        if (lam(e) == 0) finish_segment(e + 1, Code::plain);
      }
    }
    finish_segment(last, after);
  }

  __device__ void finish_segment(std::int32_t last, Code after) noexcept {
    const double first_sample = sample(first_) * scale_;
    double residual = 0;
    for (std::int32_t i = first_; i < last; ++i) residual += sample(i) * scale_ - first_sample;
    double borders = 0;
    if (jump_sign(after) != 0) borders += jump_sign(after) * Lams{this}[last - 1];
    if (jump_sign(code_) != 0) borders -= jump_sign(code_) * Lams{this}[first_ - 1];
    double value =
        segment_value(first_sample, residual, borders, static_cast<double>(last - first_));
    value = respect_jump(value, value_, jump_sign(code_));
    for (std::int32_t i = first_; i < last; ++i) {
      const double smooth = value / scale_;
      if constexpr (Call::kOutput == ForwardOutput::next_input) {
        y_[i * call_.y.stride] = narrow<Storage>(call_.changed(smooth, x_ + i * call_.x.stride));
      } else {
        y_[i * call_.y.stride] = narrow<Storage>(call_.sharp ? mirror(sample(i), smooth) : smooth);
      }
    }
    mark(first_, code_);
    value_ = value;
    first_ = last;
    code_ = after;
  }

  /// Writes words of codes in order.
  __device__ void mark(std::int32_t i, Code code) noexcept {
    if (codes_ == nullptr) return;
    for (; word_ < i / 16; ++word_) {
      codes_[word_] = codes_of_word_;
      codes_of_word_ = 0;
    }
    codes_of_word_ |= static_cast<std::uint32_t>(code) << (2 * (i % 16));
  }
  __device__ void finish_codes() noexcept {
    if (codes_ == nullptr) return;
    for (; word_ < (n_ + 15) / 16; ++word_) {
      codes_[word_] = codes_of_word_;
      codes_of_word_ = 0;
    }
  }

  /// With lam 0 the result is x, bit for bit.
  __device__ void copy() noexcept {
    double previous = 0;
    for (std::int32_t i = 0; i < n_; ++i) {
      const double value = sample(i);
      const Storage bits = x_[i * call_.x.stride];
      if constexpr (Call::kOutput == ForwardOutput::next_input) {
        y_[i * call_.y.stride] = call_.changed(bits, x_ + i * call_.x.stride);
      } else {
        y_[i * call_.y.stride] = bits;
      }
      mark(i, i == 0             ? Code::plain
              : value > previous ? Code::up
              : value < previous ? Code::down
                                 : Code::plain);
      previous = value;
    }
    finish_codes();
  }
  __device__ void fill_nan() noexcept {
    for (std::int32_t i = 0; i < n_; ++i) {
      y_[i * call_.y.stride] = narrow<Storage>(std::numeric_limits<double>::quiet_NaN());
    }
    mark(0, Code::plain);
    finish_codes();
  }

  const Call& call_;
  const CarefulScratch& s_;
  const std::int32_t n_;
  const Storage* x_;
  Storage* y_;
  std::uint32_t* codes_;
  const std::int64_t lam_offset_;
  double scale_ = 1;

  std::int32_t first_ = 0;  // of the open segment
  Code code_ = Code::plain;
  double value_ = 0;  // of the previous segment
  std::int32_t word_ = 0;
  std::uint32_t codes_of_word_ = 0;
};

}  // namespace tautstring::detail
