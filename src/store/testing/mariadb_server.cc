#include "store/testing/mariadb_server.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <fstream>
#include <utility>
#include <vector>

#include "store/testing/certificates.h"

namespace takt::internal {
namespace {

// mariadbd listens on its port first and on its socket last.
bool AcceptsOnSocket(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path) return false;
    path.copy(address.sun_path, path.size());
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const bool connected =
        connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    close(fd);
    return connected;
}

}  // namespace

Result<std::unique_ptr<MariadbServer>> MariadbServer::Start(std::vector<std::string> arguments) {
    std::unique_ptr<MariadbServer> server(new MariadbServer);
    const TempDirectory& directory = *server->directory_;
    server->port_ = FreePort();
    if (Result<void> made = MakeCertificates(directory); !made) {
        return std::unexpected(made.error());
    }
    // mariadbd runs as root only if it is told so.
    const std::vector<std::string> user =
        geteuid() == 0 ? std::vector<std::string>{"--user=root"} : std::vector<std::string>{};
    std::vector<std::string> install = {"mariadb-install-db",
                                        "--no-defaults",
                                        "--datadir=" + directory.File("data"),
                                        "--auth-root-authentication-method=normal",
                                        "--skip-test-db",
                                        "--innodb-log-file-size=16M"};
    install.insert(install.end(), user.begin(), user.end());
    if (const auto installed = RunProgram(install); !installed) {
        return std::unexpected(installed.error());
    }
    std::ofstream(directory.File("init.sql"))
        << "CREATE USER IF NOT EXISTS takt@'%' IDENTIFIED BY '" << kPassword << "';\n"
        << "GRANT ALL PRIVILEGES ON `takt\\_test%`.* TO takt@'%';\n";
    std::vector<std::string> command = {"mariadbd",
                                        "--no-defaults",
                                        "--datadir=" + directory.File("data"),
                                        "--bind-address=127.0.0.1",
                                        "--port=" + std::to_string(server->port_),
                                        "--socket=" + server->socket(),
                                        "--init-file=" + directory.File("init.sql"),
                                        "--skip-name-resolve",
                                        "--innodb-flush-log-at-trx-commit=1",
                                        "--innodb-log-file-size=16M",
                                        "--innodb-buffer-pool-size=64M",
                                        "--ssl-ca=" + server->ca(),
                                        "--ssl-cert=" + directory.File("server.pem"),
                                        "--ssl-key=" + directory.File("server.key")};
    command.insert(command.end(), user.begin(), user.end());
    command.insert(command.end(), arguments.begin(), arguments.end());
    auto process =
        ServerProcess::Start({.command = std::move(command),
                              .directory = directory.path(),
                              .ready = [path = server->socket()] { return AcceptsOnSocket(path); },
                              .start_max = Duration(60'000)});
    if (!process) return std::unexpected(process.error());
    server->process_ = std::move(*process);
    return server;
}

}  // namespace takt::internal
