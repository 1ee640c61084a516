// Channels, which are told of alerts: list, get, put, delete, test.
#include "api/alerts_call.h"
#include "api/audit.h"
#include "api/call_body.h"
#include "api/field_view.h"
#include "api/request_kinds.h"
#include "api/resource_pages.h"
#include "api/resource_table.h"
#include "api/resources.h"
#include "api/schemas.h"

namespace takt::internal {
namespace {

constexpr std::size_t kChannelUrlBytesMax = 2'000;
constexpr std::size_t kChannelTextBytesMax = 500;
constexpr std::size_t kMailAddressesMax = 50;

// A channel as a request describes it. What is never shown may be left out: then it stays.
struct ChannelDraft {
    Channel channel;
    std::optional<std::string> url = {};
    std::optional<std::string> secret = {};
    std::optional<std::string> password = {};
};

struct ChannelAnswer {
    const Delivery::View& view;
};

Result<void> CheckChannelName(ChannelDraft& draft, const JsonView& value, std::string_view name) {
    std::string scratch;
    const auto text = ReadText(value, name, kIdBytesMax, scratch);
    if (!text) return std::unexpected(text.error());
    if (*text != draft.channel.name) return BadField(name, "must be the name in the address");
    return {};
}

template <typename T>
auto InChannel(T Channel::* member) {
    return [member](ChannelDraft& draft) -> T& { return draft.channel.*member; };
}

bool IsWebhook(const ChannelAnswer& answer) {
    return answer.view.channel.kind == ChannelKind::kWebhook;
}
bool IsMail(const ChannelAnswer& answer) {
    return answer.view.channel.kind == ChannelKind::kEmail;
}

// Writes a text of the channel.
template <std::string Channel::* kMember>
void WriteChannelText(JsonWriter& json, const ChannelAnswer& answer) {
    json.Value(std::string_view(answer.view.channel.*kMember));
}

void WriteReceivers(JsonWriter& json, const ChannelAnswer& answer) {
    json.BeginArray();
    for (const std::string& address : answer.view.channel.to) json.Value(std::string_view(address));
    json.EndArray();
}

void WriteLastDelivery(JsonWriter& json, const ChannelAnswer& answer) {
    const auto& last = answer.view.last;
    if (!last) {
        json.Null();
        return;
    }
    json.BeginObject().Field("at", last->at).Field("ok", last->ok);
    json.Field("error", std::string_view(last->error)).EndObject();
}

using ChannelFields = std::vector<ResourceField<ChannelDraft, ChannelAnswer>>;

void AddChannelIdentity(ChannelFields& to) {
    using Answer = ChannelAnswer;
    using Take = TakenBy<ChannelDraft>;
    to.push_back({"name",
                  "As in the address.",
                  Take::Own(schema::Text(), "the name in the address", CheckChannelName),
                  {schema::Text(), WriteChannelText<&Channel::name>}});
    to.push_back(
        {"kind",
         "How it is told. The channel `log` is always there, and cannot be made.",
         Take::Choice(InChannel(&Channel::kind), ParseChannelKind, {"webhook", "email"}).Required(),
         {schema::OneOf({"log", "webhook", "email"}),
          [](JsonWriter& json, const Answer& a) { json.Value(Name(a.view.channel.kind)); }}});
    to.push_back(
        {"url",
         "Where to: http:// or https:// of a webhook, smtp:// or smtps:// of e-mail. Never "
         "shown; left out, it stays.",
         Take::Text(&ChannelDraft::url, kChannelUrlBytesMax),
         {}});
    const std::vector<std::string_view> formats = {"json", "dingtalk", "feishu", "slack"};
    to.push_back(
        {"template",
         "The words of a webhook; json unless given.",
         Take::Choice(InChannel(&Channel::format), ParseWebhookFormat, formats),
         {schema::OneOf(formats),
          [](JsonWriter& json, const Answer& a) { json.Value(Name(a.view.channel.format)); },
          IsWebhook}});
    to.push_back(
        {"secret",
         "Signs what a webhook gets; empty: nothing does. Never shown; left out, it stays.",
         Take::TextOrNone(&ChannelDraft::secret, kChannelTextBytesMax),
         {}});
}

void AddChannelMail(ChannelFields& to) {
    using Take = TakenBy<ChannelDraft>;
    using Answer = ChannelAnswer;
    to.push_back({"user",
                  "Of the mail server; with a password, or neither.",
                  Take::TextOrNone(InChannel(&Channel::user), kChannelTextBytesMax),
                  {schema::Text(), WriteChannelText<&Channel::user>, IsMail}});
    to.push_back({"password",
                  "Of that user. Never shown; left out, it stays.",
                  Take::TextOrNone(&ChannelDraft::password, kChannelTextBytesMax),
                  {}});
    to.push_back({"from",
                  "The address that mail comes from.",
                  Take::Text(InChannel(&Channel::from), 254),
                  {schema::Text(), WriteChannelText<&Channel::from>, IsMail}});
    to.push_back({"to",
                  "The addresses that it goes to.",
                  Take::Texts(InChannel(&Channel::to), 254, kMailAddressesMax),
                  {schema::ListOf(schema::Text()), WriteReceivers, IsMail}});
    to.push_back(
        {"require_tls",
         "Whether no word is said without TLS; true unless given.",
         Take::Truth(InChannel(&Channel::require_tls)),
         {schema::Bool(),
          [](JsonWriter& json, const Answer& a) { json.Value(a.view.channel.require_tls); },
          IsMail}});
}

void AddChannelState(ChannelFields& to) {
    using Answer = ChannelAnswer;
    to.push_back({"target",
                  "The part of the url that may be shown.",
                  {},
                  {schema::Text(), [](JsonWriter& json, const Answer& a) {
                       json.Value(std::string_view(a.view.channel.target()));
                   }}});
    to.push_back({"signed",
                  "Whether it has a secret.",
                  {},
                  {schema::Bool(), [](JsonWriter& json, const Answer& a) {
                       json.Value(!a.view.channel.secret.empty());
                   }}});
    to.push_back({"stored",
                  "Whether it can be changed; the others stand in the configuration.",
                  {},
                  {schema::Bool(),
                   [](JsonWriter& json, const Answer& a) { json.Value(a.view.channel.stored); }}});
    to.push_back({"version",
                  "Rises with each change; the ETag.",
                  {},
                  {schema::Integer(0),
                   [](JsonWriter& json, const Answer& a) { json.Value(a.view.channel.version); }}});
    to.push_back({"waiting",
                  "Notices that it was not told yet.",
                  {},
                  {schema::Integer(0),
                   [](JsonWriter& json, const Answer& a) { json.Value(a.view.waiting); }}});
    const std::string delivery = schema::Object()
                                     .Add("at", schema::Time())
                                     .Add("ok", schema::Bool())
                                     .Add("error", schema::Text())
                                     .Text();
    to.push_back({"last_delivery",
                  "How the last one went; null: it was never told anything.",
                  {},
                  {schema::OrNull(delivery), WriteLastDelivery}});
}

const ResourceTable<ChannelDraft, ChannelAnswer>& ChannelTable() {
    static const ResourceTable<ChannelDraft, ChannelAnswer> table([] {
        ChannelFields fields;
        AddChannelIdentity(fields);
        AddChannelMail(fields);
        AddChannelState(fields);
        return fields;
    }());
    return table;
}

void WriteChannel(JsonWriter& json, const Delivery::View& view) {
    json.BeginObject();
    WriteFields(json, ChannelTable().answer(), {view});
    json.EndObject();
}

// For the audit: what may be shown of it, and of what is hidden whether it is there and whether it is
// another one than `before` had.
std::string ShownChannel(const Channel& channel, const Channel* before = nullptr) {
    const std::optional<Delivery::Last> last;
    const Delivery::Counts counts;
    std::string text;
    JsonWriter json(text);
    json.BeginObject();
    ChannelTable().WriteSharedFields(json, {{channel, last, counts, 0}});
    constexpr std::pair<std::string_view, std::string Channel::*> kHidden[] = {
        {"url", &Channel::url}, {"secret", &Channel::secret}, {"password", &Channel::password}};
    for (const auto& [name, member] : kHidden) {
        if ((channel.*member).empty()) continue;
        const bool changed = before && before->*member != channel.*member;
        json.Field(name, std::string_view(changed ? "(hidden, changed)" : "(hidden)"));
    }
    json.EndObject();
    return text;
}

void ListChannels(Call call) {
    WithAlerts(std::move(call), [](Call call, Alerts& alerts) {
        std::string body;
        JsonWriter json(body);
        json.BeginObject().Key("items").BeginArray();
        for (const Delivery::View& view : alerts.delivery().channels()) WriteChannel(json, view);
        json.EndArray().Key("next_cursor").Null().EndObject();
        call.Json(200, std::move(body));
    });
}

// On the node's thread.
void SendChannel(Call call, int status = 200) {
    const std::string name(call.request().Parameter("name"));
    for (const Delivery::View& view : call.services().alerts.delivery().channels()) {
        if (view.channel.name != name) continue;
        std::string body;
        JsonWriter json(body);
        WriteChannel(json, view);
        return SendVersioned(std::move(call), status, std::move(body), view.channel.version);
    }
    call.RefuseAnswer({ErrorCode::kNotFound, "there is no channel '" + name + "'", "name"});
}

// A field that was left out of a change stays. But a secret goes to no other server than the one
// that it was given for.
Result<Channel> Completed(ChannelDraft draft, const Channel* known) {
    Channel& channel = draft.channel;
    const bool stays = known && known->stored && known->kind == channel.kind;
    channel.url = draft.url ? std::move(*draft.url) : stays ? known->url : std::string();
    if (channel.url.empty()) return BadField("url", "is missing");
    const bool moved = stays && channel.host() != known->host();
    // A password is said as it is: another port, or a word without TLS, may bring it to others.
    const bool opened =
        stays && (channel.url != known->url || (known->require_tls && !channel.require_tls));
    const auto secret = [&](std::optional<std::string>& given, std::string Channel::* member,
                            std::string_view name, bool again) -> Result<void> {
        if (!given && again && !(known->*member).empty()) {
            return BadField(name, moved ? "must be given again, or as empty: the url names another "
                                          "host"
                                        : "must be given again: the url or require_tls changes");
        }
        channel.*member = given ? std::move(*given) : stays ? known->*member : std::string();
        return {};
    };
    // An e-mail is not signed. Whoever gives a secret for it is told so by CheckNewChannel.
    if (channel.kind != ChannelKind::kWebhook && !draft.secret) draft.secret.emplace();
    if (auto set = secret(draft.secret, &Channel::secret, "secret", moved); !set) {
        return std::unexpected(set.error());
    }
    // A server without a user takes no password, so none is kept for it.
    if (channel.user.empty() && !draft.password) draft.password.emplace();
    if (auto set = secret(draft.password, &Channel::password, "password", opened); !set) {
        return std::unexpected(set.error());
    }
    if (auto checked = CheckNewChannel(channel); !checked) return std::unexpected(checked.error());
    return std::move(channel);
}

AuditChange ChannelChangeOf(Alerts& alerts, const std::string& name) {
    AuditChange change{.target = {"alert_channel", name}};
    if (const Channel* channel = alerts.delivery().Find(name)) {
        change.before = JsonDocument(ShownChannel(*channel));
    }
    return change;
}

void PutChannel(Call call) {
    auto draft = ReadBody(call, ChannelTable().request(),
                          {.channel = {.name = std::string(call.request().Parameter("name"))}});
    if (!draft) return call.RefuseRequest(draft.error());
    const auto condition = ReadWriteCondition(call.request());
    if (!condition) return call.RefuseRequest(condition.error());
    ChangeAlerts(std::move(call), [draft = std::move(*draft), condition = *condition](
                                      Call call, Alerts& alerts) mutable {
        const std::string name = draft.channel.name;
        const Channel* known = alerts.delivery().Find(name);
        auto channel = Completed(std::move(draft), known);
        if (!channel) return call.RefuseRequest(channel.error());
        AuditChange change = ChannelChangeOf(alerts, name);
        change.after = JsonDocument(ShownChannel(*channel, known));
        ActPtr by = ActOf(call, std::move(change));
        alerts.PutChannel(std::move(*channel), condition, std::move(by),
                          [call = std::move(call), status = known ? 200 : 201](auto put) mutable {
                              if (!put) return RefuseWrite(call, put.error());
                              SendChannel(std::move(call), status);
                          });
    });
}

void DeleteChannel(Call call) {
    const auto condition = ReadWriteCondition(call.request());
    if (!condition) return call.RefuseRequest(condition.error());
    ChangeAlerts(std::move(call), [condition = *condition](Call call, Alerts& alerts) mutable {
        const std::string name(call.request().Parameter("name"));
        ActPtr by = ActOf(call, ChannelChangeOf(alerts, name));
        alerts.DeleteChannel(name, condition, std::move(by),
                             [call = std::move(call)](Result<void> gone) mutable {
                                 if (!gone) return RefuseWrite(call, gone.error());
                                 HttpResponse response;
                                 response.status = 204;
                                 call.Send(std::move(response));
                             });
    });
}

void TestChannel(Call call) {
    WithAlerts(std::move(call), [](Call call, Alerts& alerts) mutable {
        const std::string name(call.request().Parameter("name"));
        alerts.delivery().Test(name, [call = std::move(call)](Result<void> told) mutable {
            const ErrorCode code = told ? ErrorCode() : told.error().code;
            if (code == ErrorCode::kNotFound || code == ErrorCode::kConflict) {
                return call.RefuseAnswer(told.error());
            }
            std::string body;
            JsonWriter json(body);
            json.BeginObject().Field("ok", told.has_value());
            json.Field("error", std::string_view(told ? "" : told.error().detail)).EndObject();
            call.Json(200, std::move(body));
        });
    });
}

}  // namespace

void AddAlertChannelSchemas(SchemaList& to) {
    to.emplace_back("AlertChannelPut", RequestSchema(ChannelTable().request()));
    to.emplace_back("AlertChannel", AnswerSchema(ChannelTable().answer()));
    to.emplace_back("AlertChannelList", schema::PageOf("AlertChannel"));
    to.emplace_back("AlertChannelTest",
                    schema::Object().Add("ok", schema::Bool()).Add("error", schema::Text()).Text());
}

std::vector<FieldView> AlertChannelRequestFields() {
    return ViewsOf(ChannelTable().request());
}

std::string AlertChannelPage() {
    return ChannelTable().page();
}

void AddAlertChannelRoutes(std::vector<Route>& routes) {
    const auto add = [&](Route route) {
        route.where = Where::kLeader;
        route.tag = "alerts";
        routes.push_back(std::move(route));
    };
    add({.method = HttpMethod::kGet,
         .path = "/api/v1/alert-channels",
         .permission = Permission::kViewer,
         .handler = ListChannels,
         .summary = "Who is told",
         .gives = "AlertChannelList"});
    add({.method = HttpMethod::kGet,
         .path = "/api/v1/alert-channels/{name}",
         .permission = Permission::kViewer,
         .handler =
             [](Call call) {
                 WithAlerts(std::move(call),
                            [](Call call, Alerts&) { SendChannel(std::move(call)); });
             },
         .summary = "Get a channel",
         .gives = "AlertChannel"});
    add({.method = HttpMethod::kPut,
         .path = "/api/v1/alert-channels/{name}",
         .permission = Permission::kAdmin,
         .handler = PutChannel,
         .summary = "Make or change a channel; If-Match and If-None-Match are obeyed",
         .takes = "AlertChannelPut",
         .gives = "AlertChannel",
         .also = 201});
    add({.method = HttpMethod::kDelete,
         .path = "/api/v1/alert-channels/{name}",
         .permission = Permission::kAdmin,
         .handler = DeleteChannel,
         .summary = "Delete a channel that no rule names",
         .success = 204});
    add({.method = HttpMethod::kPost,
         .path = "/api/v1/alert-channels/{name}/test",
         .permission = Permission::kAdmin,
         .handler = TestChannel,
         .summary = "Tell a channel that this is a test",
         .gives = "AlertChannelTest"});
}

}  // namespace takt::internal
