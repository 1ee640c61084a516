// A file system for SQLite that remembers what was written and what was synced, so that a test can make
// the disk that a power cut would have left behind at any of these moments.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace takt::internal::embedded {

// The name to give to EmbeddedOptions::vfs. Registered at the first call. Files behave as on the real
// file system; what happens to them is recorded.
const char* PowerVfs();

struct DiskStep {
    enum class Kind : std::uint8_t { kWrite, kTruncate, kDelete, kSync, kNote };
    Kind kind = Kind::kNote;
    std::string file;          // Its name without the folder.
    std::uint64_t offset = 0;  // Of a write; the new size of a truncation.
    std::string bytes;
    std::uint64_t note = 0;
};

// Begins to record, and returns what was recorded so far.
std::vector<DiskStep> TakeDiskSteps();
// Records that something happened just now, say that a commit was answered.
void NoteOnDisk(std::uint64_t note);

// The content of each file by its name.
using DiskFiles = std::map<std::string, std::string>;
DiskFiles ReadDisk(const std::string& directory);
void WriteDisk(const DiskFiles& disk, const std::string& directory);

// The disk that was `before`, when the power goes after `steps`: all that was synced is there. Of the
// rest nothing is or, with a seed, some: writes are kept or lost one by one, each whole or torn between
// sectors of 512 bytes.
DiskFiles AfterPowerCut(const DiskFiles& before, std::span<const DiskStep> steps,
                        std::optional<std::uint64_t> seed = {});

}  // namespace takt::internal::embedded
