// The backend that a conformance executable runs tests/cpp on, in the CPU's place.
#pragma once

#include "backend.h"

namespace tautstring::testing {

/// Takes calls with host pointers and behaves as a device does: a bad value in an
/// array makes its row NaN. Each executable links one definition.
const detail::Backend& tested_backend();

/// Why this machine cannot run it; null where it can.
const char* why_not();

}  // namespace tautstring::testing
