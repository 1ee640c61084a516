// The implementation of power_vfs.h; a part of the tests, not of the library.
#include "store/embedded/power_vfs.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>
#include <random>
#include <utility>

#include "store/embedded/vfs_layer.h"

namespace takt::internal::embedded {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kSector = 512;

std::mutex steps_mutex;
std::vector<DiskStep> steps;

void Record(DiskStep step) {
    const std::lock_guard lock(steps_mutex);
    steps.push_back(std::move(step));
}

struct Named {
    std::string* name;  // Null for a file without one, which nobody finds after a power cut.
};
using PowerFile = LayeredFile<Named>;

// Records before the real file changes: a commit that is answered was recorded.
void RecordOf(sqlite3_file* file, DiskStep step) {
    if (!PowerFile::Of(file).layer.name) return;
    step.file = *PowerFile::Of(file).layer.name;
    Record(std::move(step));
}

int WriteRecorded(sqlite3_file* file, const void* bytes, int size, sqlite3_int64 offset) {
    RecordOf(file, {.kind = DiskStep::Kind::kWrite,
                    .offset = std::uint64_t(offset),
                    .bytes = std::string(static_cast<const char*>(bytes), std::size_t(size))});
    return PowerFile::Real(file)->pMethods->xWrite(PowerFile::Real(file), bytes, size, offset);
}

int TruncateRecorded(sqlite3_file* file, sqlite3_int64 size) {
    RecordOf(file, {.kind = DiskStep::Kind::kTruncate, .offset = std::uint64_t(size)});
    return PowerFile::Real(file)->pMethods->xTruncate(PowerFile::Real(file), size);
}

int SyncRecorded(sqlite3_file* file, int flags) {
    const int code = PowerFile::Real(file)->pMethods->xSync(PowerFile::Real(file), flags);
    if (code == SQLITE_OK) RecordOf(file, {.kind = DiskStep::Kind::kSync});
    return code;
}

int CloseRecorded(sqlite3_file* file) {
    const int code = PowerFile::Real(file)->pMethods->xClose(PowerFile::Real(file));
    delete std::exchange(PowerFile::Of(file).layer.name, nullptr);
    return code;
}

const sqlite3_io_methods kRecorded = [] {
    sqlite3_io_methods methods = PowerFile::PassAll();
    methods.xWrite = WriteRecorded;
    methods.xTruncate = TruncateRecorded;
    methods.xSync = SyncRecorded;
    methods.xClose = CloseRecorded;
    return methods;
}();

sqlite3_vfs* system_vfs = nullptr;

int OpenRecorded(sqlite3_vfs*, const char* name, sqlite3_file* file, int flags, int* flags_out) {
    file->pMethods = nullptr;
    PowerFile::Of(file).layer.name = nullptr;
    const int code = system_vfs->xOpen(system_vfs, name, PowerFile::Real(file), flags, flags_out);
    if (code != SQLITE_OK) return code;
    file->pMethods = &kRecorded;
    if (name) PowerFile::Of(file).layer.name = new std::string(fs::path(name).filename());
    return code;
}

int DeleteRecorded(sqlite3_vfs*, const char* name, int sync_directory) {
    const std::string file = fs::path(name).filename();
    Record({.kind = DiskStep::Kind::kDelete, .file = file});
    const int code = system_vfs->xDelete(system_vfs, name, sync_directory);
    if (code == SQLITE_OK && sync_directory) Record({.kind = DiskStep::Kind::kSync, .file = file});
    return code;
}

// One file while steps are gone through: what is safe, and what was done to it since.
struct Unsynced {
    std::optional<std::string> safe;
    std::vector<const DiskStep*> steps;
};

void WriteAt(std::string& content, std::size_t offset, std::string_view bytes) {
    if (content.size() < offset + bytes.size()) content.resize(offset + bytes.size());
    content.replace(offset, bytes.size(), bytes);
}

void Apply(const DiskStep& step, std::optional<std::string>& content) {
    if (step.kind == DiskStep::Kind::kDelete) return content.reset();
    if (!content) content.emplace();
    if (step.kind == DiskStep::Kind::kTruncate) return content->resize(step.offset);
    WriteAt(*content, step.offset, step.bytes);
}

// Of each sector of the write only some arrive.
void ApplyTorn(const DiskStep& step, std::optional<std::string>& content, std::mt19937_64& random) {
    if (step.kind != DiskStep::Kind::kWrite) return Apply(step, content);
    if (!content) content.emplace();
    for (std::size_t at = 0; at < step.bytes.size();) {
        const std::size_t end =
            std::min(step.bytes.size(), at + kSector - (step.offset + at) % kSector);
        if (random() % 2 == 0) {
            WriteAt(*content, step.offset + at, std::string_view(step.bytes).substr(at, end - at));
        }
        at = end;
    }
}

}  // namespace

const char* PowerVfs() {
    static sqlite3_vfs vfs = [] {
        system_vfs = sqlite3_vfs_find(nullptr);
        sqlite3_vfs copy = PowerFile::Over(*system_vfs, "takt-power");
        copy.xOpen = OpenRecorded;
        copy.xDelete = DeleteRecorded;
        return copy;
    }();
    static const int kRegistered = sqlite3_vfs_register(&vfs, 0);
    return kRegistered == SQLITE_OK ? vfs.zName : nullptr;
}

std::vector<DiskStep> TakeDiskSteps() {
    const std::lock_guard lock(steps_mutex);
    return std::exchange(steps, {});
}

void NoteOnDisk(std::uint64_t note) {
    Record({.kind = DiskStep::Kind::kNote, .note = note});
}

DiskFiles ReadDisk(const std::string& directory) {
    DiskFiles disk;
    for (const auto& entry : fs::directory_iterator(directory)) {
        std::ifstream file(entry.path(), std::ios::binary);
        disk[entry.path().filename()] = std::string(std::istreambuf_iterator<char>(file), {});
    }
    return disk;
}

void WriteDisk(const DiskFiles& disk, const std::string& directory) {
    fs::remove_all(directory);
    fs::create_directories(directory);
    fs::permissions(directory, fs::perms::owner_all);
    for (const auto& [name, content] : disk) {
        const fs::path path = fs::path(directory) / name;
        std::ofstream(path, std::ios::binary) << content;
        fs::permissions(path, fs::perms::owner_read | fs::perms::owner_write);
    }
}

DiskFiles AfterPowerCut(const DiskFiles& before, std::span<const DiskStep> done,
                        std::optional<std::uint64_t> seed) {
    std::map<std::string, Unsynced> files;
    for (const auto& [name, content] : before) files[name].safe = content;
    for (const DiskStep& step : done) {
        if (step.kind == DiskStep::Kind::kNote) continue;
        Unsynced& file = files[step.file];
        if (step.kind != DiskStep::Kind::kSync) {
            file.steps.push_back(&step);
            continue;
        }
        for (const DiskStep* pending : file.steps) Apply(*pending, file.safe);
        file.steps.clear();
    }
    std::mt19937_64 random(seed.value_or(0));
    DiskFiles disk;
    for (auto& [name, file] : files) {
        for (const DiskStep* pending : file.steps) {
            if (!seed) break;
            const auto fate = random() % 3;
            if (fate == 1) Apply(*pending, file.safe);
            if (fate == 2) ApplyTorn(*pending, file.safe, random);
        }
        if (file.safe) disk[name] = std::move(*file.safe);
    }
    return disk;
}

}  // namespace takt::internal::embedded
