// All of Tautline's C++ API: exact, differentiable total variation.
// (tautline/error.h, which needs exceptions, is included by those who want it.)
#pragma once

#include "tautline/certificate.h"
#include "tautline/context.h"
#include "tautline/newton1d.h"
#include "tautline/partition.h"
#include "tautline/status.h"
#include "tautline/tv1d.h"
#include "tautline/tv2d.h"
#include "tautline/version.h"
#include "tautline/view.h"
