#include "store/testing/mariadb_server.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <fstream>
#include <utility>
#include <vector>

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
    if (Result<void> made = server->MakeCertificates(); !made) {
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

Result<void> MariadbServer::MakeCertificates() const {
    const TempDirectory& directory = *directory_;
    std::ofstream(directory.File("names")) << "subjectAltName = IP:127.0.0.1\n";
    const auto authority = [&](const std::string& name) {
        return RunProgram({"openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                           "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
                           "/CN=" + name, "-keyout", directory.File(name + ".key"), "-out",
                           directory.File(name + ".pem")});
    };
    const auto signed_by_ca = [&](const std::string& name) -> Result<std::string> {
        const auto request =
            RunProgram({"openssl", "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
                        "-nodes", "-subj", "/CN=" + name, "-keyout", directory.File(name + ".key"),
                        "-out", directory.File(name + ".csr")});
        if (!request) return request;
        return RunProgram({"openssl", "x509", "-req", "-days", "2", "-in",
                           directory.File(name + ".csr"), "-CA", ca(), "-CAkey",
                           directory.File("ca.key"), "-CAcreateserial", "-extfile",
                           directory.File("names"), "-out", directory.File(name + ".pem")});
    };
    for (const auto& made :
         {authority("ca"), authority("foreign"), signed_by_ca("server"), signed_by_ca("client")}) {
        if (!made) return std::unexpected(made.error());
    }
    return {};
}

}  // namespace takt::internal
