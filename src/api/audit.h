// The audit: who asks, for the rows that are written with each change (model/audit.h); and the log,
// one line for each change and each refusal, with who asked, by which token, from where.
//
// Refusals are limited, so that nobody fills the disk with them: those of one token by ten in ten
// seconds, those of strangers by as many together; the next line says how many were left out. So
// whatever a stranger sends, a refusal of somebody who is known is written down.
#pragma once

#include "api/access_policy.h"
#include "api/problem.h"
#include "api/route.h"
#include "http/message.h"
#include "model/audit.h"

namespace takt::internal {

class Call;
struct Services;

// The caller, for the audit of what comes of the call. `change` says what that is where the engine
// does not know.
ActPtr ActOf(const Call& call, AuditChange change = {});
Act MakeAct(const Services& realm, const Route& route, const HttpRequest& request,
            const Principal& who);

// Written down when it is answered: everything that needs more than a look.
bool IsAudited(const Route& route);

// The route has been used; `status` is how it was answered.
void LogChange(const Route& route, const HttpRequest& request, const Principal& who, int status);
// The call goes on to the leader, who sees this node's address only; the request's id joins its
// line to this one.
void LogPassedOn(const Route& route, const HttpRequest& request, const Principal& who,
                 std::string_view to);
// `who` is empty for a stranger.
void LogRefusal(const HttpRequest& request, const Principal& who, const Problem& problem);
void LogRefusal(const HttpRequest& request, const Principal& who, int status, std::string_view why);

}  // namespace takt::internal
