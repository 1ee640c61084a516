// An etcd for a test: one member, or a cluster of several.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "store/testing/server_process.h"

namespace takt::internal {

class EtcdServer {
  public:
    struct Options {
        std::size_t members = 1;
        bool tls = false;  // Clients must speak TLS and show a certificate; see file().
        std::vector<std::string> arguments;
    };

    static Result<std::unique_ptr<EtcdServer>> Start(Options options);

    // etcd:// with all members.
    std::string url(const std::string& rest = {}) const;
    ServerProcess& process(std::size_t member = 0) { return *members_[member].process; }
    std::size_t size() const { return members_.size(); }
    // One of "ca.pem", "client.pem", "client.key", with `tls`.
    std::string file(const std::string& name) const { return directory_.File(name); }

    // Waits until the member listens again. kUnavailable if it does not within 20 s.
    Result<void> AwaitMember(std::size_t member);
    // Which member leads the cluster. kUnavailable if none does within 20 s.
    Result<std::size_t> RaftLeader() const;

    // The output of etcdctl. kUnknown if it fails.
    Result<std::string> Ctl(std::vector<std::string> arguments) const;

  private:
    struct Member {
        std::uint16_t client_port = 0;
        std::uint16_t peer_port = 0;
        std::unique_ptr<ServerProcess> process;
    };

    explicit EtcdServer(Options options) : options_(std::move(options)) {}
    std::vector<std::string> CommandOf(std::size_t member) const;
    std::string Endpoint(std::size_t member) const;

    const Options options_;
    TempDirectory directory_;
    std::vector<Member> members_;
};

}  // namespace takt::internal
