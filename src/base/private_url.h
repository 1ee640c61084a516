// Whether what is sent to a URL stays between the two ends.
#pragma once

#include <string_view>

namespace takt::internal {

// https, or http to this machine. False of what is no URL.
bool IsPrivateUrl(std::string_view url);

}  // namespace takt::internal
