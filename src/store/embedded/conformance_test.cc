// The embedded store in the conformance suite. A crash is the copy of its files at that moment.
#include <filesystem>

#include "store/conformance/suite.h"
#include "store/embedded/sqlite.h"
#include "store/embedded/store.h"
#include "store/embedded/temporary_directory.h"

namespace takt::internal::conformance {
namespace {

class EmbeddedTestDatabase final : public Database {
  public:
    Result<std::unique_ptr<Store>> Open() override {
        return OpenEmbedded({.directory = directory_, .load_page_rows = 100, .clock = [this] {
                                 return Steady(std::chrono::microseconds(now_));
                             }});
    }

    Result<std::unique_ptr<Store>> Crash(std::unique_ptr<Store> store) override {
        const std::string copy = root_.path() + "/" + std::to_string(++crashes_);
        // In a process of its own: closing a file drops the locks that SQLite has on it in this
        // one.
        const std::string command = "cp -r '" + directory_ + "' '" + copy + "'";
        if (std::system(command.c_str()) != 0) return Fail(ErrorCode::kUnavailable, command);
        store.reset();
        directory_ = copy;
        return Open();
    }

    bool Advance(Duration time) override {
        now_ += std::chrono::microseconds(time).count();
        return true;
    }

    Result<void> Spoil(const Execution& row) override {
        embedded::Connection connection(directory_ + "/takt.db", SQLITE_OPEN_READWRITE, "");
        connection.Run("UPDATE live SET options = x'ffffffff' WHERE serial = " +
                       std::to_string(row.serial));
        return {};
    }

  private:
    TemporaryDirectory root_;
    std::string directory_ = root_.path() + "/0";
    int crashes_ = 0;
    std::atomic<std::int64_t> now_ = 0;
};

INSTANTIATE_TEST_SUITE_P(Embedded, StoreConformance,
                         testing::Values(Backend{
                             .name = "embedded",
                             .create = []() -> Result<std::unique_ptr<Database>> {
                                 return std::make_unique<EmbeddedTestDatabase>();
                             },
                             .load_page_rows = 100,
                             .handles_many = false}),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace takt::internal::conformance
