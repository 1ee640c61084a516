#include "api/request_table.h"

#include <gtest/gtest.h>

#include "api/request_kinds.h"
#include "api/resource_table.h"

namespace takt::internal {
namespace {

enum class Bed : std::uint8_t { kSoft, kHard, kFloor };
std::string_view Name(Bed bed) {
    return bed == Bed::kSoft ? "soft" : bed == Bed::kHard ? "hard" : "floor";
}
std::optional<Bed> ParseBed(std::string_view name) {
    for (const Bed bed : {Bed::kSoft, Bed::kHard, Bed::kFloor}) {
        if (name == Name(bed) || (name == "stone" && bed == Bed::kFloor)) return bed;
    }
    return std::nullopt;
}

struct Nap {
    std::string sleeper;
    Duration length{60'000};
    std::optional<std::uint32_t> sheep;
    Bed bed = Bed::kSoft;
};

const ResourceTable<Nap, Nap>& NapTable() {
    using Take = TakenBy<Nap>;
    static const ResourceTable<Nap, Nap> table({
        {"sleeper", "Who sleeps.", Take::Text(&Nap::sleeper, 8).Required()},
        {"length",
         "How long.",
         Take::Duration(&Nap::length, Duration(1'000)),
         {schema::Duration(),
          [](JsonWriter& json, const Nap& n) {
              json.Value(std::string_view(FormatDuration(n.length)));
          }}},
        {"sheep", "How many are counted.",
         Take::Count(&Nap::sheep, {1, 100}).Clears([](Nap& nap) { nap.sheep.reset(); })},
        {"bed", "On which.", Take::Choice(&Nap::bed, ParseBed, {"soft", "hard"})},
        {"dreams",
         "How many there were.",
         {},
         {schema::Integer(0), [](JsonWriter& json, const Nap&) { json.Value(2); }}},
    });
    return table;
}

Result<Nap> ReadNap(std::string_view text, Nap nap = {}) {
    return ReadRequest(NapTable().request(), JsonView(text), std::move(nap));
}

TEST(RequestTable, ReadsWhatIsGivenAndKeepsTheRest) {
    const auto nap = ReadNap(R"({"sleeper":"ada","sheep":7,"bed":"hard"})");
    ASSERT_TRUE(nap);
    EXPECT_EQ(nap->sleeper, "ada");
    EXPECT_EQ(nap->length, Duration(60'000));
    EXPECT_EQ(nap->sheep, 7u);
    EXPECT_EQ(nap->bed, Bed::kHard);
}

TEST(RequestTable, NullIsTakenOnlyWhereItMeansSomething) {
    const auto cleared = ReadNap(R"({"sleeper":"ada","sheep":null})", {.sheep = 3});
    ASSERT_TRUE(cleared);
    EXPECT_FALSE(cleared->sheep);
    EXPECT_EQ(ReadNap(R"({"sleeper":"ada","length":null})").error().field, "length");
    EXPECT_EQ(ReadNap(R"({"sleeper":null})").error().field, "sleeper");
}

// A caller mends what the sentence names, so the sentence names the right thing.
TEST(RequestTable, TheFieldAtFaultIsNamed) {
    EXPECT_EQ(ReadNap("{}").error().detail, "sleeper is missing");
    EXPECT_EQ(ReadNap(R"({"sleeper":"a","sheep":101})").error().detail,
              "sheep must be a whole number from 1 to 100");
    EXPECT_EQ(ReadNap(R"({"sleeper":"a","bed":"water"})").error().detail,
              "bed must be soft or hard");
    EXPECT_EQ(ReadNap(R"({"sleeper":"a","lenght":1})").error().detail,
              "there is no field 'lenght'; did you mean 'length'?");
    EXPECT_EQ(ReadNap(R"({"sleeper":"a","dreams":1})").error().field, "dreams")
        << "answers have it, requests do not";
    const auto inner = ReadRequest(NapTable().request(), JsonView(R"({"sleeper":""})"), {}, "nap.");
    EXPECT_EQ(inner.error().field, "nap.sleeper");
}

// The parser knows more names than the table offers: "floor", and "stone" for it.
TEST(RequestTable, AChoiceThatIsNotOfferedIsRefused) {
    EXPECT_EQ(ReadNap(R"({"sleeper":"a","bed":"floor"})").error().field, "bed");
    EXPECT_EQ(ReadNap(R"({"sleeper":"a","bed":"stone"})").error().field, "bed");
}

TEST(RequestTable, TheSchemasSayTheSame) {
    EXPECT_EQ(
        RequestSchema(NapTable().request()),
        R"({"type":"object","required":["sleeper"],"properties":{)"
        R"("sleeper":{"type":"string","minLength":1,"maxLength":8,"description":"Who sleeps."},)"
        R"("length":{"type":["string","number"],"examples":["90s","1h30m",90],"description":"How long."},)"
        R"("sheep":{"type":["integer","null"],"minimum":1,"maximum":100,"description":"How many are counted."},)"
        R"("bed":{"enum":["soft","hard"],"description":"On which."}},"additionalProperties":false})");
    EXPECT_EQ(AnswerSchema(NapTable().answer()),
              R"({"type":"object","required":["length","dreams"],"properties":{)"
              R"("length":{"type":"string","examples":["90s","1h30m"],"description":"How long."},)"
              R"("dreams":{"type":"integer","minimum":0,"description":"How many there were."}},)"
              R"("additionalProperties":false})");
}

TEST(RequestTable, ThePageHasALineForEachField) {
    EXPECT_EQ(NapTable().page(),
              "| field | in | value | |\n"
              "|---|---|---|---|\n"
              "| `sleeper` | requests | required: text of up to 8 bytes | Who sleeps. |\n"
              "| `length` | both | duration | How long. |\n"
              "| `sheep` | requests | 1 to 100 | How many are counted. |\n"
              "| `bed` | requests | soft or hard | On which. |\n"
              "| `dreams` | answers |  | How many there were. |\n");
}

}  // namespace
}  // namespace takt::internal
