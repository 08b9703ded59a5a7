#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/base/check.hpp"
#include "tests/gpu/fake_cuda.hpp"

namespace {

enum class Kind { all_reduce, reduce, broadcast };

// One collective: where each rank's data lies, and who has come to it.
struct Operation {
  std::map<int, void*> data;
  std::set<int> reached;  // at the head of their streams
  bool done = false;
};

struct Group {
  int size = 0;
  bool complete = false;  // all have come
  bool lost = false;      // a member has aborted
  std::map<int, ncclComm*> members;
  std::vector<std::shared_ptr<Operation>> operations;
};

}  // namespace

struct ncclComm {
  std::shared_ptr<Group> group;
  int rank = 0;
  ncclComm_t* handle = nullptr;  // where the caller wants the communicator
  size_t next = 0;
  ncclResult_t error = ncclSuccess;
  std::shared_ptr<bool> aborted = std::make_shared<bool>(false);
};

namespace {

std::map<std::string, std::shared_ptr<Group>> groups;
std::set<ncclComm*> alive;
std::shared_ptr<Group> newest;
ncclResult_t refusal = ncclSuccess;
int ids_made = 0;
size_t group_size = 0;
thread_local int group_depth = 0;
thread_local size_t grouped = 0;

template <class T>
void sum(const Operation& operation, size_t count, const std::vector<void*>& into) {
  for (size_t i = 0; i < count; ++i) {
    T total{};
    for (const auto& [rank, data] : operation.data) {
      total += static_cast<const T*>(data)[i];
    }
    for (void* where : into) {
      static_cast<T*>(where)[i] = total;
    }
  }
}

void carry_out(Kind kind, const Operation& operation, size_t count, ncclDataType_t type, int root) {
  std::vector<void*> into;
  for (const auto& [rank, data] : operation.data) {
    if (kind != Kind::reduce || rank == root) {
      into.push_back(data);
    }
  }
  if (kind == Kind::broadcast) {
    const size_t width = type == ncclFloat32 ? sizeof(float) : sizeof(int64_t);
    for (void* where : into) {
      std::memmove(where, operation.data.at(root), count * width);
    }
  } else if (type == ncclFloat32) {
    sum<float>(operation, count, into);
  } else {
    XDC_CHECK(type == ncclInt64);
    sum<int64_t>(operation, count, into);
  }
}

ncclResult_t take_part(Kind kind, const void* from, void* to, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
                       cudaStream_t stream) {
  XDC_CHECK(from == to && group_depth > 0);
  ++grouped;
  ncclResult_t answer = ncclSuccess;
  xdc::fake::locked([&] {
    answer = std::exchange(refusal, ncclSuccess);
    if (answer != ncclSuccess) {
      return;
    }
    auto group = comm->group;
    const size_t index = comm->next++;
    if (group->operations.size() <= index) {
      group->operations.push_back(std::make_shared<Operation>());
    }
    auto operation = group->operations[index];
    operation->data[comm->rank] = to;
    const int rank = comm->rank;
    xdc::fake::enqueue(stream, [=, aborted = comm->aborted] {
      operation->reached.insert(rank);
      if (!operation->done && static_cast<int>(operation->reached.size()) == group->size && !group->lost) {
        carry_out(kind, *operation, count, type, root);
        operation->done = true;
      }
      return operation->done || *aborted;
    });
    answer = ncclInProgress;
  });
  return answer;
}

void forget(ncclComm_t comm) {
  XDC_CHECK(alive.erase(comm) == 1);
  comm->group->members.erase(comm->rank);
  delete comm;
}

}  // namespace

namespace xdc::fake {

void break_communicator(int rank, ncclResult_t error) {
  locked([&] { newest->members.at(rank)->error = error; });
}
size_t communicators_alive() {
  size_t count = 0;
  locked([&] { count = alive.size(); });
  return count;
}
void refuse_next_operation(ncclResult_t error) {
  locked([&] { refusal = error; });
}
size_t last_group_size() { return group_size; }

}  // namespace xdc::fake

// NCCL's own functions from here on.

ncclResult_t ncclAllReduce(const void* from, void* to, size_t count, ncclDataType_t type, ncclRedOp_t op, ncclComm_t comm,
                           cudaStream_t stream) {
  XDC_CHECK(op == ncclSum);
  return take_part(Kind::all_reduce, from, to, count, type, 0, comm, stream);
}

ncclResult_t ncclBroadcast(const void* from, void* to, size_t count, ncclDataType_t type, int root, ncclComm_t comm, cudaStream_t stream) {
  return take_part(Kind::broadcast, from, to, count, type, root, comm, stream);
}

ncclResult_t ncclReduce(const void* from, void* to, size_t count, ncclDataType_t type, ncclRedOp_t op, int root, ncclComm_t comm,
                        cudaStream_t stream) {
  XDC_CHECK(op == ncclSum);
  return take_part(Kind::reduce, from, to, count, type, root, comm, stream);
}

ncclResult_t ncclCommAbort(ncclComm_t comm) {
  xdc::fake::locked([&] {
    *comm->aborted = true;
    *comm->handle = comm;                       // what NCCL's connecting thread does last, however late it ends
    comm->group->lost = comm->group->complete;  // before that, nobody is connected to us
    forget(comm);
  });
  return ncclSuccess;
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  xdc::fake::locked([&] { forget(comm); });
  return ncclSuccess;
}

ncclResult_t ncclCommFinalize(ncclComm_t /*comm*/) { return ncclInProgress; }

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* state) {
  xdc::fake::locked([&] {
    const auto& group = *comm->group;
    *state = comm->error != ncclSuccess ? comm->error : group.lost ? ncclRemoteError : group.complete ? ncclSuccess : ncclInProgress;
  });
  return ncclSuccess;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int size, ncclUniqueId id, int rank, ncclConfig_t* config) {
  XDC_CHECK(config->blocking == 0);
  xdc::fake::locked([&] {
    auto& group = groups[std::string(id.internal, sizeof(id.internal))];
    if (group == nullptr) {
      group = std::make_shared<Group>();
      group->size = size;
      newest = group;
    }
    auto* made = new ncclComm{group, rank, comm};
    XDC_CHECK(group->members.emplace(rank, made).second);
    alive.insert(made);
    group->complete = static_cast<int>(group->members.size()) == size;
    *comm = made;
  });
  return ncclInProgress;
}

const char* ncclGetErrorString(ncclResult_t code) {
  return code == ncclRemoteError ? "remote process exited or there was a network error" : "another NCCL error";
}

const char* ncclGetLastError(ncclComm_t /*comm*/) { return ""; }

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  xdc::fake::locked([&] {
    std::memset(id->internal, 0, sizeof(id->internal));
    const auto text = "made " + std::to_string(++ids_made);
    std::memcpy(id->internal, text.data(), text.size());
  });
  return ncclSuccess;
}

ncclResult_t ncclGroupEnd() {
  XDC_CHECK(--group_depth == 0);
  group_size = std::exchange(grouped, 0);
  return ncclInProgress;
}

ncclResult_t ncclGroupStart() {
  ++group_depth;
  return ncclSuccess;
}
