// The API's description, for programs and for people.
#include "api/openapi.h"
#include "api/resources.h"
#include "api/services.h"
#include "http/gzip.h"

namespace takt::internal {
namespace {

// Reads /openapi.json and lists what it says. No requests to anywhere else.
constexpr std::string_view kPage = R"html(<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Takt API</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;
color:#1f2328;background:#fff}
h2{margin-top:2rem;text-transform:capitalize;border-bottom:1px solid #d0d7de}
details{border:1px solid #d0d7de;border-radius:6px;margin:.4rem 0;padding:.3rem .6rem}
summary{cursor:pointer}code,pre{font:13px/1.45 ui-monospace,monospace}
pre{background:#f6f8fa;padding:.6rem;overflow:auto;border-radius:6px}
b.m{display:inline-block;width:4.5rem}i{color:#656d76;font-style:normal;float:right}
td{padding:.1rem .8rem .1rem 0;vertical-align:top}
@media(prefers-color-scheme:dark){body{background:#0d1117;color:#e6edf3}pre{background:#161b22}
h2,details{border-color:#30363d}i{color:#8d96a0}}
</style></head><body>
<h1>Takt API</h1>
<p>Description for programs: <a href="/openapi.json">/openapi.json</a> (OpenAPI 3.1). Errors are
<code>application/problem+json</code> with a stable <code>code</code>. Behind each address: the role
that a token needs.</p><div id="out">Loading…</div>
<script>
const text=(tag,value,parent)=>{const e=document.createElement(tag);e.textContent=value;
parent.append(e);return e};
fetch('/openapi.json').then(r=>r.json()).then(api=>{
const out=document.getElementById('out');out.textContent='';const tags={};
const schema=ref=>ref&&ref.$ref?api.components.schemas[ref.$ref.split('/').pop()]:ref;
for(const [path,methods] of Object.entries(api.paths))for(const [method,op] of
Object.entries(methods))(tags[op.tags[0]]??=[]).push([method,path,op]);
for(const [tag,ops] of Object.entries(tags)){text('h2',tag,out);for(const [method,path,op] of ops){
const d=text('details','',out),s=text('summary','',d);text('b',method.toUpperCase(),s).className='m';
text('code',path,s);text('i',op['x-permission'],s);text('p',op.summary,d);
if(op.parameters.length){const t=text('table','',d);for(const p of op.parameters){const
r=text('tr','',t);text('code',p.name,text('td','',r));text('td',p.in,r);text('td',p.description||'',
r)}}const body=op.requestBody?.content['application/json'];
if(body){text('p','Body:',d);text('pre',JSON.stringify(schema(body.schema),null,1),d)}
for(const [code,answer] of Object.entries(op.responses))if(answer.content)for(const [type,c] of
Object.entries(answer.content)){text('p',code+' '+type+':',d);
text('pre',JSON.stringify(schema(c.schema),null,1),d)}}}
}).catch(e=>{document.getElementById('out').textContent='Cannot load: '+e});
</script></body></html>
)html";

// Anybody may ask for these, as often as he likes: they are compressed once and not copied.
HttpResponse StaticResponse(const Call& call, std::string_view type, std::string_view text,
                            std::string_view gzip) {
    HttpResponse response;
    response.content_type = type;
    response.static_body = text;
    const auto encodings = call.request().headers.Find("Accept-Encoding");
    if (encodings && AcceptsGzip(*encodings)) {
        response.static_body = gzip;
        response.headers.emplace_back("Content-Encoding", "gzip");
        response.headers.emplace_back("Vary", "Accept-Encoding");
    }
    return response;
}

void GetOpenApi(Call call) {
    const Descriptions& descriptions = call.services().gate->descriptions;
    call.Send(
        StaticResponse(call, "application/json", descriptions.openapi, descriptions.openapi_gzip));
}

void GetDocs(Call call) {
    HttpResponse response = StaticResponse(call, "text/html; charset=utf-8", kPage,
                                           call.services().gate->descriptions.page_gzip);
    response.headers.emplace_back(
        "Content-Security-Policy",
        "default-src 'none'; connect-src 'self'; script-src 'unsafe-inline'; "
        "style-src 'unsafe-inline'; frame-ancestors 'none'");
    call.Send(std::move(response));
}

}  // namespace

Descriptions DescribeApi(const RouteTable& routes, std::string_view version) {
    GzipWriter gzip;
    Descriptions made{.openapi = OpenApiOf(routes, version)};
    made.openapi_gzip = gzip.Compress(made.openapi);
    made.page_gzip = gzip.Compress(kPage);
    return made;
}

void AddDocsRoutes(std::vector<Route>& routes) {
    routes.push_back({.method = HttpMethod::kGet,
                      .path = "/openapi.json",
                      .permission = Permission::kNone,
                      .handler = GetOpenApi,
                      .tag = "description",
                      .summary = "This description",
                      .gives = "OpenApi"});
    routes.push_back({.method = HttpMethod::kGet,
                      .path = "/docs",
                      .permission = Permission::kNone,
                      .handler = GetDocs,
                      .tag = "description",
                      .summary = "The same for people",
                      .gives_type = "text/html"});
}

}  // namespace takt::internal
