#include "wire/zstd.h"

#include <zstd.h>

#include <memory>

#include "base/check.h"

namespace takt::internal {
namespace {

// The fastest of the ordinary levels: compression runs on the thread that dispatches.
constexpr int kLevel = 1;

struct ContextDelete {
    void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
    void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};

}  // namespace

void AppendZstd(std::string& out, std::string_view text) {
    thread_local const std::unique_ptr<ZSTD_CCtx, ContextDelete> context(ZSTD_createCCtx());
    TAKT_CHECK(context);
    const std::size_t before = out.size();
    out.resize(before + ZSTD_compressBound(text.size()));
    const std::size_t written = ZSTD_compressCCtx(
        context.get(), out.data() + before, out.size() - before, text.data(), text.size(), kLevel);
    TAKT_CHECK(!ZSTD_isError(written));
    out.resize(before + written);
}

Result<std::string> Unzstd(std::string_view bytes, std::size_t bytes_max) {
    const unsigned long long size = ZSTD_getFrameContentSize(bytes.data(), bytes.size());
    if (size == ZSTD_CONTENTSIZE_ERROR || size == ZSTD_CONTENTSIZE_UNKNOWN) {
        return Fail(ErrorCode::kInvalid, "not a zstd frame that tells its length");
    }
    if (size > bytes_max) {
        return Fail(ErrorCode::kExhausted, "unpacks to " + std::to_string(size) +
                                               " bytes, which is more than the limit of " +
                                               std::to_string(bytes_max));
    }
    thread_local const std::unique_ptr<ZSTD_DCtx, ContextDelete> context(ZSTD_createDCtx());
    TAKT_CHECK(context);
    std::string text(size, '\0');
    const std::size_t written =
        ZSTD_decompressDCtx(context.get(), text.data(), text.size(), bytes.data(), bytes.size());
    if (ZSTD_isError(written) || written != size) {
        return Fail(ErrorCode::kInvalid, "a broken zstd frame");
    }
    return text;
}

}  // namespace takt::internal
