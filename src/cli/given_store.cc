#include "cli/given_store.h"

#include <filesystem>
#include <iostream>

#include "store/open.h"

namespace takt::internal::cli {

Result<std::string> GivenUrl(std::string url) {
    if (url == "-") std::getline(std::cin, url);
    if (url.empty()) {
        return Fail(ErrorCode::kInvalid,
                    "which store? give its URL, as in takt store stats file:./takt-data");
    }
    if (url.starts_with("memory:")) {
        return Fail(ErrorCode::kInvalid, "memory: holds nothing beyond its process");
    }
    return url;
}

Result<std::unique_ptr<Store>> OpenGiven(const std::string& given) {
    const auto url = GivenUrl(given);
    if (!url) return std::unexpected(url.error());
    return OpenStore(*url);
}

Result<std::string> ExistingUrl(const std::string& given) {
    auto url = GivenUrl(given);
    constexpr std::string_view kFile = "file:";
    if (!url || !url->starts_with(kFile)) return url;
    const std::string folder = url->substr(kFile.size(), url->find('?') - kFile.size());
    std::error_code unreadable;
    if (std::filesystem::exists(folder + "/takt.db", unreadable) || unreadable) return url;
    return Fail(ErrorCode::kNotFound, "there is no store in " + folder);
}

Result<std::unique_ptr<Store>> OpenExisting(const std::string& given) {
    const auto url = ExistingUrl(given);
    if (!url) return std::unexpected(url.error());
    return OpenStore(*url);
}

}  // namespace takt::internal::cli
