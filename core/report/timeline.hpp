// What happened when, for Perfetto (ui.perfetto.dev) and chrome://tracing? Chrome's trace events as JSON, in virtual time.
//
//   process    one a variant and datacenter: "hierarchical fp16: beijing"
//   thread     one a rank and stream of work ("rank 3 compute"), one a rank and lane ("rank 3 exchange"), one for the steps
//   async      one track a direction between datacenters, in the sender's process ("beijing → shanghai"), and one for messages inside
//              ("inside"): from the start of sending to the moment the last byte has left; the arrival is an argument
// Times are microseconds with three decimals: whole nanoseconds.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace xdc {

class Timeline {
 public:
  struct Member {
    int datacenter = 0;
    std::string name;  // "rank 3", "server 0"
  };
  // `first_process` .. first_process + datacenters.size() - 1 are this variant's processes: no other variant of the file may have them.
  Timeline(int first_process, const std::string& variant, std::vector<std::string> datacenters, std::vector<Member> members);

  // Work of a member that nothing else on its `track` overlaps with.
  void work(int member, std::string_view track, std::string_view name, int64_t start_ns, int64_t end_ns);
  struct Message {
    int from = 0, to = 0;
    std::string_view channel;
    int64_t round = 0;
    int64_t start_ns = 0, left_ns = 0, arrival_ns = 0;
    int64_t payload_bytes = 0, wire_bytes = 0;
  };
  void message(const Message& message);
  // A moment with a value or two: an evaluation.
  void mark(int member, std::string_view name, int64_t time_ns, const std::vector<std::pair<std::string, double>>& values);

  // Events one a line, each with ",\n" behind it; what was taken is gone.
  std::string take();

 private:
  int process_of(int member) const;
  int thread_of(int member, std::string_view track);
  void event(std::string text);

  int first_process_;
  std::vector<std::string> datacenters_;
  std::vector<Member> members_;
  std::map<std::pair<int, std::string>, int> threads_;
  int64_t messages_ = 0;
  std::string text_;
};

// The file: the parts of all variants as take() gave them.
std::string timeline_file(const std::vector<std::string>& parts);

}  // namespace xdc
