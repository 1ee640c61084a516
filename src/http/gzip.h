// gzip for answers.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace takt::internal {

// Compresses whole bodies, keeping zlib's 256 KB of working memory between them. Not for concurrent
// use.
class GzipWriter {
  public:
    GzipWriter();
    ~GzipWriter();
    GzipWriter(const GzipWriter&) = delete;
    GzipWriter& operator=(const GzipWriter&) = delete;

    std::string Compress(std::string_view text);

  private:
    struct Stream;
    std::unique_ptr<Stream> stream_;
};

// Whether text of this type gets smaller: images and archives do not.
bool IsCompressible(std::string_view content_type);

// Whether an Accept-Encoding value allows gzip (named or *, and not with q=0).
bool AcceptsGzip(std::string_view accept_encoding);

}  // namespace takt::internal
