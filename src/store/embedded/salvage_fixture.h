// A store with a few thousand rows whose file a test damages, and finds again what is left of it.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include "store/embedded/salvage.h"
#include "store/embedded/store_fixture.h"

namespace takt::internal::embedded {

class SalvageTest : public EmbeddedStoreTest {
  protected:
    static constexpr std::size_t kPage = 8192;
    static constexpr int kRows = 2'000;
    // First bytes of pages, as SQLite's file format has them.
    static constexpr char kTableLeaf = 0x0D;
    static constexpr char kIndexLeaf = 0x0A;
    static constexpr char kTableInterior = 0x05;
    static constexpr char kIndexInterior = 0x02;

    void SetUp() override {
        EmbeddedStoreTest::SetUp();
        RowMaker make;
        std::vector<Change> rows;
        for (int i = 0; i < kRows; ++i) {
            rows.push_back(
                ExecutionChange{Place::kNone, Place::kHistory, Finished(make.OneOff(Id(i)))});
        }
        rows.push_back(SettingPut{"kept", "yes"});
        ASSERT_TRUE(Commit(1, std::move(rows)));
        store_.reset();
        file_ = directory_.path() + "/takt.db";
    }

    static std::string Id(int number) { return "row-" + std::to_string(10'000 + number); }

    std::string Bytes() const {
        std::ifstream in(file_, std::ios::binary);
        return {std::istreambuf_iterator<char>(in), {}};
    }

    // Overwrites the page of that kind on which the text stands, and says where that was.
    std::size_t Overwrite(char kind, const std::string& text) {
        std::string bytes = Bytes();
        for (std::size_t at = 0; at < bytes.size(); at += kPage) {
            if (bytes[at] != kind || !bytes.substr(at, kPage).contains(text)) continue;
            std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), kPage, '\xA5');
            std::ofstream(file_, std::ios::binary | std::ios::trunc) << bytes;
            return at;
        }
        ADD_FAILURE() << "no such page has " << text;
        return 0;
    }

    // Two of them fill a page, so that a few thousand have trees of three levels.
    static Execution Large(Execution row) {
        row.payload = Text(std::string(3'500, 'x'));
        return row;
    }

    void CutOff(double part) {
        const auto pages = static_cast<double>(Bytes().size() / kPage);
        std::filesystem::resize_file(file_, static_cast<std::size_t>(pages * part) * kPage);
    }

    // The ids that begin so, with five digits, in pages of tables that are left.
    std::set<std::string> Left(const std::string& prefix) const {
        const std::string bytes = Bytes();
        std::set<std::string> left;
        for (auto at = bytes.find(prefix); at != bytes.npos; at = bytes.find(prefix, at + 1)) {
            if (bytes[at / kPage * kPage] != kTableLeaf) continue;
            left.insert(bytes.substr(at, prefix.size() + 5));
        }
        return left;
    }

    std::vector<std::optional<Execution>> FindAll(const std::set<std::string>& ids) {
        using Rows = std::vector<std::optional<Execution>>;
        std::vector<ExecutionId> wanted;
        for (const std::string& id : ids) wanted.emplace_back(id);
        return *Await<Rows>([&](Done<Rows> done) {
            store_->FindExecutions(kDefaultPartition, wanted, std::move(done));
        });
    }

    Result<std::vector<std::string>> Damage() { return DamageOfEmbedded(Options()); }
    EmbeddedOptions Options() const { return {.directory = directory_.path()}; }

    bool Has(int number) { return Find(Id(number)).has_value(); }

    std::optional<Execution> Find(const std::string& id, Partition partition = kDefaultPartition) {
        using Rows = std::vector<std::optional<Execution>>;
        const auto rows = Await<Rows>([&](Done<Rows> done) {
            store_->FindExecutions(partition, {ExecutionId(id)}, std::move(done));
        });
        return rows ? rows->front() : std::nullopt;
    }

    std::string file_;
};

inline const SalvagedTable& TableOf(const Salvaged& salvaged, const std::string& name,
                                    Partition partition = kDefaultPartition) {
    return *std::ranges::find_if(salvaged.tables, [&](const SalvagedTable& table) {
        return table.name == name && table.partition == partition;
    });
}

}  // namespace takt::internal::embedded
