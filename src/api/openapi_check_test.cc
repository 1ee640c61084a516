// The check that every answer in this folder's tests goes through must be able to fail.
#include <gtest/gtest.h>

#include "api/openapi.h"
#include "api/resources.h"
#include "api/test_openapi.h"

namespace takt::internal {
namespace {

std::string FaultOf(std::string_view value, std::string_view schema) {
    const boost::json::value document = boost::json::parse(
        R"({"components":{"schemas":{"Id":{"type":"string","pattern":"^[a-z]+$"}}}})");
    return SchemaCheck(document).Fault(boost::json::parse(value), boost::json::parse(schema), "");
}

TEST(OpenApiCheck, ASchemaThatDoesNotFitIsNoticed) {
    const std::pair<const char*, const char*> unfit[] = {
        {"1", R"({"type":"string"})"},
        {"1.5", R"({"type":["integer","null"]})"},
        {R"("x")", R"({"enum":["a","b"]})"},
        {R"({"a":1})", R"({"type":"object","properties":{},"additionalProperties":false})"},
        {R"({})", R"({"type":"object","required":["a"]})"},
        {R"({"a":{"b":1}})", R"({"properties":{"a":{"properties":{"b":{"type":"null"}}}}})"},
        {R"({"a":1})", R"({"additionalProperties":{"type":"string"}})"},
        {R"([1,"a"])", R"({"items":{"type":"integer"}})"},
        {R"([1])", R"({"minItems":2})"},
        {R"("A")", R"({"$ref":"#/components/schemas/Id"})"},
        {R"("2026-13-01")", R"({"type":"string","format":"date-time"})"},
        {"0", R"({"minimum":1})"},
        {"true", R"({"anyOf":[{"type":"string"},{"type":"null"}]})"},
        {"1", R"({"oneOf":[{"type":"number"},{"type":"integer"}]})"},
        {"1", R"({"multipleOf":2})"},
    };
    for (const auto& [value, schema] : unfit) {
        EXPECT_NE(FaultOf(value, schema), "") << value << " " << schema;
    }
    EXPECT_EQ(FaultOf(R"({"a":["x",null]})",
                      R"({"type":"object","required":["a"],"additionalProperties":false,
                          "properties":{"a":{"items":{"type":["string","null"]}}}})"),
              "");
}

TEST(OpenApiCheck, StatusAndTypeMustBeDeclared) {
    std::vector<Route> routes;
    AddSchedulerRoutes(routes);
    const OpenApiCheck check(boost::json::parse(OpenApiOf(RouteTable(std::move(routes)), "1")));
    const char* ok = R"({"status":"ok"})";
    EXPECT_EQ(check.Fault("GET", "/healthz", {200, "application/json", ok}), "");
    EXPECT_NE(check.Fault("GET", "/healthz", {201, "application/json", ok}), "");
    EXPECT_NE(check.Fault("GET", "/healthz", {200, "text/plain", ok}), "");
    EXPECT_NE(check.Fault("GET", "/healthz", {200, "application/json", R"({"state":"ok"})"}), "");
    EXPECT_NE(check.Fault("GET", "/healthz", {503, "application/json", ok}), "");
}

}  // namespace
}  // namespace takt::internal
