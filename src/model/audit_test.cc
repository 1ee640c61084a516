#include "model/audit.h"

#include <gtest/gtest.h>

#include "model/record.h"
#include "model/record_testing.h"

namespace takt::internal {
namespace {

TEST(Audit, AnEntryWithEveryFieldReadsBack) {
    const AuditEntry entry{.act = {.who = "ada",
                                   .token_id = "t",
                                   .role = "operator",
                                   .action = "post_v1_tasks",
                                   .space = "billing",
                                   .address = "10.0.0.7",
                                   .via = "node-b",
                                   .request_id = kBytes,
                                   .change = {.target = {"task", "nightly"},
                                              .before = JsonDocument(R"({"a":1})"),
                                              .after = {AuditDocument::Kind::kTask, kBytes, true}}},
                           .refusals = 3,
                           .status = 403};
    const auto read = DecodeAuditEntry(EncodeAuditEntry(entry));

    ASSERT_TRUE(read);
    EXPECT_EQ(EncodeAuditEntry(*read), EncodeAuditEntry(entry));
    EXPECT_EQ(read->act.via, "node-b");
    EXPECT_EQ(read->act.request_id, kBytes);
    EXPECT_EQ(read->act.change.target.id, "nightly");
    EXPECT_EQ(read->act.change.before.body, R"({"a":1})");
    EXPECT_EQ(read->act.change.after.kind, AuditDocument::Kind::kTask);
    EXPECT_TRUE(read->act.change.after.cut);
    EXPECT_EQ(read->refusals, 3u);
}

TEST(Audit, BytesThatAreNoEntryAreRefused) {
    EXPECT_FALSE(DecodeAuditEntry("\xff\xff\xff"));
}

TEST(Audit, ADocumentThatIsTooLargeIsLeftOut) {
    const AuditDocument large = JsonDocument(std::string(kAuditDocumentBytesMax + 1, ' '));

    EXPECT_EQ(large.kind, AuditDocument::Kind::kNone);
    EXPECT_TRUE(large.cut);
    EXPECT_EQ(FieldsDocument({{"status", "online"}, {"reason", ""}}).body,
              R"({"status":"online"})");
}

}  // namespace
}  // namespace takt::internal
