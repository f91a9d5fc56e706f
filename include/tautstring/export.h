// Marks what a shared library shows; all else is hidden.
#pragma once

#define TAUTSTRING_API __attribute__((visibility("default")))
