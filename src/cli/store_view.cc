#include "cli/store_view.h"

#include <unistd.h>

#include <cstdio>

#include "cli/output.h"
#include "cli/room_forecast.h"

namespace takt::internal::cli {

ProgressLine::ProgressLine(const char* doing) : doing_(doing), shown_(isatty(STDERR_FILENO) != 0) {}

ProgressLine::~ProgressLine() {
    if (shown_ && written_) std::fputs("\r\033[K", stderr);
}

TransferProgress ProgressLine::Show() {
    return [this](const Tally& rows) {
        if (!shown_) return;
        const Tally::Part sum = rows.sum();
        std::fprintf(stderr, "\r%s: %llu rows, %s\033[K", doing_,
                     static_cast<unsigned long long>(sum.rows), BytesText(sum.bytes).c_str());
        written_ = true;
    };
}

void WriteTally(JsonWriter& json, const Tally& rows) {
    json.BeginObject();
    for (std::size_t i = 0; i < kRowKindCount; ++i) {
        const auto kind = static_cast<RowKind>(i);
        json.Key(Name(kind)).BeginObject();
        json.Field("rows", rows.of(kind).rows).Field("bytes", rows.of(kind).bytes);
        json.EndObject();
    }
    json.EndObject();
}

void PrintTally(const Tally& rows) {
    Table table({"KIND", "ROWS", "SIZE"});
    for (std::size_t i = 0; i < kRowKindCount; ++i) {
        const auto kind = static_cast<RowKind>(i);
        table.Add({std::string(Name(kind)), std::to_string(rows.of(kind).rows),
                   BytesText(rows.of(kind).bytes)});
    }
    table.Print();
}

}  // namespace takt::internal::cli
