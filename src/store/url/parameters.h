// UrlParameters: what follows the question mark of a store's URL. Each backend gives a table of its
// parameters, and they are spelled alike everywhere: switches are 0 or 1, durations "5s" or "500ms"
// (a plain number is seconds), TLS is tls, tls_ca, tls_cert, tls_key and verify.
//
//   std::vector<UrlParameter> table = {{"timeout", DurationTo{&options.timeout}},
//                                      {"pool", NumberTo{&options.readers, 1, 32}}};
//   AddTlsParameters(options.tls, table);
//   const Result<void> read = ReadUrlParameters(parts.query, table);
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/error.h"
#include "base/time.h"

namespace takt::internal {

// How to reach a server by TLS, and whom to trust there.
struct StoreTls {
    bool enabled = false;
    bool verify = true;     // The server's certificate and its name.
    std::string ca_file;    // PEM. Empty: the system's authorities.
    std::string cert_file;  // PEM of a client certificate, together with key_file; or empty.
    std::string key_file;
};

// Where the value of a parameter goes, and what it may be.
struct SwitchTo {
    bool* value;
};
struct DurationTo {
    Duration* value;
    Duration least{1};
    Duration most{600'000};
};
struct NumberTo {
    std::uint64_t* value;
    std::uint64_t least = 0;
    std::uint64_t most = UINT64_MAX;
};
struct TextTo {
    std::string* value;
};
// 0 or 1, and "unverified", which MySQL's URLs had for tls=1&verify=0.
struct TlsTo {
    StoreTls* value;
};

struct UrlParameter {
    std::string_view name;
    std::variant<SwitchTo, DurationTo, NumberTo, TextTo, TlsTo> to;
    std::string_view former = {};  // How it was spelled before; read as well, with a notice.
};

// tls, tls_ca, tls_cert, tls_key and verify. Values live as long as the table is used.
void AddTlsParameters(StoreTls& tls, std::vector<UrlParameter>& table);

// Sets what `query` ("a=1&b=2", percent-encoded) names, in its order. kInvalid, with the parameter
// at fault and never its value, which may be a password; an unknown one is answered with the known
// ones and the nearest.
Result<void> ReadUrlParameters(std::string_view query, const std::vector<UrlParameter>& table);

// A file turns TLS on, as does verify=0; a certificate and its key go together.
Result<void> SettleTls(StoreTls& tls);

// "the store's URL: " and what is wrong with it, as all backends say it.
std::unexpected<Error> BadStoreUrl(std::string detail);

}  // namespace takt::internal
