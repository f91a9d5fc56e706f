// Small images as the channels of nets are: forward and backward of Algorithm 1, and rows of the
// same data, in all dtypes and both layouts.
#pragma once

#include <vector>

#include "image_data.h"

namespace bench {

/// The images give the planes of their family: blocks of the image.
void add_planes(const std::vector<GreyImage>& images);

}  // namespace bench
