#include "store/url/parameters.h"

#include <gtest/gtest.h>

namespace takt::internal {
namespace {

struct Values {
    Duration timeout{5'000};
    std::uint64_t pool = 4;
    bool publish = true;
    std::string prefix;
    StoreTls tls;

    Result<void> Read(std::string_view query) {
        std::vector<UrlParameter> table = {
            {"timeout", DurationTo{&timeout, Duration(100), Duration(60'000)}},
            {"pool", NumberTo{&pool, 1, 32}},
            {"publish", SwitchTo{&publish}},
            {"prefix", TextTo{&prefix}}};
        AddTlsParameters(tls, table);
        if (Result<void> read = ReadUrlParameters(query, table); !read) return read;
        return SettleTls(tls);
    }
    std::string WhyNot(std::string_view query) {
        const Result<void> read = Read(query);
        if (read) return "it was read";
        EXPECT_EQ(read.error().code, ErrorCode::kInvalid);
        EXPECT_EQ(read.error().field, "store");
        return read.error().detail;
    }
};

// One operator runs MySQL and Redis, and writes the timeout as the other store's page shows it.
TEST(StoreUrlParameters, ADurationHasAUnitOrIsInSeconds) {
    for (const char* query : {"timeout=3s", "timeout=3", "timeout=3000ms"}) {
        Values values;
        ASSERT_TRUE(values.Read(query)) << query;
        EXPECT_EQ(values.timeout, Duration(3'000)) << query;
    }
    for (const char* query : {"timeout=", "timeout=-1", "timeout=0s", "timeout=2m", "timeout=x"}) {
        EXPECT_EQ(Values().WhyNot(query),
                  "the store's URL: timeout must be a duration from 100ms to 1m, such as 5s")
            << query;
    }
}

TEST(StoreUrlParameters, EveryKindOfValueIsReadAndChecked) {
    Values values;
    ASSERT_TRUE(values.Read("pool=7&publish=0&prefix=a%2Fb"));
    EXPECT_EQ(values.pool, 7u);
    EXPECT_FALSE(values.publish);
    EXPECT_EQ(values.prefix, "a/b");
    EXPECT_TRUE(Values().WhyNot("pool=99").ends_with("pool must be a number from 1 to 32"));
    EXPECT_TRUE(Values().WhyNot("publish=yes").ends_with("publish must be 0 or 1"));
    EXPECT_TRUE(Values().WhyNot("prefix=%z").ends_with("two hexadecimal digits"));
}

// A typing error is answered with the word that was meant, and never with the value behind it.
TEST(StoreUrlParameters, AnUnknownParameterIsAnsweredWithTheKnownOnes) {
    const std::string typo = Values().WhyNot("timeuot=secret");
    EXPECT_NE(typo.find("'timeuot', did you mean 'timeout'?"), std::string::npos) << typo;
    EXPECT_NE(typo.find("known are timeout, pool, publish, prefix, tls, tls_ca"), std::string::npos)
        << typo;
    EXPECT_EQ(typo.find("secret"), std::string::npos);
    EXPECT_EQ(Values().WhyNot("password=x").find("did you mean"), std::string::npos);
    EXPECT_NE(Values().WhyNot("=x").find("no parameter ''"), std::string::npos);
}

// The same words for every server, and those of earlier versions.
TEST(StoreUrlParameters, TlsIsSpelledTheSameEverywhere) {
    for (const char* query : {"tls=1&tls_ca=/ca&tls_cert=/c&tls_key=/k", "ca=/ca&cert=/c&key=/k",
                              "tls_ca=/ca&cert=/c&tls_key=/k"}) {
        Values values;
        ASSERT_TRUE(values.Read(query)) << query;
        EXPECT_TRUE(values.tls.enabled && values.tls.verify) << query;
        EXPECT_EQ(values.tls.ca_file + values.tls.cert_file + values.tls.key_file, "/ca/c/k");
    }
    Values unverified, same, off;
    ASSERT_TRUE(unverified.Read("tls=unverified"));
    ASSERT_TRUE(same.Read("tls=1&verify=0"));
    ASSERT_TRUE(off.Read("tls=0"));
    EXPECT_TRUE(unverified.tls.enabled && !unverified.tls.verify);
    EXPECT_TRUE(same.tls.enabled && !same.tls.verify);
    EXPECT_FALSE(off.tls.enabled);
    EXPECT_TRUE(Values().WhyNot("tls_cert=/c").ends_with("tls_cert and tls_key go together"));
    EXPECT_TRUE(Values().WhyNot("tls=yes").ends_with("tls must be 0 or 1"));
}

}  // namespace
}  // namespace takt::internal
