#include "store/embedded/options.h"

#include "base/url.h"
#include "store/url/parameters.h"

namespace takt::internal {
namespace {

constexpr std::size_t kReadersMax = 32;

}  // namespace

Result<EmbeddedOptions> ParseEmbeddedUrl(std::string_view url) {
    if (CutAt(url, ':') != "file") return BadStoreUrl("it must start with file:");
    std::string_view path = CutAt(url, '?');
    if (path.starts_with("//")) {
        path.remove_prefix(2);
        if (!path.starts_with('/')) {
            return BadStoreUrl(
                "a file: store is a directory of this machine, without a host; write "
                "file:./takt-data or file:/var/lib/takt");
        }
    }
    if (path.empty()) {
        return BadStoreUrl("the store's directory is missing; write file:./takt-data");
    }
    EmbeddedOptions options{.directory = std::string(path)};
    const std::vector<UrlParameter> table = {
        {"timeout", DurationTo{&options.read_deadline, Duration(100)}},
        {"pool", NumberTo{&options.readers, 1, kReadersMax}},
    };
    if (Result<void> read = ReadUrlParameters(url, table); !read) {
        return std::unexpected(read.error());
    }
    return options;
}

}  // namespace takt::internal
