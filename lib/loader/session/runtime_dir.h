// Where the files of live sessions are, and who may see them.
//
//   <runtime>                    $EGPU_RUNTIME_DIR, else /dev/shm/egpu-UID; mode 0700
//   <runtime>/load-PID.sock      agents connect here; PID is egpu-load's
//   <runtime>/PID/maps           snapshot file; PID is the target's
//   <runtime>/PID/control        egpu-map asks egpu-load here
//
// Every directory is checked before use: ours, a real directory (no link), closed to others.
// A session lives as long as somebody listens on its control socket; when nobody does, its
// directory is what a killed egpu-load left behind, and listing removes it.
#pragma once
#include <sys/types.h>

#include <string>
#include <vector>

#include "egpu/result.h"

namespace egpu::session {

struct Live {
  pid_t pid;  // the target
  std::string directory;
};

/// The runtime directory, made if need be. Error: it cannot be made, or is not safe to use.
Result<std::string> runtime_dir();

/// The directory of one target, made if need be.
Result<std::string> process_dir(pid_t target);

/// Removes a target's directory with what is in it; nothing happens if there is none.
void remove_process_dir(pid_t target);

/// `<runtime>/load-PID.sock` for this process.
Result<std::string> agent_socket_path();

/// All sessions whose control socket somebody listens on, ascending by pid. Removes the others.
Result<std::vector<Live>> live_sessions();

inline std::string maps_path(const std::string &process_directory) { return process_directory + "/maps"; }
inline std::string control_path(const std::string &process_directory) {
  return process_directory + "/control";
}

}  // namespace egpu::session
