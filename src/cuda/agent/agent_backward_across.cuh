// Sums of the incoming gradient over segments for rows across memory, such as the
// columns of an image, or with any strides.
//
// Mapping: one thread a row, neighbouring threads neighbouring rows, so that a warp
// reads whole lines. Traffic: from the end of the row to its start grad_y is read and
// each segment's mean written to its first element of grad_x; then from start to end
// the means are read and grad_x is written. Shared memory: none.
#pragma once

#include <cstdint>

#include "cuda/agent/agent_backward.cuh"

namespace tautline::detail {

template <class Storage>
class AgentBackwardAcross {
 public:
  using T = ArithmeticOf<Storage>;

  __device__ AgentBackwardAcross(const BackwardRows<Storage>& call, std::int64_t row) noexcept
      : call_(call),
        codes_(call.partition + row * ((call.n + kWordElements - 1) / kWordElements)),
        grad_y_(call.grad_y.row(row)),
        grad_x_(call.wants_x ? call.grad_x.row(row) : nullptr),
        lam_offset_(call.lam_data != nullptr ? call.lam.offset(row) : 0) {}

  __device__ void run() noexcept {
    put_means();
    if (call_.wants_x) spread_means();
  }

 private:
  [[nodiscard]] __device__ Code code_of(std::uint32_t word, std::int32_t k) const noexcept {
    return k == 0 ? Code::plain : static_cast<Code>(word >> (2 * (k % kWordElements)) & 3U);
  }

  __device__ void put_means() noexcept {
    const bool per_edge = call_.lam_data != nullptr && call_.lam.size > 1;
    T sum = 0;
    std::int32_t last = call_.n;  // of the segment, one behind
    int right_sign = 0;           // of the jump behind it
    T right_mean = 0;
    double grad_lam = 0;
    for (std::int32_t w = (call_.n - 1) / kWordElements; w >= 0; --w) {
      const std::uint32_t word = codes_[w];
      T values[kWordElements];
#pragma unroll
      for (int i = 0; i < kWordElements; ++i) {
        const std::int32_t k = w * kWordElements + i;
        values[i] = k < call_.n ? widen<T>(grad_y_[k * call_.grad_y.stride]) : T(0);
      }
#pragma unroll
      for (int i = kWordElements - 1; i >= 0; --i) {
        const std::int32_t k = w * kWordElements + i;
        if (k >= call_.n) continue;
        sum = k + 1 == last ? values[i] : sum + values[i];
        const Code code = code_of(word, k);
        if (code == Code::continues) {
          if (per_edge && k > 0) store_edge(k, 0);
          continue;
        }
        const T mean = k + 1 == last ? values[i] : mean_of(sum, last - k);
        const double term = right_sign * static_cast<double>(mean - right_mean);
        grad_lam += term;
        if (per_edge && last < call_.n) store_edge(last, term);
        if (call_.wants_x && !call_.sharp) {
          grad_x_[k * call_.grad_x.stride] = narrow<Storage>(mean);
        }
        right_mean = mean;
        right_sign = jump_sign(code);
        last = k;
      }
    }
    if (call_.lam_data != nullptr && call_.lam.size == 1) {
      store_grad_lam(call_, lam_offset_, call_.sharp ? -grad_lam : grad_lam);
    }
  }

  __device__ void store_edge(std::int32_t k, double term) const noexcept {
    store_grad_lam(call_, lam_offset_ + (k - 1) * call_.lam.stride, call_.sharp ? -term : term);
  }

  __device__ void spread_means() noexcept {
    Storage mean = {};
    for (std::int32_t w = 0; w * kWordElements < call_.n; ++w) {
      const std::uint32_t word = codes_[w];
#pragma unroll
      for (int i = 0; i < kWordElements; ++i) {
        const std::int32_t k = w * kWordElements + i;
        if (k >= call_.n) return;
        if (code_of(word, k) != Code::continues) mean = grad_x_[k * call_.grad_x.stride];
        grad_x_[k * call_.grad_x.stride] = mean;
      }
    }
  }

  const BackwardRows<Storage>& call_;
  const std::uint32_t* codes_;
  const Storage* grad_y_;
  Storage* grad_x_;
  const std::int64_t lam_offset_;
};

}  // namespace tautline::detail
