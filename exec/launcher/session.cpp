#include "exec/launcher/session.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <nlohmann/json.hpp>
#include <random>

#include "exec/launcher/ports.hpp"

namespace xdc {

namespace {

// A wait is cut into these, between which signals are looked at.
constexpr Duration kSlice = milliseconds(200);
// A launcher that does not renew this is gone; asked only once something has failed.
constexpr Duration kAlive = milliseconds(600);
// Calls to a store that may be gone with its launcher.
constexpr Duration kShort = milliseconds(500);
// Once it was reached, a keeper that refuses connections is gone.
constexpr Duration kRefused = milliseconds(30);
// How long the keeper waits for others to read the last it has for them.
constexpr Duration kFarewell = seconds(5);

std::string random_id() {
  std::random_device device;
  return fmt::format("{:08x}{:08x}", device(), device());
}

std::string this_process() {
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  return fmt::format("process {} on {}", ::getpid(), host.data());
}

std::string share_key(const std::string& prefix, MemberId member) { return fmt::format("{}share/{}", prefix, member); }
std::string start_key(const std::string& prefix) { return prefix + "start"; }
std::string event_key(const std::string& prefix) { return prefix + "event"; }
std::string alive_key(const std::string& launcher) { return "alive/" + launcher; }
std::string bye_key(const std::string& launcher) { return "bye/" + launcher; }

nlohmann::json parse(const std::string& text) { return nlohmann::json::parse(text, nullptr, false); }

std::string text_of(const nlohmann::json& json, const char* key) {
  return json.is_object() && json.contains(key) && json[key].is_string() ? json[key].get<std::string>() : std::string();
}

// A rank leaves its own address and report, and launchers everything that starts and ends a run.
bool may_write(const std::vector<std::string>& names, std::string_view key) {
  const auto slash = key.find('/');
  const auto rest = slash == std::string_view::npos ? key : key.substr(slash + 1);
  const bool launchers_own = key.starts_with("alive/") || key.starts_with("bye/") || rest == "start" || key == kClockKey ||
                             rest == "event" || rest.starts_with("share/");
  return !launchers_own || std::any_of(names.begin(), names.end(), [](const std::string& name) { return name.starts_with("launcher."); });
}

}  // namespace

Session::Session(const Placement& placement, Duration start_timeout)
    : placement_(placement), start_timeout_(start_timeout), id_(random_id()), where_(this_process()) {}

Session::~Session() { farewell(); }

Result<std::unique_ptr<Session>> Session::open(const Placement& placement, Duration start_timeout) {
  std::unique_ptr<Session> session(new Session(placement, start_timeout));
  if (const Status started = session->start(); !started.ok()) {
    session->parted_ = true;  // nobody knows of us
    return started.error();
  }
  return session;
}

Status Session::start() {
  if (!placement_.tls_directory.empty()) {
    XDC_TRY_ASSIGN(security_, load_security(placement_.tls_directory, placement_.launcher));
  }
  const Security* security = security_ ? &*security_ : nullptr;
  for (const MemberId member : placement_.here) {
    const auto listen = parse_endpoint(placement_.listen[static_cast<size_t>(member)]);
    if (listen.ok() && !placement_.emulated) {
      XDC_TRY(check_port(listen.value()));
    }
  }
  if (placement_.keeps_store) {
    if (const auto listen = parse_endpoint(placement_.store); listen.ok()) {
      if (const Status free = check_port(listen.value()); !free.ok()) {
        return with_context(free.error(), "the store");
      }
    }
    memory_.emplace(clock_);
    XDC_TRY_ASSIGN(server_, StoreServer::start(*memory_, clock_, {placement_.store, security, may_write}));
    store_address_ = server_->address();
  } else {
    reach_again();
    remote_ = std::make_unique<GrpcStore>(GrpcStore::Options{placement_.store, placement_.keeper, security, kRefused}, clock_);
    store_address_ = placement_.store;
  }
  return ok_status();
}

// A channel of gRPC whose first connection was refused tries again only seconds later, whatever its settings say; a new one at once.
void Session::reach_again() {
  patient_ = std::make_unique<GrpcStore>(
      GrpcStore::Options{placement_.store, placement_.keeper, security_ ? &*security_ : nullptr, start_timeout_ + seconds(1)}, clock_);
}

Store& Session::store() {
  if (memory_) {
    return *memory_;
  }
  return *remote_;
}

Status Session::check_signal() const {
  if (const int signal = signals_.take(); signal != 0) {
    return Error{ErrorCode::aborted, fmt::format("ended by signal {} ({}), before the run began", signal, ::strsignal(signal))};
  }
  return ok_status();
}

bool Session::is_alive(const std::string& launcher) {
  const auto entry = store().get(alive_key(launcher), clock_.now() + kShort);
  return entry.ok() && entry.value();
}

void Session::tell_time() {
  if (memory_) {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    const std::string text = fmt::format("{}", std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
    // Nothing can fail in memory, and nobody waits for it.
    [[maybe_unused]] const auto written = memory_->put_if(kClockKey, text, kAnyRevision, nullptr, kNoDeadline);
  }
}

Result<std::string> Session::meet(const Share& share) {
  const Deadline deadline = clock_.now() + start_timeout_;
  XDC_TRY(put_share(share, deadline));
  if (!keeps_store()) {
    // The keeper counts from its own start, and its refusal says more than our time-out would.
    return await_start(share, deadline + seconds(2));
  }
  auto run = gather(share, deadline);
  if (!run.ok()) {
    // Whatever has become of the others, this launcher says why there is no run.
    const Status told =
        publish_start(share, "", fmt::format("the launcher that keeps the store ({}) says: {}", where_, run.error().message));
    return told.ok() || run.error().code == ErrorCode::aborted ? run : with_context(run.error(), told.error().message);
  }
  XDC_TRY(publish_start(share, run.value(), ""));
  return run;
}

Status Session::put_share(const Share& share, Deadline deadline) {
  const nlohmann::json json{{"launcher", id_},
                            {"where", where_},
                            {"members", describe_members(share.cluster, share.here)},
                            {"facts", share.facts},
                            {"allowed", share.allowed}};
  const auto patient = [this]() -> Store& { return memory_ ? static_cast<Store&>(*memory_) : *patient_; };
  const auto within_slices = [&](const auto& call) -> Status {
    for (;;) {
      XDC_TRY(check_signal());
      const Status status = call(std::min(deadline, clock_.now() + kSlice));
      if (status.ok() || status.error().code != ErrorCode::timeout) {
        return status;
      }
      if (!lease_ && patient_) {
        reach_again();
      }
      if (clock_.now() >= deadline) {
        return Error{ErrorCode::timeout,
                     fmt::format("nobody answers at {}, where the launcher of {} keeps the store: is it started, and is the "
                                 "line there? ({})",
                                 store_address_, share.cluster.describe(0), status.error().message)};
      }
    }
  };
  if (!lease_ && !alone()) {
    XDC_TRY(within_slices([&](Deadline until) -> Status {
      XDC_TRY_ASSIGN(lease_, patient().lease(kAlive, until));
      return ok_status();
    }));
    XDC_TRY(within_slices(
        [&](Deadline until) { return patient().put_if(alive_key(id_), where_, kAnyRevision, lease_.get(), until).status(); }));
  }
  for (const MemberId member : share.here) {
    XDC_TRY(within_slices([&](Deadline until) -> Status {
      const std::string key = share_key(share.prefix, member);
      XDC_TRY_ASSIGN(const uint64_t written, patient().put_if(key, json.dump(), 0, nullptr, until));
      XDC_TRY_ASSIGN(const auto there, patient().get(key, until));
      const std::string owner = there ? text_of(parse(there->value), "launcher") : "";
      if (written != 0 || owner == id_) {
        return ok_status();
      }
      if (there && !is_alive(owner)) {  // it was killed before the run began, and this one takes its place
        XDC_TRY_ASSIGN(const uint64_t replaced, patient().put_if(key, json.dump(), there->revision, nullptr, until));
        if (replaced != 0) {
          return ok_status();
        }
      }
      return there ? refuse_twice(share, member, *there) : Error{ErrorCode::timeout, "the store changes"};
    }));
  }
  return ok_status();
}

Status Session::refuse_twice(const Share& share, MemberId member, const StoreEntry& there) {
  const std::string who = share.cluster.describe(member), other = text_of(parse(there.value), "where");
  const std::string text = fmt::format("{} was started twice: by {}, and by {}", who, other, where_);
  const auto started = store().get(start_key(share.prefix), clock_.now() + kShort);
  if (started.ok() && !started.value()) {
    const Status told = publish_start(share, "", text);
    return Error{ErrorCode::failed, told.ok() ? text : fmt::format("{} ({})", text, told.error().message)};
  }
  return Error{ErrorCode::failed, fmt::format("{}; the run goes on without this one", text)};
}

Status Session::publish_start(const Share& share, const std::string& run, const std::string& refusal) {
  const nlohmann::json json{{"run", run}, {"refusal", refusal}};
  return store().put_if(start_key(share.prefix), json.dump(), 0, nullptr, clock_.now() + kShort).status();
}

Status Session::missing(const Share& share, const std::vector<MemberId>& members) const {
  return Error{ErrorCode::timeout,
               fmt::format("{}: no launcher has come within {} s; each needs an xdc-run with --datacenter, --node or --rank "
                           "(or XDC_*, PADDLE_*) whose store is {}",
                           describe_members(share.cluster, members), to_seconds(start_timeout_), store_address_)};
}

// The keeper's side.
Result<std::string> Session::gather(const Share& share, Deadline deadline) {
  std::vector<MemberId> absent;
  std::vector<std::pair<std::string, Fingerprint>> all;
  std::vector<std::string> allowed = share.allowed;
  launchers_.clear();
  for (const Member& member : share.cluster.members) {
    const std::string key = share_key(share.prefix, member.id);
    auto entry = memory_->watch(key, 0, clock_.now());
    while (!entry.ok() && clock_.now() < deadline) {
      XDC_TRY(check_signal());
      tell_time();
      // Somebody else may have refused: who came twice.
      XDC_TRY_ASSIGN(const auto refused, memory_->get(start_key(share.prefix), kNoDeadline));
      if (refused) {
        return Error{ErrorCode::failed, text_of(parse(refused->value), "refusal")};
      }
      entry = memory_->watch(key, 0, std::min(deadline, clock_.now() + kSlice));
    }
    if (!entry.ok()) {
      absent.push_back(member.id);
      continue;
    }
    const auto json = parse(entry.value().value);
    const std::string id = text_of(json, "launcher");
    if (!json.is_object() || !json.contains("facts") || !json.contains("allowed")) {
      return Error{ErrorCode::failed, fmt::format("{}: its launcher speaks another version's words", share.cluster.describe(member.id))};
    }
    const bool known = std::any_of(launchers_.begin(), launchers_.end(), [&id](const Launcher& launcher) { return launcher.id == id; });
    if (known) {
      continue;
    }
    launchers_.push_back({id, text_of(json, "where"), text_of(json, "members")});
    all.emplace_back(text_of(json, "members"), json["facts"].get<Fingerprint>());
    const auto others = json["allowed"].get<std::vector<std::string>>();
    std::erase_if(allowed, [&others](const std::string& key_allowed) {
      return std::find(others.begin(), others.end(), key_allowed) == others.end();
    });
  }
  std::erase_if(launchers_, [this](const Launcher& launcher) { return launcher.id == id_; });
  if (!absent.empty()) {
    return missing(share, absent).error();
  }
  if (const std::string table = differences(all, allowed); !table.empty()) {
    return Error{ErrorCode::failed, fmt::format("the launchers are not alike, so the run is not started:{}", table)};
  }
  return random_id();
}

// Everybody else's.
Result<std::string> Session::await_start(const Share& share, Deadline deadline) {
  for (;;) {
    XDC_TRY(check_signal());
    const auto entry = remote_->watch(start_key(share.prefix), 0, clock_.now() + kSlice);
    if (entry.ok()) {
      const auto json = parse(entry.value().value);
      const std::string refusal = text_of(json, "refusal");
      if (!refusal.empty()) {
        return Error{ErrorCode::failed, refusal};
      }
      return text_of(json, "run");
    }
    if (entry.error().code != ErrorCode::timeout) {
      return with_context(entry.error(), fmt::format("the launcher of {}, which keeps the store, is gone", share.cluster.describe(0)));
    }
    if (clock_.now() >= deadline) {
      return Error{ErrorCode::timeout, fmt::format("the launcher of {}, which keeps the store at {}, does not start the run",
                                                   share.cluster.describe(0), store_address_)};
    }
  }
}

void Session::tell(const std::string& prefix, const Tidings& event) {
  const nlohmann::json json{{"failure", event.kind == Tidings::Kind::failure}, {"weight", event.weight}, {"text", event.text}};
  const Deadline deadline = clock_.now() + kShort;
  for (;;) {
    const auto there = store().get(event_key(prefix), deadline);
    if (!there.ok()) {
      return;  // the store is gone, which the others notice by themselves
    }
    if (there.value()) {
      const auto before = parse(there.value()->value);
      const bool failure = before.is_object() && before.value("failure", false);
      if (failure && (event.kind == Tidings::Kind::stop || before.value("weight", 0) <= event.weight)) {
        return;
      }
    }
    const auto written = store().put_if(event_key(prefix), json.dump(), there.value() ? there.value()->revision : 0, nullptr, deadline);
    if (!written.ok() || written.value() != 0) {
      return;
    }
  }
}

Result<std::optional<Tidings>> Session::told(const std::string& prefix, uint64_t* revision, Duration patience) {
  tell_time();
  const auto entry = store().watch(event_key(prefix), *revision, clock_.now() + patience);
  if (!entry.ok() && entry.error().code == ErrorCode::timeout) {
    return std::optional<Tidings>();
  }
  if (!entry.ok()) {
    return entry.error();
  }
  *revision = entry.value().revision;
  const auto json = parse(entry.value().value);
  const bool failure = json.is_object() && json.value("failure", true);
  return std::optional(Tidings{failure ? Tidings::Kind::failure : Tidings::Kind::stop, json.is_object() ? json.value("weight", 1) : 1,
                               text_of(json, "text")});
}

std::string Session::silent_launchers() {
  std::string text;
  for (const Launcher& launcher : launchers_) {
    const auto bye = store().get(bye_key(launcher.id), clock_.now() + kShort);
    if (bye.ok() && !bye.value() && !is_alive(launcher.id)) {
      text += fmt::format("{}{} (started by {})", text.empty() ? "" : "; ", launcher.members, launcher.where);
    }
  }
  return text;
}

void Session::farewell() {
  if (parted_ || alone()) {
    return;
  }
  parted_ = true;
  if (!keeps_store()) {
    // Where the store is gone there is nobody left to tell.
    [[maybe_unused]] const auto told = remote_->put_if(bye_key(id_), "", kAnyRevision, nullptr, clock_.now() + kShort);
    lease_.reset();
    return;
  }
  const Deadline until = clock_.now() + kFarewell;
  for (const Launcher& launcher : launchers_) {
    while (clock_.now() < until && is_alive(launcher.id) &&
           !memory_->watch(bye_key(launcher.id), 0, clock_.now() + milliseconds(50)).ok()) {
    }
  }
}

}  // namespace xdc
