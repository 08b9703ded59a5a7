// How is each table of a scenario read? One function a table; what they promise is in core/config/scenario.hpp.
#pragma once

#include <string>

#include "core/config/scenario.hpp"
#include "core/config/table_reader.hpp"

namespace xdc {

// A path as the program opens it: relative to the file that wrote it; to the working directory if --set did.
std::string resolve_path(const std::string& path, const SourceLocation& where);

// A phantom run counts samples alone: generated data then needs no `test_samples`.
ScenarioData read_data(const Value& value, const std::string& path, bool phantom, Diagnostics& diagnostics);
ScenarioTrain read_train(const Value& value, const std::string& path, Diagnostics& diagnostics);
ScenarioExpect read_expect(const Value& value, const std::string& path, Diagnostics& diagnostics);
// A kind alone ("stop") or a table.
ScenarioCheckpoint read_checkpoint(const Value& value, const std::string& path, Diagnostics& diagnostics);
ScenarioPolicy read_policy(const Value& value, const std::string& path, Diagnostics& diagnostics);
ScenarioFault read_fault(const Value& value, const std::string& path, Diagnostics& diagnostics);

}  // namespace xdc
