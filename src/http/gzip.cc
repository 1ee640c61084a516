#include "http/gzip.h"

#include <zlib.h>

#include <algorithm>

#include "base/check.h"
#include "http/message.h"

namespace takt::internal {
namespace {

constexpr int kGzipWindow = 15 + 16;  // 32 KB window, gzip wrapper.
// Level 2 packs JSON to about a sixth at 200 MB/s; higher levels cost the loop more than the
// network gains.
constexpr int kLevel = 2;

Bytef* Bytes(std::string_view text) {
    return reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
}

}  // namespace

struct GzipWriter::Stream {
    z_stream z{};
};

GzipWriter::GzipWriter() : stream_(std::make_unique<Stream>()) {
    TAKT_CHECK(deflateInit2(&stream_->z, kLevel, Z_DEFLATED, kGzipWindow, 8, Z_DEFAULT_STRATEGY) ==
               Z_OK);
}

GzipWriter::~GzipWriter() {
    deflateEnd(&stream_->z);
}

std::string GzipWriter::Compress(std::string_view text) {
    z_stream& z = stream_->z;
    TAKT_CHECK(deflateReset(&z) == Z_OK);
    std::string out(deflateBound(&z, text.size()), '\0');
    z.next_in = Bytes(text);
    z.avail_in = static_cast<uInt>(text.size());
    z.next_out = Bytes(out);
    z.avail_out = static_cast<uInt>(out.size());
    TAKT_CHECK(deflate(&z, Z_FINISH) == Z_STREAM_END);  // deflateBound makes one call enough.
    out.resize(out.size() - z.avail_out);
    return out;
}

bool IsCompressible(std::string_view content_type) {
    const std::string_view type = content_type.substr(0, content_type.find(';'));
    if (type.starts_with("text/")) return true;
    for (const std::string_view end : {"json", "javascript", "xml", "yaml", "wasm"}) {
        if (type.ends_with(end)) return true;
    }
    return false;
}

bool AcceptsGzip(std::string_view list) {
    while (!list.empty()) {
        const std::string_view item = list.substr(0, list.find(','));
        list.remove_prefix(std::min(list.size(), item.size() + 1));
        if (!ListHasToken(item, "gzip") && !ListHasToken(item, "*")) continue;
        const std::size_t quality = item.find("q=");
        if (quality == std::string_view::npos) return true;
        return item.find_first_of("123456789", quality) != std::string_view::npos;
    }
    return false;
}

}  // namespace takt::internal
