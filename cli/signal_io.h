// Signal files: reading and writing .npy and tables of numbers, according to their names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "csv.h"
#include "file_format.h"
#include "sample_array.h"

namespace tautstring::cli {

/// npy and csv.
[[nodiscard]] FormatTable signal_formats();

struct Signal {
  SampleArray samples;             // finite, or NaN where a sample is missing
  std::optional<CsvStyle> csv;     // the style of the table; empty: npy
  std::int64_t missing_count = 0;  // samples that are NaN

  [[nodiscard]] const FileFormat& format() const;

  /// The default dimension of signals: down the columns of a table, along the last dimension of an
  /// array.
  [[nodiscard]] int default_dim() const noexcept { return csv ? 0 : -1; }
};

/// Reads the bytes of the file `path`. Throws Failure, also for infinite samples.
[[nodiscard]] Signal decode_signal(std::span<const std::byte> bytes, const std::string& path);

/// The same from a file ("-": standard input).
[[nodiscard]] Signal load_signal(const std::string& path);

/// The bytes of a signal file. Throws Failure if the format does not support the array.
[[nodiscard]] std::vector<std::byte> encode_signal(const Signal& signal, const FileFormat& format,
                                                   const std::string& output_path);

/// One weight per sample, in the samples' order in memory: 0 where a sample is missing, else the
/// value in the file `weights_path`, else 1. A file with one dimension has one weight for each
/// sample along `dim`; any other must broadcast to the samples. Throws Failure.
[[nodiscard]] std::vector<double> sample_weights(const Signal& signal, int dim,
                                                 const std::string& weights_path);

}  // namespace tautstring::cli
