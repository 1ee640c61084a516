#include "store/testing/certificates.h"

#include <fstream>
#include <vector>

namespace takt::internal {
namespace {

Result<std::string> OpenSsl(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "openssl");
    return RunProgram(arguments);
}

Result<std::string> MakeAuthority(const TempDirectory& directory, const std::string& name) {
    return OpenSsl({"req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
                    "-nodes", "-days", "2", "-subj", "/CN=" + name, "-keyout",
                    directory.File(name + ".key"), "-out", directory.File(name + ".pem")});
}

Result<std::string> MakeSigned(const TempDirectory& directory, const std::string& name) {
    const auto request =
        OpenSsl({"req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj",
                 "/CN=" + name, "-keyout", directory.File(name + ".key"), "-out",
                 directory.File(name + ".csr")});
    if (!request) return request;
    return OpenSsl({"x509", "-req", "-days", "2", "-in", directory.File(name + ".csr"), "-CA",
                    directory.File("ca.pem"), "-CAkey", directory.File("ca.key"), "-CAcreateserial",
                    "-extfile", directory.File("names"), "-out", directory.File(name + ".pem")});
}

}  // namespace

Result<void> MakeCertificates(const TempDirectory& directory, const std::string& names) {
    std::ofstream(directory.File("names"))
        << "subjectAltName=" << names << "\nextendedKeyUsage=serverAuth,clientAuth\n";
    for (const char* name : {"ca", "foreign"}) {
        if (const auto made = MakeAuthority(directory, name); !made) {
            return std::unexpected(made.error());
        }
    }
    for (const char* name : {"server", "client"}) {
        if (const auto made = MakeSigned(directory, name); !made) {
            return std::unexpected(made.error());
        }
    }
    return {};
}

}  // namespace takt::internal
