#include "step/row/row_io.h"
#include "tautstring/view.h"

namespace tautstring {

double value_at(const ConstView& view, std::int64_t offset) noexcept {
  return detail::load_element({view.data, view.dtype, 1, 0}, offset);
}

}  // namespace tautstring
