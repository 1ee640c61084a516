#include "links/service_policy.h"

#include <gtest/gtest.h>

#include <vector>

namespace takt::internal {
namespace {

struct UrlCase {
    const char* url;
    bool in_development;  // Listening on loopback, nothing allowed.
    bool in_production;   // Listening elsewhere; one name and one range allowed.
};

// A stranger who registers an executor chooses what the scheduler calls.
TEST(ServicePolicy, RefusesWhatAnOperatorDidNotAllow) {
    const auto development = *ServicePolicy::Make({}, true);
    const auto production = *ServicePolicy::Make({"executor.internal", "10.1.0.0/16"}, false);
    for (const UrlCase& c : std::vector<UrlCase>{
             {"http://localhost:9090", true, true},  // Resolved and checked when it is called.
             {"http://127.0.0.1:9090", true, false},
             {"http://[::1]:9090", true, false},
             {"http://[::ffff:127.0.0.1]:9090", true, false},
             {"http://10.1.2.3", false, true},
             {"https://10.1.2.3/base", false, true},
             {"http://10.2.2.3", false, false},
             {"http://executor.internal:8000", false, true},
             {"http://EXECUTOR.internal:8000", false, true},
             {"http://169.254.169.254/latest/meta-data", false, false},
             {"http://0.0.0.0:9090", false, false},
             {"http://0x7f.1", false, false},
             {"http://2130706433", false, false},
             {"http://user:secret@127.0.0.1", false, false},
             {"ftp://127.0.0.1", false, false},
             {"ws://127.0.0.1", false, false},
             {"file:///etc/passwd", false, false},
             {"127.0.0.1:9090", false, false},
             {"http://", false, false},
             {"http://127.0.0.1:9090\r\nX: y", false, false},
         }) {
        EXPECT_EQ(development.Check(c.url, "base_url").has_value(), c.in_development) << c.url;
        EXPECT_EQ(production.Check(c.url, "base_url").has_value(), c.in_production) << c.url;
    }
    EXPECT_EQ(production.Check("ftp://x", "base_url").error().field, "base_url");
}

// A name that is allowed is pointed at the cloud's credentials, or at this machine.
TEST(ServicePolicy, ANameThatResolvesToAGuardedAddressIsRefused) {
    const auto policy = *ServicePolicy::Make({"executor.internal", "0.0.0.0/0"}, false);
    const auto allows = [&](const char* address) {
        return policy.Allows("executor.internal", *ParseIpAddress(address));
    };
    EXPECT_TRUE(allows("10.0.0.7"));
    EXPECT_TRUE(allows("8.8.8.8"));
    EXPECT_FALSE(allows("127.0.0.1"));
    EXPECT_FALSE(allows("::1"));
    EXPECT_FALSE(allows("169.254.169.254"));
    EXPECT_FALSE(allows("0.0.0.0"));
    EXPECT_TRUE((*ServicePolicy::Make({"127.0.0.0/8"}, false))
                    .Allows("anything", *ParseIpAddress("127.0.0.1")));
}

// A misspelt range must not silently allow nothing, or everything.
TEST(ServicePolicy, AnEntryThatIsNothingIsRefusedAtTheStart) {
    for (const char* entry : {"10.0.0.0/33", "10.0.0.0/", "http://host", "host:80", "a b", "",
                              "10.0.0.0/-1", "::/129", "host/8"}) {
        EXPECT_FALSE(ServicePolicy::Make({entry}, true)) << entry;
    }
}

}  // namespace
}  // namespace takt::internal
