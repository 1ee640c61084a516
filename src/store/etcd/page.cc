#include "store/etcd/page.h"

#include <algorithm>

#include "etcd_record.pb.h"
#include "store/etcd/pack.h"

namespace takt::internal::etcd {
namespace {

constexpr std::string_view kUnreadable = "page-";

std::unexpected<Error> NotAPage() {
    return Fail(ErrorCode::kInvalid, "the stored bytes are not a page of executions");
}

}  // namespace

std::string EncodePage(Serial first, const PageRows& page) {
    std::vector<std::string> texts;
    texts.reserve(page.rows.size() + 1);
    record::PageRow to;
    to.set_above(page.last - first);
    texts.push_back(to.SerializeAsString());
    for (const PageRow& row : page.rows) {
        to.set_above(row.serial - first);
        to.set_id(row.id == SerialText(row.serial) ? std::string() : row.id);
        to.set_value(row.value);
        texts.push_back(to.SerializeAsString());
    }
    return EncodePack(texts);
}

Result<PageRows> DecodePage(Serial first, std::string_view bytes) {
    Result<std::vector<std::string>> texts = DecodePack(bytes);
    if (!texts || texts->empty()) return NotAPage();
    PageRows page;
    record::PageRow from;
    for (std::size_t i = 0; i < texts->size(); ++i) {
        if (!from.ParseFromString((*texts)[i]) || from.above() > kPageSpan) return NotAPage();
        const Serial serial = first + from.above();
        if (i == 0) {
            page.last = serial;
            continue;
        }
        const bool rises = page.rows.empty() || page.rows.back().serial < serial;
        if (!rises || serial > page.last) return NotAPage();
        page.rows.push_back({serial, from.id().empty() ? SerialText(serial) : from.id(),
                             std::move(*from.mutable_value())});
    }
    return page;
}

KeyRange PageOf(const Keys& keys, Partition partition, PageSide side, Serial serial) {
    return keys.Pages(partition, side, serial - std::min(serial, kPageSpan), serial + 1);
}

std::string UnreadablePageId(Serial first) {
    return std::string(kUnreadable) + SerialText(first);
}

std::optional<Serial> ParseUnreadablePageId(std::string_view id) {
    if (!id.starts_with(kUnreadable)) return std::nullopt;
    return ParseSerialText(id.substr(kUnreadable.size()));
}

const PageRow* FindRow(const std::vector<PageRow>& rows, Serial serial) {
    const auto row = std::ranges::lower_bound(rows, serial, {}, &PageRow::serial);
    return row != rows.end() && row->serial == serial ? &*row : nullptr;
}

}  // namespace takt::internal::etcd
