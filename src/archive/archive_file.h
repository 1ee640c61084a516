// ArchiveFile: the rows of a store in one file, which any store can be made from again.
//
//   "takt archive 1\n", then blocks: length (4 bytes, little endian), CRC-32 (4), a zstd frame of
//   that length, which holds rows as proto/archive.proto has them.
//
// The first row says what it is of, the last one how many there are: a file without it was cut off.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "archive/row_target.h"
#include "base/time.h"

namespace takt::internal {

struct ArchiveHead {
    std::string id;
    std::string version;
    std::string store;
    Time at{};
};

class ArchiveWriter final : public RowTarget {
  public:
    // Writes to a file beside `path`, readable by its owner alone, that Finish gives this name.
    // kConflict if there is a file of that name.
    static Result<std::unique_ptr<ArchiveWriter>> Create(const std::string& path,
                                                         const ArchiveHead& head);
    ~ArchiveWriter() override;  // Without Finish nothing is left.

    Result<void> Begin(const PartitionHead& head) override;
    Result<void> Add(Change change) override;
    Result<void> End() override { return {}; }
    // It is whole, and on disk.
    Result<void> Finish() override;

    std::uint64_t bytes() const { return bytes_; }

  private:
    struct Pending;

    ArchiveWriter(std::string path, int file);
    Result<void> Flush();
    Result<void> Write(std::string_view bytes);

    const std::string path_;
    const std::string partial_path_;
    int file_;
    std::unique_ptr<Pending> pending_;
    std::uint64_t rows_ = 0;
    std::uint64_t bytes_ = 0;
};

// The file's word on itself. kInvalid if it is none of ours.
Result<ArchiveHead> ReadArchiveHead(const std::string& path);
// The partitions that are in it; reads and checks the whole file. kInvalid if it is damaged or was
// cut off.
Result<std::vector<PartitionHead>> CheckArchive(const std::string& path);
// Passes all of it on. REQUIRES: CheckArchive found no fault.
Result<void> ReadArchive(const std::string& path, RowTarget& target);

}  // namespace takt::internal
