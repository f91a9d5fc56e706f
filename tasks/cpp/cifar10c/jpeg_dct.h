// The two transforms of a JPEG's 8 x 8 blocks in integers: the factorisation of Loeffler,
// Ligtenberg and Moschytz (ICASSP 1989) with 11 multiplications per line, constants with 13 bits
// after the point and two bits more between the passes. These choices are those of the Independent
// JPEG Group's accurate ("islow") integer method, whose results are reproduced bit for bit.
#pragma once

#include <array>
#include <cstdint>

namespace tautstring_tasks::cifar10c {

/// Row by row.
using Block = std::array<std::int32_t, 64>;

/// In place, from samples in [-128, 127] to 8 times their coefficients.
void forward_dct(Block& block);

/// In place, from coefficients to samples in [-128, 127].
void inverse_dct(Block& block);

}  // namespace tautstring_tasks::cifar10c
