// Statements that are used again and again, as the writer's are.
#include "store/embedded/sqlite.h"

#include <gtest/gtest.h>

namespace takt::internal::embedded {
namespace {

class StatementTest : public testing::Test {
  protected:
    void SetUp() override { connection_.Run("CREATE TABLE rows (a, b)"); }

    std::string Stored() {
        return connection_.QueryText(
            "SELECT group_concat(quote(a) || '|' || quote(b), ' ') FROM rows");
    }

    Connection connection_{":memory:", SQLITE_OPEN_READWRITE, ""};
};

// Rows one after the other share some of their columns, and never all.
TEST_F(StatementTest, EachUseHasItsOwnParameters) {
    Statement insert = connection_.Prepare("INSERT INTO rows VALUES (?, ?)");
    std::string text = "one";
    const auto add = [&](auto bind) {
        bind();
        insert.Run();
    };
    add([&] { insert.Int(0), insert.Text(text); });
    text = "two";  // In the same place, and as long.
    add([&] { insert.Int(0), insert.Text(text); });
    add([&] { insert.Int(1), insert.Text(std::string_view(text).substr(0, 2)); });
    add([&] { insert.Null(), insert.Blob(text); });
    add([&] { insert.Null(), insert.Text(text); });
    add([&] { insert.Text(""), insert.Int(0); });
    add([&] { insert.Int(0), insert.Null(); });

    EXPECT_EQ(Stored(), "0|'one' 0|'two' 1|'tw' NULL|X'74776F' NULL|'two' ''|0 0|NULL");
}

// A payload that SQLite refuses must not leave its row's place empty for the next one.
TEST_F(StatementTest, AParameterThatWasRefusedIsBoundAgain) {
    Statement insert = connection_.Prepare("INSERT INTO rows VALUES (?, ?)");
    const std::string text = "as before";
    insert.Int(1);
    insert.Text(text);
    insert.Run();
    sqlite3_limit(connection_.get(), SQLITE_LIMIT_LENGTH, 1'000);
    insert.Int(2);
    EXPECT_THROW(insert.Text(std::string(2'000, 'x')), SqliteError);
    insert.Reset();

    insert.Int(3);
    insert.Text(text);
    insert.Run();

    EXPECT_EQ(Stored(), "1|'as before' 3|'as before'");
}

}  // namespace
}  // namespace takt::internal::embedded
