#include "definitions/definition_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace takt::internal {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

WrittenDefinitions Read(const std::string& text) {
    DefinitionReader reader(
        {{"task", "id"}, {"queue", "name"}, {"alert_rule", "name"}, {"namespace", "name"}},
        "default");
    reader.Read("f.yaml", text);
    return reader.Take();
}

std::vector<std::string> Mistakes(const std::string& text) {
    std::vector<std::string> told;
    for (const PlacedMistake& mistake : Read(text).mistakes) told.push_back(mistake.Text());
    return told;
}

TEST(DefinitionFileTest, AFileHasAsManyDocumentsAsItLikes) {
    const auto read = Read(
        "# Nothing but words.\n---\nkind: task\nname: nightly\ncron_expression: 0 2 * * *\n"
        "---\nkind: queue\nnamespace: billing\nname: mail\n---\n---\n"
        "[{kind: namespace, name: billing}]\n");
    ASSERT_THAT(read.mistakes, IsEmpty());
    ASSERT_EQ(read.definitions.size(), 3u);
    EXPECT_EQ(read.definitions[0].key, (ThingKey{"task", "default", "nightly"}));
    EXPECT_EQ(read.definitions[0].json,
              R"({"id":"nightly","name":"nightly","cron_expression":"0 2 * * *"})");
    EXPECT_EQ(read.definitions[1].key, (ThingKey{"queue", "billing", "mail"}));
    EXPECT_EQ(read.definitions[1].json, R"({"name":"mail"})");
    EXPECT_EQ(read.definitions[2].key, (ThingKey{"namespace", "", "billing"}));
}

TEST(DefinitionFileTest, JsonIsTakenAsWell) {
    const auto read = Read(R"([{"kind": "queue", "name": "a"}, {"kind": "queue", "name": "b"}])");
    EXPECT_THAT(read.mistakes, IsEmpty());
    EXPECT_EQ(read.definitions.size(), 2u);
}

TEST(DefinitionFileTest, AllMistakesAreToldWithTheirLines) {
    EXPECT_THAT(
        Mistakes("kind: tusk\n---\nname: a\n---\nkind: queue\n---\n- 1\n---\nkind: namespace\n"
                 "name: a\nnamespace: b\n---\nkind: workflow\nname: c\n---\nkind: task\n"
                 "name: two words\n"),
        ElementsAre(
            "f.yaml:1: there is no kind 'tusk'; it is one of workflow, alert_rule, namespace, "
            "queue, task",
            "f.yaml:3: kind is missing: one of workflow, alert_rule, namespace, queue, task",
            "f.yaml:5: name is missing, or not 1 to 64 of A-Z a-z 0-9 . _ ~ -",
            "f.yaml:7: a definition must have names and values, the first of them kind",
            "f.yaml:11: namespace is not for a namespace itself",
            "f.yaml:13: steps is missing: a workflow is a task with steps",
            "f.yaml:16: id is missing, or not 1 to 64 of A-Z a-z 0-9 . _ ~ -"));
}

TEST(DefinitionFileTest, OneThingIsDefinedOnce) {
    EXPECT_THAT(Mistakes("kind: queue\nname: a\n---\nkind: queue\nname: a\n"),
                ElementsAre("f.yaml:4: queue 'a' is defined twice; the other is f.yaml:1"));
    EXPECT_THAT(Mistakes("kind: queue\nname: a\n---\nkind: queue\nname: a\nnamespace: b\n"),
                IsEmpty());
}

TEST(DefinitionFileTest, AFieldIsFoundInItsLine) {
    const auto read = Read(
        "kind: task\nname: a\nsteps:\n  - name: one\n  - name: two\n    after:\n      - zero\n");
    const YamlDocument& document = read.definitions.at(0).document;
    EXPECT_EQ(document.LineOf("steps"), 3);
    EXPECT_EQ(document.LineOf("steps[1].after"), 6);
    EXPECT_EQ(document.LineOf("steps[1].queue"), 5) << "what is missing is told where it belongs";
    EXPECT_EQ(document.LineOf("rate_limit.count"), 1);
}

TEST(DefinitionFileTest, WhatIsNoYamlIsToldAndNothingOfItIsTaken) {
    const auto read = Read("kind: queue\nname: a\n---\nname: [\n");
    EXPECT_THAT(read.definitions, IsEmpty());
    EXPECT_EQ(read.mistakes.size(), 1u);
}

// Ten lines of aliases would be gigabytes.
TEST(DefinitionFileTest, AliasesOfAliasesDoNotGrowWithoutEnd) {
    std::string text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
    for (int i = 1; i < 9; ++i) {
        const std::string before = "*a" + std::to_string(i - 1);
        text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + before;
        for (int j = 0; j < 9; ++j) text += ", " + before;
        text += "]\n";
    }
    EXPECT_EQ(Mistakes("kind: queue\nname: b\n" + text).size(), 1u);
}

}  // namespace
}  // namespace takt::internal
