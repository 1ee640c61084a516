// PageFile: rows of a SQLite file read page by page, without its trees. A page that leads to others
// may be lost while they are whole: then no query finds their rows, and this does.
#pragma once

#include <cstdint>
#include <fstream>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/error.h"

namespace takt::internal::embedded {

struct FoundBlob {
    std::string bytes;
};
// A column as it is stored: nothing, a number, a text, bytes.
using FoundValue = std::variant<std::monostate, std::int64_t, double, std::string, FoundBlob>;

struct FoundRow {
    std::optional<std::int64_t> rowid;  // Nothing: of a table without row ids, or of an index.
    std::vector<FoundValue> values;
};

class PageFile {
  public:
    // kInvalid if the header cannot be read or is none of SQLite's.
    static Result<PageFile> Open(const std::string& path);

    std::uint64_t page_size() const { return page_size_; }
    // Pages that lie in the file whole, and those that its header tells of; equal but for one that was
    // cut off or one whose last commits are still in the log.
    std::uint64_t pages() const { return pages_; }
    std::uint64_t pages_told() const { return pages_told_; }

    // Shows each row of each page that has rows, in the order of pages. Rows that do not make sense, or
    // go on in pages that cannot be read, are left out. No transaction may be under way, and the log
    // must be in the file.
    void ForEachRow(const std::function<void(FoundRow)>& show);

  private:
    PageFile() = default;
    bool ReadPage(std::uint64_t number, std::string& page);
    std::optional<FoundRow> ReadRow(std::string_view page, std::size_t at, std::uint8_t kind);
    // All of a payload of so many bytes whose first ones are `cell`; nothing if some are lost.
    std::optional<std::string> ReadPayload(std::string_view cell, std::uint64_t size,
                                           std::size_t local_max);

    std::ifstream file_;
    std::uint64_t page_size_ = 0;
    std::size_t usable_ = 0;  // Of a page; the rest is reserved.
    std::uint64_t pages_ = 0;
    std::uint64_t pages_told_ = 0;
};

}  // namespace takt::internal::embedded
