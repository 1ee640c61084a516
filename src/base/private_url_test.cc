#include "base/private_url.h"

#include <gtest/gtest.h>

namespace takt::internal {
namespace {

// A provider of sign-ins is named in a file, and names its own endpoints.
TEST(PrivateUrl, IsHttpsOrOnThisMachine) {
    for (const char* url : {"https://id.example.com/realm", "http://localhost:8080",
                            "http://[::1]/", "http://127.0.0.1"}) {
        EXPECT_TRUE(IsPrivateUrl(url)) << url;
    }
    for (const char* url :
         {"http://id.example.com", "http://localhost.example.com", "http://127.0.0.11",
          "http://localhost:1@example.com/", "http://127.0.0.1:x", "ws://localhost", "https", ""}) {
        EXPECT_FALSE(IsPrivateUrl(url)) << url;
    }
}

}  // namespace
}  // namespace takt::internal
