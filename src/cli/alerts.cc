// takt alerts: what is wrong, the rules, the channels, acknowledge and silence.
#include <boost/json/object.hpp>
#include <cstdio>
#include <cstdlib>

#include "base/json.h"
#include "cli/output.h"
#include "cli/parts.h"
#include "cli/request_flags.h"

namespace takt::internal::cli {
namespace {

struct AlertsOptions {
    ClientOptions client;
    std::string state;
    std::string id;
    std::string note;
    std::string duration = "1h";
    RequestFlags channel;
};

Colour ColourOfAlert(std::string_view state, std::string_view severity) {
    if (state != "firing") return state == "pending" ? Colour::kYellow : Colour::kNone;
    return severity == "info" ? Colour::kYellow : Colour::kRed;
}

Result<int> ListAlerts(Client& client, const AlertsOptions& options) {
    const auto page = client.Get(WithQuery("/api/v1/alerts", {{"state", options.state}}));
    if (!page) return std::unexpected(page.error());
    if (PrintedAsJson(options.client, *page)) return kOk;
    Table table({"ID", "STATE", "SEVERITY", "RULE", "SINCE", "SEEN BY", "MESSAGE"});
    for (const auto* alert : ListMember(page->value, "items")) {
        const std::string state = Member(*alert, "state");
        const auto* seen = FindMember(*alert, "acknowledged");
        table.Add({Member(*alert, "id"),
                   Cell(state, ColourOfAlert(state, Member(*alert, "severity"))),
                   Member(*alert, "severity"), Member(*alert, "rule"),
                   ShortTime(Member(*alert, "pending_at")),
                   seen && seen->is_object() ? Clean(Member(*seen, "by"), 20) : "-",
                   Clean(Member(*alert, "message"), 120)});
    }
    if (table.empty()) {
        std::fprintf(stderr, "there are no such alerts\n");
    } else {
        table.Print();
    }
    return kOk;
}

Result<int> Rules(Client& client, const AlertsOptions& options) {
    const auto page = client.Get("/api/v1/alert-rules");
    if (!page) return std::unexpected(page.error());
    if (PrintedAsJson(options.client, *page)) return kOk;
    Table table({"NAME", "STATE", "SEVERITY", "CONDITION", "VALUE", "SILENCED UNTIL"});
    for (const auto* rule : ListMember(page->value, "items")) {
        const bool enabled = Member(*rule, "enabled") == "true";
        const std::string state = enabled ? Member(*rule, "state") : "disabled";
        const std::string value = Member(*rule, "value");
        table.Add({Member(*rule, "name"),
                   Cell(state, ColourOfAlert(state, Member(*rule, "severity"))),
                   Member(*rule, "severity"),
                   Member(*rule, "metric") + " " + Member(*rule, "operator") + " " +
                       Member(*rule, "threshold") + " for " + Member(*rule, "duration"),
                   value.empty() ? "-" : value, ShortTime(Member(*rule, "silenced_until"))});
    }
    table.Print();
    return kOk;
}

Result<int> Acknowledge(Client& client, const AlertsOptions& options) {
    boost::json::object request;
    if (!options.note.empty()) request["note"] = options.note;
    std::string body;
    AppendJson(body, request);
    const auto done = client.Post(PathOf("alerts", options.id, "acknowledge"), std::move(body));
    if (!done) return std::unexpected(done.error());
    if (!PrintedAsJson(options.client, *done)) std::printf("%s acknowledged\n", options.id.c_str());
    return kOk;
}

Result<int> Silence(Client& client, const AlertsOptions& options) {
    std::string body;
    AppendJson(body, boost::json::object{{"duration", options.duration}});
    const auto done = client.Post(PathOf("alert-rules", options.id, "silence"), std::move(body));
    if (!done) return std::unexpected(done.error());
    if (PrintedAsJson(options.client, *done)) return kOk;
    std::printf("%s is silent until %s\n", options.id.c_str(),
                ShortTime(Member(done->value, "silenced_until")).c_str());
    return kOk;
}

Result<int> Unsilence(Client& client, const AlertsOptions& options) {
    const auto done =
        client.Call(HttpMethod::kDelete, PathOf("alert-rules", options.id, "silence"));
    if (!done) return std::unexpected(done.error());
    if (!PrintedAsJson(options.client, *done))
        std::printf("%s is told again\n", options.id.c_str());
    return kOk;
}

Result<int> ListChannels(Client& client, const AlertsOptions& options) {
    const auto page = client.Get("/api/v1/alert-channels");
    if (!page) return std::unexpected(page.error());
    if (PrintedAsJson(options.client, *page)) return kOk;
    Table table({"NAME", "KIND", "FROM", "WAITING", "LAST", "TARGET"});
    for (const auto* channel : ListMember(page->value, "items")) {
        const auto* last = FindMember(*channel, "last_delivery");
        const bool told = last && last->is_object();
        const bool ok = told && Member(*last, "ok") == "true";
        table.Add(
            {Member(*channel, "name"), Member(*channel, "kind"),
             Member(*channel, "stored") == "true" ? "store" : "configuration",
             Member(*channel, "waiting"),
             told ? Cell(ok ? "told" : "failed", ok ? Colour::kNone : Colour::kRed) : Cell("-"),
             Clean(Member(*channel, "target"), 80)});
    }
    table.Print();
    return kOk;
}

// A secret in the arguments could be read by everybody on the machine: "env:NAME" takes it from there.
Result<GivenFields> ChannelFields(const RequestFlags& flags) {
    GivenFields given = flags.Given();
    for (const std::string_view field : {"secret", "password", "url"}) {
        const std::string* json = given.Find(field);
        constexpr std::string_view kEnvironment = "\"env:";
        if (!json || !json->starts_with(kEnvironment)) continue;
        const std::string name =
            json->substr(kEnvironment.size(), json->size() - kEnvironment.size() - 1);
        const char* value = std::getenv(name.c_str());
        if (!value || !*value) {
            return Fail(ErrorCode::kInvalid, "the environment variable " + name + " is not set",
                        std::string(field));
        }
        given.SetText(field, value);
    }
    return given;
}

Result<int> PutChannel(Client& client, const AlertsOptions& options) {
    const auto fields = ChannelFields(options.channel);
    if (!fields) return std::unexpected(fields.error());
    const auto done =
        client.Call(HttpMethod::kPut, PathOf("alert-channels", options.id), fields->Body());
    if (!done) return std::unexpected(done.error());
    if (PrintedAsJson(options.client, *done)) return kOk;
    std::printf("%s tells %s\n", options.id.c_str(), Clean(Member(done->value, "target")).c_str());
    return kOk;
}

Result<int> DeleteChannel(Client& client, const AlertsOptions& options) {
    const auto done = client.Call(HttpMethod::kDelete, PathOf("alert-channels", options.id));
    if (!done) return std::unexpected(done.error());
    if (!PrintedAsJson(options.client, *done)) std::printf("%s is gone\n", options.id.c_str());
    return kOk;
}

Result<int> Test(Client& client, const AlertsOptions& options) {
    const auto done = client.Post(PathOf("alert-channels", options.id, "test"));
    if (!done) return std::unexpected(done.error());
    const bool ok = Member(done->value, "ok") == "true";
    if (PrintedAsJson(options.client, *done)) return ok ? kOk : kFailed;
    if (!ok) {
        return Fail(ErrorCode::kUnavailable,
                    options.id + " was not told: " + Clean(Member(done->value, "error")));
    }
    std::printf("%s was told\n", options.id.c_str());
    return kOk;
}

}  // namespace

void AddAlerts(CLI::App& app, Context& context) {
    PartedCommand<AlertsOptions> alerts(
        app, context, {"alerts", "Alerts; alone it lists what is wrong now"}, ListAlerts);
    AlertsOptions& options = alerts.options();
    alerts.Add({"list", "Lists alerts"}, ListAlerts)
        ->add_option("--state", options.state,
                     "pending, firing, resolved or all [pending and firing]");
    alerts.Add({"rules", "Lists the rules and what they see"}, Rules);
    CLI::App* seen = alerts.Add({"ack", "Says that somebody looks after it"}, Acknowledge);
    seen->add_option("id", options.id, "Alert, as listed")->required();
    seen->add_option("--note", options.note, "What others should know");
    CLI::App* silence = alerts.Add({"silence", "Tells nobody about a rule for a while"}, Silence);
    silence->add_option("rule", options.id, "Rule, as listed")->required();
    silence->add_option("--for", options.duration, "How long [1h]");
    alerts.Add({"unsilence", "Tells about a rule again"}, Unsilence)
        ->add_option("rule", options.id, "Rule, as listed")
        ->required();
    alerts.Add({"test", "Tells a channel that this is a test"}, Test)
        ->add_option("channel", options.id, "Channel, as listed")
        ->required();
    alerts.Add({"channels", "Lists who is told"}, ListChannels);
    CLI::App* put = alerts.Add({"put-channel", "Makes a channel, or changes one"}, PutChannel);
    put->add_option("channel", options.id, "Its name")->required();
    options.channel.Add(*put, AlertChannelRequestFields(), {.without = {"name"}});
    put->footer(
        "--secret, --password and --url take env:NAME too: the value of that variable here.");
    alerts.Add({"delete-channel", "Deletes a channel that no rule names"}, DeleteChannel)
        ->add_option("channel", options.id, "Channel, as listed")
        ->required();
    alerts.command().footer(
        "examples:\n"
        "  takt alerts\n"
        "  takt alerts list --state all\n"
        "  takt alerts ack 0gk3v7m2d9xqa --note 'on my way'\n"
        "  takt alerts silence no_online_workers --for 2h\n"
        "  takt alerts put-channel ops --kind webhook --url https://hooks.example.com/takt "
        "--secret env:OPS_SECRET\n");
}

}  // namespace takt::internal::cli
