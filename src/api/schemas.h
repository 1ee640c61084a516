// JSON Schemas of what the API takes and gives, by name. Those of resources are made from the
// tables of their fields.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace takt::internal {

using SchemaList = std::vector<std::pair<std::string_view, std::string>>;

std::span<const std::pair<std::string_view, std::string>> Schemas();

// Made from the tables that stand beside the routes.
void AddTaskActionSchemas(SchemaList& to);
void AddTaskValidationSchemas(SchemaList& to);
void AddExecutionActionSchemas(SchemaList& to);
void AddExecutionCountSchemas(SchemaList& to);
void AddRunSchemas(SchemaList& to);
void AddBackfillSchemas(SchemaList& to);
void AddExecutorSchemas(SchemaList& to);
void AddLockSchemas(SchemaList& to);
void AddQueueSchemas(SchemaList& to);
void AddDefinitionSchemas(SchemaList& to);
void AddOwnerSchemas(SchemaList& to);
void AddStrategySchemas(SchemaList& to);
void AddAlertNoteSchema(SchemaList& to);
void AddAlertRuleSchemas(SchemaList& to);
void AddAlertChannelSchemas(SchemaList& to);
void AddTokenSchemas(SchemaList& to);
void AddAuditSchemas(SchemaList& to);
void AddRefusalSchemas(SchemaList& to);
void AddMeSchemas(SchemaList& to);
void AddSignInSchemas(SchemaList& to);
void AddNamespaceSchemas(SchemaList& to);

// The list in which a bulk or a sweep tells of each thing that it touched.
std::string TouchedSchema();

}  // namespace takt::internal
