// Pages: the executions of a range of serials in two values, because etcd's work is per key. One holds
// the rows of those that are not finished, the other the pointers of those that are. Each is there as
// long as it holds anything.
//
// A page is made by the commit that brings its executions, which are the newest of the partition. So no
// two pages overlap, and the one of a serial is the one with the highest first serial up to it. Its
// range stays as it is; what leaves it never comes back. An execution is in a page or has keys of its
// own (keys.Live, keys.History), never both: those do that came late, are large or part of a run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "store/etcd/keys.h"

namespace takt::internal::etcd {

struct PageRow {
    Serial serial = 0;
    std::string id;
    std::string value;  // Of EncodeRow, or of EncodePointer.
};

// One side of a page.
struct PageRows {
    Serial last = 0;            // Of the page's range.
    std::vector<PageRow> rows;  // By rising serial.
};

// How far the last serial of a page may be above its first: a quarter of a second. So few keys are
// between a serial and the beginning of its page.
constexpr Serial kPageSpan = Serial{250} << 22;

std::string EncodePage(Serial first, const PageRows& page);
Result<PageRows> DecodePage(Serial first, std::string_view bytes);

// Where to look for the page of a serial: the first key of it, if there is one.
KeyRange PageOf(const Keys& keys, Partition partition, PageSide side, Serial serial);

// A side that cannot be read is shown as one execution, with the page's first serial and this id: the
// first itself may be on the other side, or have a key of its own.
std::string UnreadablePageId(Serial first);
std::optional<Serial> ParseUnreadablePageId(std::string_view id);

const PageRow* FindRow(const std::vector<PageRow>& rows, Serial serial);

}  // namespace takt::internal::etcd
