// The format is that of https://www.sqlite.org/fileformat2.html, whose names are used.
#include "store/embedded/page_file.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <filesystem>

namespace takt::internal::embedded {
namespace {

constexpr std::size_t kHeaderBytes = 100;
// More than a row of ours ever has; a damaged one may claim anything, and lead in circles.
constexpr std::uint64_t kPayloadMax = 64ull << 20;

// Also more than a table of ours has: each byte of a header may claim a column.
constexpr std::size_t kColumnsMax = 100;

// First bytes of pages that have rows: of tables, and of indexes and tables without row ids.
constexpr std::uint8_t kTableLeaf = 0x0D;
constexpr std::uint8_t kIndexLeaf = 0x0A;
constexpr std::uint8_t kIndexInterior = 0x02;

std::uint64_t BigEndian(std::string_view bytes) {
    std::uint64_t value = 0;
    for (const char byte : bytes) value = value << 8 | static_cast<std::uint8_t>(byte);
    return value;
}

// Takes a number of one to nine bytes from the front; nothing if they are not all there.
std::optional<std::uint64_t> TakeVarint(std::string_view& bytes) {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < bytes.size() && i < 9; ++i) {
        const auto byte = static_cast<std::uint8_t>(bytes[i]);
        value = i == 8 ? value << 8 | byte : value << 7 | (byte & 0x7F);
        if (i < 8 && (byte & 0x80) != 0) continue;
        bytes.remove_prefix(i + 1);
        return value;
    }
    return std::nullopt;
}

// Bytes of the serial types 0 to 9; 10 and 11 are none that a file may have.
constexpr std::array<std::size_t, 10> kFixedBytes = {0, 1, 2, 3, 4, 6, 8, 8, 0, 0};
constexpr std::uint64_t kDouble = 7;
constexpr std::uint64_t kTextOrBlob = 12;

std::int64_t SignedOf(std::string_view bytes) {
    const std::size_t unused = 64 - 8 * bytes.size();
    return static_cast<std::int64_t>(BigEndian(bytes) << unused) >> unused;
}

// Takes a value of that serial type from the front of a record's body.
std::optional<FoundValue> TakeValue(std::uint64_t type, std::string_view& body) {
    if (type == 10 || type == 11) return std::nullopt;
    const std::uint64_t size = type < kTextOrBlob ? kFixedBytes[type] : (type - kTextOrBlob) / 2;
    if (size > body.size()) return std::nullopt;
    const std::string_view bytes = body.substr(0, size);
    body.remove_prefix(size);
    if (type == 0) return FoundValue();
    if (type == 8 || type == 9) return FoundValue(static_cast<std::int64_t>(type - 8));
    if (type == kDouble) return FoundValue(std::bit_cast<double>(BigEndian(bytes)));
    if (type < kTextOrBlob) return FoundValue(SignedOf(bytes));
    if (type % 2 == 1) return FoundValue(std::string(bytes));
    return FoundValue(FoundBlob{std::string(bytes)});
}

std::optional<std::vector<FoundValue>> ReadRecord(std::string_view record) {
    std::string_view header = record;
    const auto header_size = TakeVarint(header);
    const std::size_t length = record.size() - header.size();
    if (!header_size || *header_size < length || *header_size > record.size()) return std::nullopt;
    std::string_view body = record.substr(*header_size);
    header = header.substr(0, *header_size - length);
    std::vector<FoundValue> values;
    while (!header.empty()) {
        if (values.size() == kColumnsMax) return std::nullopt;
        const auto type = TakeVarint(header);
        auto value = type ? TakeValue(*type, body) : std::nullopt;
        if (!value) return std::nullopt;
        values.push_back(std::move(*value));
    }
    // A record is as long as its columns, to the byte.
    return body.empty() ? std::optional(std::move(values)) : std::nullopt;
}

}  // namespace

Result<PageFile> PageFile::Open(const std::string& path) {
    PageFile file;
    file.file_.open(path, std::ios::binary);
    std::string header(kHeaderBytes, '\0');
    std::error_code error;
    const std::uint64_t size = std::filesystem::file_size(path, error);
    if (error || !file.file_.read(header.data(), kHeaderBytes)) {
        return Fail(ErrorCode::kInvalid, "the header of " + path + " cannot be read");
    }
    const std::string_view view = header;
    const std::uint64_t told = BigEndian(view.substr(16, 2));
    file.page_size_ = told == 1 ? 65'536 : told;
    const auto reserved = static_cast<std::uint8_t>(header[20]);
    if (!view.starts_with("SQLite format 3") || file.page_size_ < 512 ||
        !std::has_single_bit(file.page_size_) || file.page_size_ - reserved < 480) {
        return Fail(ErrorCode::kInvalid, "the header of " + path + " is none of SQLite's");
    }
    file.usable_ = file.page_size_ - reserved;
    file.pages_ = size / file.page_size_;
    file.pages_told_ = BigEndian(view.substr(28, 4));
    return file;
}

bool PageFile::ReadPage(std::uint64_t number, std::string& page) {
    if (number == 0 || number > pages_) return false;
    page.resize(page_size_);
    file_.clear();
    file_.seekg(static_cast<std::streamoff>((number - 1) * page_size_));
    return static_cast<bool>(file_.read(page.data(), static_cast<std::streamsize>(page_size_)));
}

void PageFile::ForEachRow(const std::function<void(FoundRow)>& show) {
    std::string page;
    // The first page has the list of tables.
    for (std::uint64_t number = 2; number <= pages_; ++number) {
        if (!ReadPage(number, page)) continue;
        const auto kind = static_cast<std::uint8_t>(page[0]);
        if (kind != kTableLeaf && kind != kIndexLeaf && kind != kIndexInterior) continue;
        const std::string_view view = page;
        const std::size_t cells = BigEndian(view.substr(3, 2));
        const std::size_t first = kind == kIndexInterior ? 12 : 8;
        for (std::size_t i = 0; i < cells && first + 2 * i + 2 <= usable_; ++i) {
            auto row = ReadRow(view, BigEndian(view.substr(first + 2 * i, 2)), kind);
            if (row) show(std::move(*row));
        }
    }
}

std::optional<FoundRow> PageFile::ReadRow(std::string_view page, std::size_t at,
                                          std::uint8_t kind) {
    if (kind == kIndexInterior) at += 4;  // The page on the left.
    if (at >= usable_) return std::nullopt;
    std::string_view cell = page.substr(0, usable_).substr(at);
    const auto size = TakeVarint(cell);
    if (!size || *size == 0 || *size > kPayloadMax) return std::nullopt;
    FoundRow row;
    std::size_t local_max = (usable_ - 12) * 64 / 255 - 23;
    if (kind == kTableLeaf) {
        const auto rowid = TakeVarint(cell);
        if (!rowid) return std::nullopt;
        row.rowid = static_cast<std::int64_t>(*rowid);
        local_max = usable_ - 35;
    }
    const auto payload = ReadPayload(cell, *size, local_max);
    auto values = payload ? ReadRecord(*payload) : std::nullopt;
    if (!values) return std::nullopt;
    row.values = std::move(*values);
    return row;
}

std::optional<std::string> PageFile::ReadPayload(std::string_view cell, std::uint64_t size,
                                                 std::size_t local_max) {
    if (size <= local_max) {
        if (size > cell.size()) return std::nullopt;
        return std::string(cell.substr(0, size));
    }
    const std::size_t local_min = (usable_ - 12) * 32 / 255 - 23;
    const std::size_t fitting = local_min + (size - local_min) % (usable_ - 4);
    const std::size_t local = fitting <= local_max ? fitting : local_min;
    if (local + 4 > cell.size()) return std::nullopt;
    std::string payload(cell.substr(0, local));
    std::uint64_t next = BigEndian(cell.substr(local, 4));
    std::string page;
    while (payload.size() < size) {
        if (!ReadPage(next, page)) return std::nullopt;
        next = BigEndian(std::string_view(page).substr(0, 4));
        payload.append(page, 4, std::min<std::uint64_t>(usable_ - 4, size - payload.size()));
    }
    return payload;
}

}  // namespace takt::internal::embedded
