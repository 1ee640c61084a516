// For tests: whether an answer is what /openapi.json says of its address.
//
//     OpenApiCheck check(boost::json::parse(text_of_openapi_json));
//     EXPECT_EQ(check.Fault("GET", "/api/v1/tasks/x", {200, "application/json", body}), "");
#pragma once

#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"

namespace takt::internal {

// A JSON Schema validator as far as our schemas go. A keyword that it does not know is a fault of
// the schema, so that none is passed over in silence.
class SchemaCheck {
  public:
    using Json = boost::json::value;
    using Members = boost::json::object;

    explicit SchemaCheck(const Json& document) : document_(document) {}

    // Empty, or what does not fit and where.
    std::string Fault(const Json& value, const Json& schema, const std::string& at) const {
        for (const auto& [keyword, rule] : schema.as_object()) {
            if (std::string fault = Broken(keyword, rule, value, schema.as_object(), at);
                !fault.empty()) {
                return fault;
            }
        }
        return {};
    }

  private:
    std::string Broken(std::string_view keyword, const Json& rule, const Json& value,
                       const Members& schema, const std::string& at) const {
        static const std::vector<std::string_view> kSilent = {
            "description", "examples", "default", "readOnly",
            "properties",  "title",    "$schema", "$defs"};
        if (std::ranges::find(kSilent, keyword) != kSilent.end() && keyword != "properties") {
            return {};
        }
        if (keyword == "$ref") return Fault(value, Referred(rule.as_string()), at);
        if (keyword == "type") return WrongType(rule, value, at);
        if (keyword == "enum" || keyword == "const") return NotListed(rule, value, at);
        if (keyword == "allOf" || keyword == "anyOf" || keyword == "oneOf") {
            return WrongCount(keyword, rule.as_array(), value, at);
        }
        if (value.is_object()) {
            if (keyword == "properties") return InMembers(rule.as_object(), value, at);
            if (keyword == "required") return Missing(rule, value.as_object(), at);
            if (keyword == "additionalProperties") return Unknown(rule, value, schema, at);
        }
        if (value.is_array() && keyword == "items") {
            for (std::size_t i = 0; i < value.as_array().size(); ++i) {
                std::string fault =
                    Fault(value.as_array()[i], rule, at + "[" + std::to_string(i) + "]");
                if (!fault.empty()) return fault;
            }
            return {};
        }
        return OutOfBounds(keyword, rule, value, at);
    }

    static std::string OutOfBounds(std::string_view keyword, const Json& rule, const Json& value,
                                   const std::string& at) {
        const auto bound = [&](bool concerned, double measure, bool least) -> std::string {
            if (!concerned) return {};
            const double limit = rule.to_number<double>();
            const bool fits = least ? measure >= limit : measure <= limit;
            return fits ? "" : at + ": " + std::string(keyword) + " is not kept";
        };
        const double number = value.is_number() ? value.to_number<double>() : 0;
        const double length = value.is_string() ? static_cast<double>(value.as_string().size()) : 0;
        const double count = value.is_array() ? static_cast<double>(value.as_array().size()) : 0;
        if (keyword == "minimum") return bound(value.is_number(), number, true);
        if (keyword == "maximum") return bound(value.is_number(), number, false);
        if (keyword == "minLength") return bound(value.is_string(), length, true);
        if (keyword == "maxLength") return bound(value.is_string(), length, false);
        if (keyword == "minItems") return bound(value.is_array(), count, true);
        if (keyword == "maxItems") return bound(value.is_array(), count, false);
        if (keyword == "pattern") {
            const bool fits =
                !value.is_string() || std::regex_search(std::string(value.as_string()),
                                                        std::regex(std::string(rule.as_string()),
                                                                   std::regex::ECMAScript));
            return fits ? "" : at + ": the pattern does not fit";
        }
        if (keyword == "format") {
            const bool fits = rule.as_string() != "date-time" || !value.is_string() ||
                              ParseTime(value.as_string()).has_value();
            return fits ? "" : at + ": is no time";
        }
        const std::vector<std::string_view> others = {"properties", "required", "items",
                                                      "additionalProperties"};
        if (std::ranges::find(others, keyword) != others.end()) return {};
        return at + ": the schema has '" + std::string(keyword) + "', which no test understands";
    }

    static std::string WrongType(const Json& rule, const Json& value, const std::string& at) {
        std::vector<std::string> allowed;
        if (rule.is_string()) allowed.emplace_back(rule.as_string());
        if (rule.is_array()) {
            for (const Json& type : rule.as_array()) allowed.emplace_back(type.as_string());
        }
        for (const std::string& type : allowed) {
            const bool whole = value.is_int64() || value.is_uint64() ||
                               (value.is_double() &&
                                value.as_double() ==
                                    static_cast<double>(static_cast<long long>(value.as_double())));
            if ((type == "object" && value.is_object()) || (type == "array" && value.is_array()) ||
                (type == "string" && value.is_string()) || (type == "null" && value.is_null()) ||
                (type == "boolean" && value.is_bool()) || (type == "number" && value.is_number()) ||
                (type == "integer" && value.is_number() && whole)) {
                return {};
            }
        }
        return at + ": " + boost::json::serialize(value).substr(0, 80) + " is not " +
               boost::json::serialize(rule);
    }

    static std::string NotListed(const Json& rule, const Json& value, const std::string& at) {
        if (!rule.is_array()) return rule == value ? "" : at + ": is another constant";
        for (const Json& one : rule.as_array()) {
            if (one == value) return {};
        }
        return at + ": " + boost::json::serialize(value).substr(0, 80) + " is none of " +
               boost::json::serialize(rule);
    }

    std::string WrongCount(std::string_view keyword, const boost::json::array& rules,
                           const Json& value, const std::string& at) const {
        std::size_t fit = 0;
        std::string faults;
        for (const Json& rule : rules) {
            const std::string fault = Fault(value, rule, at);
            fit += fault.empty();
            if (!fault.empty()) faults += " | " + fault;
        }
        const bool right = keyword == "allOf"   ? fit == rules.size()
                           : keyword == "anyOf" ? fit > 0
                                                : fit == 1;
        return right ? "" : at + ": " + std::string(keyword) + " does not fit" + faults;
    }

    std::string InMembers(const Members& rules, const Json& value, const std::string& at) const {
        for (const auto& [name, rule] : rules) {
            const Json* member = value.as_object().if_contains(name);
            if (!member) continue;
            std::string fault = Fault(*member, rule, at + "." + std::string(name));
            if (!fault.empty()) return fault;
        }
        return {};
    }

    static std::string Missing(const Json& rule, const Members& value, const std::string& at) {
        for (const Json& name : rule.as_array()) {
            if (!value.contains(name.as_string())) {
                return at + ": '" + std::string(name.as_string()) + "' is missing";
            }
        }
        return {};
    }

    std::string Unknown(const Json& rule, const Json& value, const Members& schema,
                        const std::string& at) const {
        const Json* known = schema.if_contains("properties");
        for (const auto& [name, member] : value.as_object()) {
            if (known && known->as_object().contains(name)) continue;
            if (rule.is_bool() && !rule.as_bool()) {
                return at + ": '" + std::string(name) + "' is not in the schema";
            }
            if (!rule.is_object()) continue;
            std::string fault = Fault(member, rule, at + "." + std::string(name));
            if (!fault.empty()) return fault;
        }
        return {};
    }

    // "#/components/schemas/Task"
    const Json& Referred(std::string_view pointer) const {
        return document_.at_pointer(pointer.substr(1));
    }

    const Json& document_;
};

class OpenApiCheck {
  public:
    struct Answer {
        int status = 0;
        std::string content_type;
        std::string_view body;
    };

    explicit OpenApiCheck(boost::json::value document) : document_(std::move(document)) {}

    // Empty, or what the answer has that the description does not allow. Nothing is said of
    // addresses that nobody has but that they are refused with a problem.
    std::string Fault(std::string_view method, std::string_view target,
                      const Answer& answer) const {
        const std::string type = answer.content_type.substr(0, answer.content_type.find(';'));
        const auto* responses = ResponsesOf(method, target.substr(0, target.find('?')));
        if (!responses) {
            if (answer.status < 400 || type != "application/problem+json") return {};
            return Judge(answer, "application/problem+json",
                         document_.at_pointer("/components/responses/Problem"));
        }
        const auto* response = responses->if_contains(std::to_string(answer.status));
        if (!response && answer.status < 400) {
            return "the status " + std::to_string(answer.status) + " is not declared";
        }
        if (!response) response = &document_.at_pointer("/components/responses/Problem");
        return Judge(answer, type, *response);
    }

  private:
    std::string Judge(const Answer& answer, const std::string& type,
                      const boost::json::value& response) const {
        const auto* content = response.as_object().if_contains("content");
        if (!content) return answer.body.empty() ? "" : "a body is not declared";
        const auto* declared = content->as_object().if_contains(type);
        if (!declared) return "the type '" + type + "' is not declared";
        if (!type.ends_with("json") || type == "application/x-ndjson") return {};
        boost::system::error_code error;
        const auto body = boost::json::parse(answer.body, error);
        if (error) return "the body is not JSON";
        return SchemaCheck(document_).Fault(body, declared->as_object().at("schema"), "body");
    }

    static std::vector<std::string_view> Segments(std::string_view path) {
        std::vector<std::string_view> segments;
        for (std::size_t at = 0; at <= path.size();) {
            const std::size_t end = std::min(path.find('/', at), path.size());
            segments.push_back(path.substr(at, end - at));
            at = end + 1;
        }
        return segments;
    }

    const boost::json::object* ResponsesOf(std::string_view method, std::string_view path) const {
        std::string lower(method);
        for (char& c : lower) c = static_cast<char>(c | 0x20);
        // Every address but the cluster's own is there for each namespace, too.
        std::string plain(path);
        constexpr std::string_view kSpaces = "/api/v1/namespaces/";
        if (const std::size_t end = plain.find('/', kSpaces.size());
            plain.starts_with(kSpaces) && end != plain.npos) {
            plain = "/api/v1" + plain.substr(end);
        }
        // By the second server of the description.
        if (plain.starts_with("/namespaces/")) plain = plain.substr(plain.find('/', 12));
        const auto wanted = Segments(plain);
        const boost::json::object* best = nullptr;
        std::size_t best_literals = 0;
        for (const auto& [pattern, operations] : document_.at("paths").as_object()) {
            const auto* operation = operations.as_object().if_contains(lower);
            const auto segments = Segments(pattern);
            if (!operation || segments.size() != wanted.size()) continue;
            std::size_t literals = 1;
            bool fits = true;
            for (std::size_t i = 0; i < segments.size() && fits; ++i) {
                const bool open = segments[i].starts_with('{');
                literals += !open;
                fits = open || segments[i] == wanted[i];
            }
            if (!fits || literals <= best_literals) continue;
            best = &operation->as_object().at("responses").as_object();
            best_literals = literals;
        }
        return best;
    }

    boost::json::value document_;
};

}  // namespace takt::internal
