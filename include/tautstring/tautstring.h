// All of Tautstring's C++ API: exact, differentiable total variation. (Include tautstring/error.h
// yourself if you want exceptions.)
#pragma once

#include "tautstring/certificate.h"
#include "tautstring/context.h"
#include "tautstring/newton1d.h"
#include "tautstring/partition.h"
#include "tautstring/path1d.h"
#include "tautstring/select1d.h"
#include "tautstring/status.h"
#include "tautstring/tv1d.h"
#include "tautstring/tv2d.h"
#include "tautstring/version.h"
#include "tautstring/view.h"
