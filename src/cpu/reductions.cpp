// One number per row: the certificate, lam_max, the total variation.
#include "cpu/cpu_backend.h"
#include "cpu/parallel.h"
#include "cpu/value_checks.h"
#include "step/row/reduction_workers.h"

namespace tautstring::detail {

Status certificate1d(const Certificate1d& call, const Context& context) noexcept {
  if (const Status status = check_lam(call.lam, call.rows); !status.ok()) return status;
  if (const Status status = check_weight(call.weight, call.rows); !status.ok()) return status;
  return for_each_row<CertificateWorker>(call, call.rows, call.weight.given, context);
}

Status lam_max(const RowReduction& call, const Context& context) noexcept {
  if (const Status status = check_weight(call.weight, call.rows); !status.ok()) return status;
  return for_each_row<LamMaxWorker>(call, call.rows, call.weight.given, context);
}

Status tv(const RowReduction& call, const Context& context) noexcept {
  return for_each_row<TvWorker>(call, call.rows, false, context);
}

}  // namespace tautstring::detail
