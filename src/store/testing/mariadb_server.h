// A mariadbd for a test program: durable, with certificates of its own, on a free port.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "store/testing/server_process.h"

namespace takt::internal {

class MariadbServer {
  public:
    // Takes some seconds, so the tests of a program share one and use a database each. `arguments`
    // are mariadbd's, after ours.
    static Result<std::unique_ptr<MariadbServer>> Start(std::vector<std::string> arguments = {});

    // Only by the socket; the user root has no password there.
    std::string socket() const { return directory_->File("socket"); }
    std::uint16_t port() const { return port_; }
    // The authority that signed the server's certificate (for 127.0.0.1), and a client's.
    std::string ca() const { return directory_->File("ca.pem"); }
    std::string client_cert() const { return directory_->File("client.pem"); }
    std::string client_key() const { return directory_->File("client.key"); }
    // An authority that signed nothing.
    std::string foreign_ca() const { return directory_->File("foreign.pem"); }

    ServerProcess& process() { return *process_; }

    // The user takt may do everything in databases whose names begin with takt_test, and nothing
    // else.
    static constexpr const char* kUser = "takt";
    static constexpr const char* kPassword = "p@ss:word/?";

  private:
    MariadbServer() = default;

    std::unique_ptr<TempDirectory> directory_ = std::make_unique<TempDirectory>();
    std::uint16_t port_ = 0;
    std::unique_ptr<ServerProcess> process_;
};

}  // namespace takt::internal
