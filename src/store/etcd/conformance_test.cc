// EtcdStore in the conformance suite, against an etcd of its own for each test.
#include "store/conformance/suite.h"
#include "store/etcd/keys.h"
#include "store/etcd/store.h"
#include "store/testing/etcd_server.h"

namespace takt::internal::conformance {
namespace {

constexpr std::size_t kLoadPageRows = 100;

class EtcdTestDatabase final : public Database {
  public:
    explicit EtcdTestDatabase(std::unique_ptr<EtcdServer> server) : server_(std::move(server)) {}

    Result<std::unique_ptr<Store>> Open() override {
        Result<EtcdOptions> options = ParseEtcdUrl(server_->url());
        if (!options) return std::unexpected(options.error());
        options->load_page_rows = kLoadPageRows;
        return OpenEtcd(*options);
    }
    Result<std::unique_ptr<Store>> Crash(std::unique_ptr<Store> store) override {
        server_->process().Kill();
        if (Result<void> up = server_->process().Restart(); !up) return std::unexpected(up.error());
        if (Result<void> up = server_->AwaitMember(0); !up) return std::unexpected(up.error());
        store.reset();
        return Open();
    }
    Result<void> Spoil(const Execution& row) override {
        const std::string key = etcd::Keys("/takt").Live(kDefaultPartition, etcd::Kin::kOwn,
                                                         {row.serial, row.id.view()});
        const Result<std::string> put = server_->Ctl({"put", key, "not a record"});
        if (!put) return std::unexpected(put.error());
        return {};
    }

  private:
    std::unique_ptr<EtcdServer> server_;
};

INSTANTIATE_TEST_SUITE_P(Etcd, StoreConformance,
                         testing::Values(Backend{
                             .name = "etcd",
                             .create = []() -> Result<std::unique_ptr<Database>> {
                                 auto server = EtcdServer::Start({});
                                 if (!server) return std::unexpected(server.error());
                                 return std::make_unique<EtcdTestDatabase>(std::move(*server));
                             },
                             .load_page_rows = kLoadPageRows,
                             .ttl_min = Duration(1000)}),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace takt::internal::conformance
