// The backend that a conformance executable runs tests/cpp on, instead of the CPU.
#pragma once

#include "backend.h"

namespace tautstring::testing {

/// Takes calls with host pointers and behaves like a device: a bad value in an array makes its row
/// NaN. Each executable links one definition.
const detail::Backend& tested_backend();

/// Why this machine cannot run it; null if it can.
const char* why_not();

}  // namespace tautstring::testing
