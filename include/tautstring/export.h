// Marks the symbols that a shared library exports; all others are hidden.
#pragma once

#ifdef _MSC_VER
#define TAUTSTRING_API  // a static library
#else
#define TAUTSTRING_API __attribute__((visibility("default")))
#endif
