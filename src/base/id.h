// Ids: what callers name things by, each kind a type of its own.
//
// An id is 1 to 64 characters of A-Z a-z 0-9 . _ ~ - and starts with a letter or digit. So it can
// stand in a URL, a Redis key, an etcd path and a file name without escaping.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "base/time.h"

namespace takt::internal {

constexpr std::size_t kIdBytesMax = 64;

bool IsValidId(std::string_view text);

template <typename Kind>
class Id {
  public:
    Id() = default;
    explicit Id(Text text) : text_(std::move(text)) {}

    // kInvalid, naming `field`, unless `text` is a valid id.
    static Result<Id> Parse(std::string_view text, std::string_view field) {
        if (!IsValidId(text)) return InvalidId(field);
        return Id(Text(text));
    }

    const Text& text() const { return text_; }
    std::string_view view() const { return text_.view(); }
    bool empty() const { return text_.empty(); }

    friend bool operator==(const Id&, const Id&) = default;
    friend auto operator<=>(const Id& a, const Id& b) { return a.text_ <=> b.text_; }

  private:
    static std::unexpected<Error> InvalidId(std::string_view field) {
        return Fail(ErrorCode::kInvalid,
                    std::string(field) +
                        " must be 1 to 64 characters of A-Z a-z 0-9 . _ ~ - and start with a "
                        "letter or digit",
                    std::string(field));
    }

    Text text_;
};

using TaskId = Id<struct TaskKind>;
using ExecutionId = Id<struct ExecutionKind>;
using WorkerId = Id<struct WorkerKind>;
using NodeId = Id<struct NodeKind>;

// The unit of leadership and of isolation: the number of a namespace.
using Partition = std::uint8_t;
// That of the namespace `default`, which is always there and keeps what belongs to the whole
// cluster: the directory of namespaces, access tokens.
constexpr Partition kDefaultPartition = 0;

// A time-ordered number, unique in a store, that each execution and event gets when it is made:
// 41 bits of milliseconds since 2024, 8 bits of partition, 14 bits of counter. Lists are in its
// order, cursors are its value, and a range of time is a range of serials. Fits a signed 64-bit
// column.
using Serial = std::uint64_t;

// The smallest serial of a moment; times before 2024 give 0, times after 2093 that of the last one.
Serial SerialAt(Time time);
Time TimeOf(Serial serial);

// Hands out serials that always rise, also across leaders and backward clocks. A clock beyond 2092
// is not followed: serials would use up their bits and never come back from there.
class SerialSource {
  public:
    // Everything handed out will be above `last`.
    SerialSource(Partition partition, Serial last) : partition_(partition), last_(last) {}
    Serial Next(Time now);
    Serial last() const { return last_; }

  private:
    Partition partition_;
    Serial last_;
};

// 13 characters of Crockford's base 32, lower case: a generated id, in the order of its serial.
std::string SerialText(Serial serial);

// The serial that is spelled so; nothing if it is no serial's spelling.
std::optional<Serial> ParseSerial(std::string_view text);

}  // namespace takt::internal
