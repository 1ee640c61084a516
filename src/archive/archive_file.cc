#include "archive/archive_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <boost/crc.hpp>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <utility>

#include "archive/archive_rows.h"
#include "wire/zstd.h"

namespace takt::internal {
namespace {

constexpr std::string_view kMagic = "takt archive 1\n";
constexpr std::size_t kBlockBytes = 1u << 20;
// A block ends with the row by which it is full; no row is near this.
constexpr std::size_t kBlockBytesMax = 256u << 20;

std::uint32_t Checksum(std::string_view bytes) {
    boost::crc_32_type crc;
    crc.process_bytes(bytes.data(), bytes.size());
    return crc.checksum();
}

void AppendNumber(std::string& out, std::uint32_t number) {
    for (int shift = 0; shift < 32; shift += 8) out.push_back(static_cast<char>(number >> shift));
}
std::uint32_t NumberAt(const char* bytes) {
    std::uint32_t number = 0;
    for (int i = 3; i >= 0; --i) number = number << 8 | static_cast<unsigned char>(bytes[i]);
    return number;
}

std::unexpected<Error> BySystem(const std::string& what, const std::string& path) {
    return Fail(ErrorCode::kUnavailable, what + " " + path + ": " + std::strerror(errno));
}

// Of one writer alone, and empty: one that a killed backup left is written over.
Result<int> OpenPartial(const std::string& partial) {
    const int file = ::open(partial.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0) return BySystem("cannot write", partial);
    struct stat opened{};
    struct stat named{};
    // Another backup may have it, or have given it its name since it was opened.
    const bool held = ::flock(file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    const bool ours = ::fstat(file, &opened) == 0 && ::stat(partial.c_str(), &named) == 0 &&
                      opened.st_ino == named.st_ino && opened.st_dev == named.st_dev;
    if (held || !ours) {
        ::close(file);
        return Fail(ErrorCode::kConflict, "another backup writes " + partial + "; let it end");
    }
    if (::ftruncate(file, 0) == 0) return file;
    const auto failed = BySystem("cannot write", partial);
    ::close(file);
    return failed;
}

}  // namespace

struct ArchiveWriter::Pending {
    archive::Block block;
    std::size_t bytes = 0;
};

ArchiveWriter::ArchiveWriter(std::string path, int file)
    : path_(std::move(path)),
      partial_path_(path_ + ".partial"),
      file_(file),
      pending_(std::make_unique<Pending>()) {}

ArchiveWriter::~ArchiveWriter() {
    if (file_ < 0) return;
    ::close(file_);
    ::unlink(partial_path_.c_str());
}

Result<std::unique_ptr<ArchiveWriter>> ArchiveWriter::Create(const std::string& path,
                                                             const ArchiveHead& head) {
    if (std::filesystem::exists(path)) {
        return Fail(ErrorCode::kConflict, path + " is there already; give another name");
    }
    const auto file = OpenPartial(path + ".partial");
    if (!file) return std::unexpected(file.error());
    std::unique_ptr<ArchiveWriter> writer(new ArchiveWriter(path, *file));
    if (auto written = writer->Write(kMagic); !written) return std::unexpected(written.error());
    archive::Head& row = *writer->pending_->block.add_rows()->mutable_head();
    row.set_id(head.id);
    row.set_version(head.version);
    row.set_store(head.store);
    row.set_at_ms(head.at.time_since_epoch().count());
    return writer;
}

Result<void> ArchiveWriter::Begin(const PartitionHead& head) {
    archive::PartitionHead& row = *pending_->block.add_rows()->mutable_partition();
    row.set_partition(head.partition);
    row.set_last_serial(head.last_serial);
    row.set_epoch(head.epoch);
    return {};
}

Result<void> ArchiveWriter::Add(Change change) {
    EncodeRow(change, *pending_->block.add_rows());
    pending_->bytes += SizeOf(change);
    ++rows_;
    return pending_->bytes >= kBlockBytes ? Flush() : Result<void>();
}

Result<void> ArchiveWriter::Finish() {
    pending_->block.add_rows()->mutable_end()->set_rows(rows_);
    if (auto flushed = Flush(); !flushed) return flushed;
    if (::fsync(file_) != 0) return BySystem("cannot sync", partial_path_);
    if (::rename(partial_path_.c_str(), path_.c_str()) != 0) return BySystem("cannot name", path_);
    // Not before: another writer would take it for one that was left. All of it is on disk by now.
    ::close(std::exchange(file_, -1));
    return {};
}

Result<void> ArchiveWriter::Flush() {
    const std::string plain = pending_->block.SerializeAsString();
    *pending_ = {};
    std::string packed;
    AppendZstd(packed, plain);
    std::string head;
    AppendNumber(head, static_cast<std::uint32_t>(packed.size()));
    AppendNumber(head, Checksum(packed));
    if (auto written = Write(head); !written) return written;
    return Write(packed);
}

Result<void> ArchiveWriter::Write(std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t written = ::write(file_, bytes.data(), bytes.size());
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return BySystem("cannot write", partial_path_);
        bytes.remove_prefix(static_cast<std::size_t>(written));
        bytes_ += static_cast<std::uint64_t>(written);
    }
    return {};
}

namespace {

class ArchiveReader {
  public:
    static Result<ArchiveReader> Open(const std::string& path) {
        ArchiveReader reader(path);
        if (!reader.file_) return BySystem("cannot read", path);
        std::string magic(kMagic.size(), '\0');
        reader.file_.read(magic.data(), static_cast<std::streamsize>(magic.size()));
        if (magic != kMagic) {
            return Fail(ErrorCode::kInvalid, path + " is no backup that this version can read");
        }
        return reader;
    }

    // The next block; nothing at the end of the file.
    Result<std::optional<archive::Block>> Next() {
        std::array<char, 8> head{};
        file_.read(head.data(), head.size());
        if (file_.gcount() == 0) return std::nullopt;
        if (file_.gcount() != static_cast<std::streamsize>(head.size())) return Damaged("cut off");
        std::string packed(NumberAt(head.data()), '\0');
        if (packed.size() > kBlockBytesMax) return Damaged("damaged");
        file_.read(packed.data(), static_cast<std::streamsize>(packed.size()));
        if (file_.gcount() != static_cast<std::streamsize>(packed.size()))
            return Damaged("cut off");
        if (Checksum(packed) != NumberAt(head.data() + 4)) return Damaged("damaged");
        const auto plain = Unzstd(packed, kBlockBytesMax);
        archive::Block block;
        if (!plain || !block.ParseFromString(*plain)) return Damaged("damaged");
        ++blocks_;
        return block;
    }

    std::unexpected<Error> Damaged(const std::string& how) const {
        return Fail(ErrorCode::kInvalid,
                    path_ + " is " + how + " in block " + std::to_string(blocks_ + 1));
    }

  private:
    explicit ArchiveReader(std::string path)
        : path_(std::move(path)), file_(path_, std::ios::binary) {}

    std::string path_;
    std::ifstream file_;
    std::uint64_t blocks_ = 0;
};

// Calls `visit` with each row of the file.
Result<void> EachRow(const std::string& path,
                     const std::function<Result<void>(const archive::Row&)>& visit) {
    auto reader = ArchiveReader::Open(path);
    if (!reader) return std::unexpected(reader.error());
    while (true) {
        const auto block = reader->Next();
        if (!block) return std::unexpected(block.error());
        if (!*block) return {};
        for (const archive::Row& row : (*block)->rows()) {
            auto visited = visit(row);
            if (visited) continue;
            if (visited.error().code != ErrorCode::kInvalid) return visited;
            return Fail(ErrorCode::kInvalid, path + ": " + visited.error().detail);
        }
    }
}

PartitionHead HeadOf(const archive::PartitionHead& row) {
    return {static_cast<Partition>(row.partition()), row.last_serial(), row.epoch()};
}

bool IsStoreRow(const archive::Row& row) {
    const auto kind = row.row_case();
    return kind != archive::Row::kHead && kind != archive::Row::kPartition &&
           kind != archive::Row::kEnd;
}

}  // namespace

Result<ArchiveHead> ReadArchiveHead(const std::string& path) {
    auto reader = ArchiveReader::Open(path);
    if (!reader) return std::unexpected(reader.error());
    const auto block = reader->Next();
    if (!block) return std::unexpected(block.error());
    if (!*block || (*block)->rows().empty() || !(*block)->rows(0).has_head()) {
        return reader->Damaged("damaged");
    }
    const archive::Head& head = (*block)->rows(0).head();
    return ArchiveHead{head.id(), head.version(), head.store(), Time(Duration(head.at_ms()))};
}

Result<std::vector<PartitionHead>> CheckArchive(const std::string& path) {
    std::vector<PartitionHead> heads;
    std::uint64_t rows = 0;
    bool whole = false;
    const auto read = EachRow(path, [&](const archive::Row& row) -> Result<void> {
        if (row.has_partition()) {
            heads.push_back(HeadOf(row.partition()));
        } else if (row.has_end()) {
            whole = row.end().rows() == rows;
        } else if (IsStoreRow(row)) {
            ++rows;
            if (auto change = DecodeRow(row); !change) return std::unexpected(change.error());
        }
        return {};
    });
    if (!read) return std::unexpected(read.error());
    if (!whole) return Fail(ErrorCode::kInvalid, path + " is cut off: its end is missing");
    return heads;
}

Result<void> ReadArchive(const std::string& path, RowTarget& target) {
    bool begun = false;
    return EachRow(path, [&](const archive::Row& row) -> Result<void> {
        if (IsStoreRow(row)) {
            auto change = DecodeRow(row);
            if (!change) return std::unexpected(change.error());
            return target.Add(std::move(*change));
        }
        if (row.has_head()) return {};
        if (begun) {
            if (auto ended = target.End(); !ended) return ended;
        }
        begun = row.has_partition();
        return begun ? target.Begin(HeadOf(row.partition())) : target.Finish();
    });
}

}  // namespace takt::internal
