// The scheduler that definitions are compared with and applied to: what stands there, who owns it,
// and each step of a plan as a call.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "cli/client.h"
#include "definitions/definition_file.h"
#include "definitions/plan.h"

namespace takt::internal::cli {

class DefinitionServer {
  public:
    // Asks who we are and which namespaces there are, as the options are in their context.
    static Result<DefinitionServer> Open(const ClientOptions& options);

    // The namespace of what names none.
    const std::string& home() const { return home_; }
    // The namespace that the command or its context names; empty: neither does.
    const std::string& named() const { return options_.space; }
    // The namespaces that we may see, by name.
    std::vector<std::string> spaces() const;

    // Reads everything that stands in these namespaces, and whose it is; the namespaces themselves too.
    Result<void> ReadStanding(PlanInput& to, const std::vector<std::string>& spaces);

    // Asks what the definitions would become: fills `to.defined` and `to.fields`. Mistakes are told
    // where they were made.
    Result<std::vector<PlacedMistake>> Check(const std::vector<WrittenDefinition>& written,
                                             PlanInput& to);

    // They are the owner's from now on, or no longer. kConflict if another has one and `adopt` is
    // not said.
    Result<void> Own(const PlanRules& rules, const std::vector<ThingKey>& keys, bool claim);

    // Does what the step says. kConflict if somebody changed the thing since it was read.
    Result<void> Carry(const PlanStep& step, const PlanInput& input);

  private:
    explicit DefinitionServer(ClientOptions options) : options_(std::move(options)) {}

    Result<Client*> In(const std::string& space);
    // Waits while nobody leads, as after a change of leader or in a namespace that was just made.
    Result<ClientAnswer> Call(const std::string& space, HttpMethod method, const std::string& path,
                              const std::string& body = {}, const HttpHeaderList& more = {});
    Result<void> Each(const std::string& space, const std::string& path,
                      const std::function<void(const JsonView& item)>& take);
    Result<std::map<ThingKey, StandingThing>> StandingIn(const std::string& space);
    std::map<ThingKey, StandingThing> StandingSpaces() const;
    Result<void> LearnRules(PlanInput& to);
    bool IsBuiltin(const ThingKey& key, const StandingThing& thing, const PlanInput& input) const;
    Result<void> ReadOwners(const std::string& space, std::map<ThingKey, std::string>& to);
    Result<std::vector<PlacedMistake>> CheckSome(const std::string& space,
                                                 const std::vector<const WrittenDefinition*>& some,
                                                 PlanInput& to);
    Result<void> IsStillSo(const PlanStep& step, const PlanInput& input);
    Result<void> Put(const PlanStep& step);
    Result<void> Delete(const PlanStep& step);

    ClientOptions options_;
    std::string home_;
    std::map<std::string, std::string> spaces_;         // By name: the namespace as JSON.
    std::map<std::string, Client> clients_;             // By namespace.
    std::map<std::string, std::string> builtin_rules_;  // By name: JSON, as a definition has it.
};

}  // namespace takt::internal::cli
