#include "signin/id_token.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/string.hpp>
#include <boost/json/value.hpp>

namespace takt::internal {
namespace {

using boost::json::array;
using boost::json::object;
using testing::HasSubstr;

constexpr std::int64_t kSeconds = 1'700'000'000;
constexpr Time kNow{Duration(kSeconds * 1000)};

object Claims() {
    return {{"iss", "https://id.example.org"},
            {"aud", "takt"},
            {"sub", "u-1"},
            {"exp", kSeconds + 300},
            {"iat", kSeconds},
            {"nonce", "n"},
            {"email", "ada@example.org"},
            {"groups", array{"a", "b"}}};
}

Result<Person> Check(const object& claims) {
    return CheckIdToken(claims,
                        {.issuer = "https://id.example.org",
                         .client_id = "takt",
                         .nonce = "n",
                         .name_claim = "email",
                         .groups_claim = "groups"},
                        kNow);
}

TEST(IdTokenTest, TellsWhoItIs) {
    const auto person = Check(Claims());
    ASSERT_TRUE(person) << person.error().detail;
    EXPECT_EQ(person->subject, "u-1");
    EXPECT_EQ(person->name, "ada@example.org");
    EXPECT_THAT(person->groups, testing::ElementsAre("a", "b"));
    object nameless = Claims();
    nameless.erase("email");
    EXPECT_EQ(Check(nameless)->name, "u-1");
}

// Without all of their groups somebody would have fewer rights than were given.
TEST(IdTokenTest, NoGroupIsLeftOut) {
    object many = Claims();
    array groups;
    for (int i = 0; i < 3'000; ++i) groups.emplace_back("group " + std::to_string(i));
    many["groups"] = groups;
    EXPECT_EQ(Check(many)->groups.size(), 3'000u);
    object elsewhere = Claims();
    elsewhere["_claim_names"] = object{{"groups", "src1"}};
    EXPECT_TRUE(Check(elsewhere)) << "they are there all the same";
    elsewhere.erase("groups");
    const auto refused = Check(elsewhere);
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().detail, HasSubstr("does not have the groups themselves"));
}

TEST(IdTokenTest, ANameIsNotCutInTheMiddleOfALetter) {
    object claims = Claims();
    std::string name;
    while (name.size() < 300) name += "中";
    claims["email"] = name;
    EXPECT_EQ(Check(claims)->name, name.substr(0, 255));
    claims["email"] = "x" + name;
    EXPECT_EQ(Check(claims)->name.size(), 253u);
}

struct Wrong {
    const char* claim;
    boost::json::value value;
    const char* why;
};

void PrintTo(const Wrong& wrong, std::ostream* out) {
    *out << wrong.claim << ": " << boost::json::serialize(wrong.value);
}

class WrongIdTokenTest : public testing::TestWithParam<Wrong> {};

TEST_P(WrongIdTokenTest, IsRefused) {
    object claims = Claims();
    claims[GetParam().claim] = GetParam().value;
    const auto person = Check(claims);
    ASSERT_FALSE(person);
    EXPECT_THAT(person.error().detail, HasSubstr(GetParam().why));
}

INSTANTIATE_TEST_SUITE_P(
    All, WrongIdTokenTest,
    testing::Values(Wrong{"iss", "https://evil.example.org", "issuer"},
                    Wrong{"iss", "https://id.example.org/", "issuer"},
                    Wrong{"aud", "other", "somebody else"}, Wrong{"aud", nullptr, "somebody else"},
                    Wrong{"aud", array{"takt", "other"}, "of several"},
                    Wrong{"azp", "other", "azp"}, Wrong{"nonce", "m", "nonce"},
                    Wrong{"nonce", nullptr, "nonce"}, Wrong{"exp", kSeconds - 61, "expired"},
                    Wrong{"exp", "never", "until when"}, Wrong{"iat", kSeconds + 61, "to come"},
                    Wrong{"nbf", kSeconds + 61, "to come"}, Wrong{"nbf", "now", "to come"},
                    Wrong{"sub", "", "sub"}, Wrong{"sub", boost::json::string(256, 's'), "sub"}),
    [](const auto& info) { return info.param.claim + std::to_string(info.index); });

TEST(IdTokenTest, ClocksMayDifferByAMinute) {
    object claims = Claims();
    claims["exp"] = kSeconds - 59;
    claims["iat"] = kSeconds + 59;
    EXPECT_TRUE(Check(claims));
    claims["aud"] = array{"takt", "other"};
    claims["azp"] = "takt";
    EXPECT_TRUE(Check(claims));
}

}  // namespace
}  // namespace takt::internal
