// Measures a case of images: forward and backward.
#pragma once

#include "device.h"
#include "image_cases.h"
#include "measure.h"

namespace bench {

void run_image_case(const ImageCase& c, const Stream& stream, const Settings& settings);

}  // namespace bench
