// Tells ThreadSanitizer who runs and what is ordered. Does nothing without it.
//
// A context is one thread of execution for ThreadSanitizer: a CUDA thread, a stream, or a real thread. Entering one
// orders nothing; release and acquire of the same place do.
#pragma once

#ifdef SIMT_TSAN
#include <sanitizer/tsan_interface.h>
#endif

namespace simt {

#ifdef SIMT_TSAN

inline constexpr bool finds_races_here = true;

// Starts after all that the calling context did.
inline void* create_race_context() { return __tsan_create_fiber(0); }
inline void destroy_race_context(void* context) {
  if (context != nullptr) __tsan_destroy_fiber(context);
}
inline void* current_race_context() { return __tsan_get_current_fiber(); }
inline void enter_race_context(void* context) { __tsan_switch_to_fiber(context, __tsan_switch_to_fiber_no_sync); }
inline void release_here(void* place) { __tsan_release(place); }
inline void acquire_here(void* place) { __tsan_acquire(place); }

#else

inline constexpr bool finds_races_here = false;

inline void* create_race_context() { return nullptr; }
inline void destroy_race_context(void*) {}
inline void* current_race_context() { return nullptr; }
inline void enter_race_context(void*) {}
inline void release_here(void*) {}
inline void acquire_here(void*) {}

#endif

inline void release_in(void* context, void* place) {
  void* here = current_race_context();
  enter_race_context(context);
  release_here(place);
  enter_race_context(here);
}

inline void acquire_in(void* context, void* place) {
  void* here = current_race_context();
  enter_race_context(context);
  acquire_here(place);
  enter_race_context(here);
}

}  // namespace simt
