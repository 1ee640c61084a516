#include "store/testing/etcd_server.h"

#include <chrono>
#include <thread>
#include <utility>

#include "store/testing/certificates.h"

namespace takt::internal {
namespace {

constexpr std::chrono::seconds kWaitMax{20};
// Nothing tells from outside when a server begins to answer, so it is asked now and then.
constexpr std::chrono::milliseconds kAskEtcdAgain{10};

}  // namespace

std::string EtcdServer::Endpoint(std::size_t member) const {
    return "127.0.0.1:" + std::to_string(members_[member].client_port);
}

std::string EtcdServer::url(const std::string& rest) const {
    std::string text = "etcd://";
    for (std::size_t i = 0; i < members_.size(); ++i) text += (i ? "," : "") + Endpoint(i);
    return text + rest;
}

std::vector<std::string> EtcdServer::CommandOf(std::size_t member) const {
    std::string cluster;
    for (std::size_t i = 0; i < members_.size(); ++i) {
        cluster += (i ? "," : "") + ("m" + std::to_string(i)) +
                   "=http://127.0.0.1:" + std::to_string(members_[i].peer_port);
    }
    const std::string client = (options_.tls ? "https://" : "http://") + Endpoint(member);
    const std::string peer = "http://127.0.0.1:" + std::to_string(members_[member].peer_port);
    // A lease lasts at least one and a half election timeouts, so short ones let tests be short. In
    // a cluster too short ones would elect leaders all the time on a busy machine.
    const bool alone = members_.size() == 1;
    std::vector<std::string> command = {"etcd",
                                        "--name",
                                        "m" + std::to_string(member),
                                        "--data-dir",
                                        directory_.File("data" + std::to_string(member)),
                                        "--listen-client-urls",
                                        client,
                                        "--advertise-client-urls",
                                        client,
                                        "--listen-peer-urls",
                                        peer,
                                        "--initial-advertise-peer-urls",
                                        peer,
                                        "--initial-cluster",
                                        cluster,
                                        "--heartbeat-interval",
                                        alone ? "10" : "50",
                                        "--election-timeout",
                                        alone ? "100" : "500",
                                        "--logger",
                                        "zap",
                                        "--log-level",
                                        "warn"};
    if (options_.tls) {
        for (const char* word : {"--cert-file", "server.pem", "--key-file", "server.key",
                                 "--trusted-ca-file", "ca.pem"}) {
            command.push_back(word[0] == '-' ? word : directory_.File(word));
        }
        command.push_back("--client-cert-auth");
    }
    command.insert(command.end(), options_.arguments.begin(), options_.arguments.end());
    return command;
}

Result<std::unique_ptr<EtcdServer>> EtcdServer::Start(Options options) {
    std::unique_ptr<EtcdServer> server(new EtcdServer(std::move(options)));
    if (server->options_.tls) {
        if (Result<void> made = MakeCertificates(server->directory_, "IP:127.0.0.1,DNS:localhost");
            !made) {
            return std::unexpected(made.error());
        }
    }
    server->members_.resize(server->options_.members);
    for (Member& member : server->members_) {
        member.client_port = FreePort();
        member.peer_port = FreePort();
    }
    for (std::size_t i = 0; i < server->size(); ++i) {
        // None answers before a majority is there, so they are awaited together.
        auto process = ServerProcess::Start({.command = server->CommandOf(i),
                                             .directory = server->directory_.path(),
                                             .ready = [] { return true; }});
        if (!process) return std::unexpected(process.error());
        server->members_[i].process = std::move(*process);
    }
    for (std::size_t i = 0; i < server->size(); ++i) {
        if (Result<void> up = server->AwaitMember(i); !up) return std::unexpected(up.error());
    }
    if (server->size() > 1) {
        if (Result<std::size_t> led = server->RaftLeader(); !led) {
            return std::unexpected(led.error());
        }
    }
    return server;
}

Result<void> EtcdServer::AwaitMember(std::size_t member) {
    const auto end = std::chrono::steady_clock::now() + kWaitMax;
    while (std::chrono::steady_clock::now() < end) {
        if (Accepts(members_[member].client_port)) return {};
        std::this_thread::sleep_for(kAskEtcdAgain);
    }
    std::ifstream log(directory_.File("server.log"));
    const std::string text((std::istreambuf_iterator<char>(log)), {});
    return Fail(ErrorCode::kUnavailable, "etcd does not answer: " + text.substr(0, 2000));
}

Result<std::size_t> EtcdServer::RaftLeader() const {
    const auto end = std::chrono::steady_clock::now() + kWaitMax;
    while (std::chrono::steady_clock::now() < end) {
        for (std::size_t i = 0; i < members_.size(); ++i) {
            // endpoint, id, version, size, whether it leads, …
            const Result<std::string> status =
                RunProgram({"etcdctl", "--endpoints", Endpoint(i), "--command-timeout", "1s",
                            "endpoint", "status"});
            if (status && status->find(", true, ") != std::string::npos) return i;
        }
        std::this_thread::sleep_for(kAskEtcdAgain);
    }
    return Fail(ErrorCode::kUnavailable, "no member of the etcd cluster leads");
}

Result<std::string> EtcdServer::Ctl(std::vector<std::string> arguments) const {
    std::vector<std::string> command = {"etcdctl", "--endpoints"};
    std::string endpoints;
    for (std::size_t i = 0; i < members_.size(); ++i) endpoints += (i ? "," : "") + Endpoint(i);
    command.push_back(endpoints);
    if (options_.tls) {
        for (const char* word :
             {"--cacert", "ca.pem", "--cert", "client.pem", "--key", "client.key"}) {
            command.push_back(word[0] == '-' ? word : directory_.File(word));
        }
    }
    command.insert(command.end(), arguments.begin(), arguments.end());
    return RunProgram(command);
}

}  // namespace takt::internal
