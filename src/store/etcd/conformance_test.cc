// EtcdStore in the conformance suite, against an etcd of its own for each test.
#include <future>

#include "store/conformance/suite.h"
#include "store/etcd/client.h"
#include "store/etcd/keys.h"
#include "store/etcd/ops.h"
#include "store/etcd/page.h"
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
        const auto answer = std::make_shared<std::promise<Result<void>>>();
        auto done = answer->get_future();
        etcd::Client client(*ParseEtcdUrl(server_->url()), {});
        SpoilInPage(client, row.serial, answer);
        return done.get();
    }

  private:
    static etcd::Detached SpoilInPage(etcd::Client& client, Serial serial,
                                      std::shared_ptr<std::promise<Result<void>>> answer) {
        using namespace etcd;
        const Keys keys("/takt");
        pb::RequestOp get = RangeOp(PageOf(keys, kDefaultPartition, PageSide::kLive, serial), 1);
        auto found = co_await client.Range(std::move(*get.mutable_request_range()));
        pb::TxnRequest txn;
        pb::PutRequest& put = *txn.add_success()->mutable_request_put();
        put.set_key(found->kvs(0).key());
        const Serial first = *ParsePageKey(put.key());
        Result<PageRows> page = DecodePage(first, found->kvs(0).value());
        for (PageRow& row : page->rows) {
            if (row.serial == serial) row.value = "not a record";
        }
        put.set_value(EncodePage(first, *page));
        auto done = co_await client.Txn(std::move(txn), Effect::kRepeatable);
        Result<void> spoilt;
        if (!done) spoilt = std::unexpected(done.error());
        answer->set_value(std::move(spoilt));
    }

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
