#include "worker/grpc/configured.h"

#include <gtest/gtest.h>

namespace takt::internal {
namespace {

// `takt worker` with worker.executors, or --http and --grpc.
TEST(ConfiguredHandlerTest, AHandlerIsMadeFromWhatTheConfigurationSays) {
    auto http =
        MakeConfiguredHandler({{"type", "t"}, {"protocol", "http"}, {"url", "http://a/run"}});
    ASSERT_TRUE(http) << http.error().detail;
    EXPECT_EQ((*http)->Type(), "t");
    EXPECT_EQ((*http)->Protocol(), "http");
    auto grpc = MakeConfiguredHandler(
        {{"type", "*"}, {"protocol", "grpc"}, {"url", "a:1"}, {"timeout", "1m"}});
    ASSERT_TRUE(grpc) << grpc.error().detail;
    EXPECT_EQ((*grpc)->Protocol(), "grpc");

    const auto field = [](HandlerFields more) {
        HandlerFields fields{{"type", "t"}, {"protocol", "http"}, {"url", "https://a/run"}};
        for (auto& [name, value] : more) fields[name] = value;
        const auto made = MakeConfiguredHandler(fields);
        return made ? "" : made.error().field;
    };
    EXPECT_EQ(field({}), "");
    EXPECT_EQ(field({{"token", "secret"}}), "");
    EXPECT_EQ(field({{"token", "secret"}, {"url", "http://a/run"}}), "token");
    EXPECT_EQ(field({{"token", "secret"}, {"protocol", "grpc"}, {"url", "a:1"}}), "token");
    EXPECT_EQ(field({{"protocol", "grpc"}, {"url", "a"}}), "url");
    EXPECT_EQ(field({{"protocol", "ftp"}}), "protocol");
    EXPECT_EQ(field({{"protocol", ""}}), "protocol");
    EXPECT_EQ(field({{"type", ""}}), "type");
    EXPECT_EQ(field({{"url", ""}}), "url");
    EXPECT_EQ(field({{"url", "billing"}}), "url");
    EXPECT_EQ(field({{"timeout", "soon"}}), "timeout");
    EXPECT_EQ(field({{"tls", "true"}}), "tls");
    EXPECT_EQ(field({{"headers", "x"}}), "headers");

    // A refusal begins with the name of the field as it was written: "worker.executors[0].url …".
    const auto words = [](HandlerFields more) {
        HandlerFields fields{{"type", "t"}, {"protocol", "http"}, {"url", "https://a/run"}};
        for (auto& [name, value] : more) fields[name] = value;
        return MakeConfiguredHandler(fields).error().detail;
    };
    EXPECT_EQ(words({{"url", "billing"}}), "url must start with http:// or https://");
    EXPECT_TRUE(words({{"ca_file", "/none"}}).starts_with("ca_file: CA file /none"));
    EXPECT_EQ(words({{"protocol", "grpc"}, {"url", "a:1"}, {"tls", "true"}, {"ca_file", "/none"}}),
              "ca_file: cannot read /none");
}

}  // namespace
}  // namespace takt::internal
