// Marks the symbols that a shared library exports; all others are hidden.
#pragma once

#define TAUTSTRING_API __attribute__((visibility("default")))
