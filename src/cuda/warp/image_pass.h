// What a pass over images writes for the next one.
#pragma once

namespace tautstring::detail {

/// Of images that lie one behind the other, as the pass's input and output do. Rows take X - Qb
/// and give z, and the columns then take z + Qb; those give y, Q is what they take less y, and the
/// rows then take X - Q.
template <class T>
struct ImagePass {
  const T* whole;  // X
  T* q;            // Qb; of columns, Q is written here
  bool of_columns;
};

}  // namespace tautstring::detail
