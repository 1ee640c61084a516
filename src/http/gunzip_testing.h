// Reads back what GzipWriter and the console's build pack. For tests: the program itself never
// unpacks what others send by gzip.
#pragma once

#include <zlib.h>

#include <algorithm>
#include <string>
#include <string_view>

namespace takt::internal {

// Empty if `bytes` is not gzip or unpacks to more than 16 MiB.
inline std::string Gunzip(std::string_view bytes) {
    constexpr std::size_t kBytesMax = 16 << 20;
    z_stream z{};
    if (inflateInit2(&z, 15 + 16) != Z_OK) return {};
    std::string out;
    z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    z.avail_in = static_cast<uInt>(bytes.size());
    int state = Z_OK;
    while (state == Z_OK && out.size() < kBytesMax) {
        const std::size_t had = out.size();
        out.resize(std::max<std::size_t>(4096, had * 2));
        z.next_out = reinterpret_cast<Bytef*>(out.data() + had);
        z.avail_out = static_cast<uInt>(out.size() - had);
        state = inflate(&z, Z_NO_FLUSH);
        out.resize(out.size() - z.avail_out);
    }
    inflateEnd(&z);
    return state == Z_STREAM_END ? out : std::string();
}

}  // namespace takt::internal
