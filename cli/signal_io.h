// Signal files: .npy and tables of numbers, read and written as they are named.
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
  std::optional<CsvStyle> csv;     // how the table looked; nothing: npy
  std::int64_t missing_count = 0;  // samples that are NaN

  [[nodiscard]] const FileFormat& format() const;

  /// The dimension that a signal runs along unless told otherwise: down the
  /// rows of a table, along the last dimension of an array.
  [[nodiscard]] int default_dim() const noexcept { return csv ? 0 : -1; }
};

/// Reads the bytes of the file `path`. Throws Failure; also for infinite samples.
[[nodiscard]] Signal decode_signal(std::span<const std::byte> bytes, const std::string& path);

/// The same from a file ("-": standard input).
[[nodiscard]] Signal load_signal(const std::string& path);

/// The bytes of a signal file. Throws Failure where the format cannot hold it.
[[nodiscard]] std::vector<std::byte> encode_signal(const Signal& signal, const FileFormat& format,
                                                   const std::string& output_path);

/// One weight a sample, in the samples' own order in memory: 0 where a sample
/// is missing, else what the file `weights_path` says, else 1. A file with one
/// dimension has one weight for each sample along `dim`; any other must
/// broadcast to the samples. Throws Failure.
[[nodiscard]] std::vector<double> sample_weights(const Signal& signal, int dim,
                                                 const std::string& weights_path);

}  // namespace tautstring::cli
