// What a pass over images writes as the input of the next one.
#pragma once

namespace tautstring::detail {

/// For contiguous images, as the input and output of the pass are. Rows take X - Qb and return z.
/// The columns then take z + Qb and return y; Q is their input less y. The rows of the next
/// iteration take X - Q.
template <class T>
struct ImagePass {
  const T* whole;  // X
  T* q;            // Qb; a pass over columns writes Q here
  bool of_columns;
};

}  // namespace tautstring::detail
