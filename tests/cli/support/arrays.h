// Signals for tests: .npy bytes written out by hand, and values read back.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "sample_array.h"

namespace tautstring::cli::test {

inline std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

template <class T>
std::string raw_bytes(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

/// The same numbers with the other byte order.
template <class T>
std::string swapped_bytes(const std::vector<T>& values) {
  std::string bytes = raw_bytes(values);
  for (std::size_t i = 0; i < bytes.size(); i += sizeof(T)) {
    std::reverse(&bytes[i], &bytes[i] + sizeof(T));
  }
  return bytes;
}

/// An .npy file around any header text and data.
inline std::string npy_file(const std::string& header, const std::string& data, int version = 1) {
  std::string file = "\x93NUMPY";
  file += static_cast<char>(version);
  file += '\0';
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i) {
    file += static_cast<char>((header.size() >> (8 * i)) & 0xFF);
  }
  return file + header + data;
}

inline std::string npy_header(const std::string& descr, const std::string& shape,
                              bool fortran_order = false) {
  return "{'descr': '" + descr + "', 'fortran_order': " + (fortran_order ? "True" : "False") +
         ", 'shape': " + shape + ", }\n";
}

inline std::vector<double> values_of(const SampleArray& array) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < array.count(); ++i) values.push_back(array.at(i));
  return values;
}

}  // namespace tautstring::cli::test
