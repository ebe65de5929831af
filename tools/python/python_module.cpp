// The extension module blco._blco: the library as the Python modules beside it use it.
#include <pthread.h>

#include <blco/version.hpp>
#include <chrono>
#include <iterator>
#include <thread>

#include "tools/python/python_support.hpp"

void blco::python::RunningJobs::end() {
  constexpr auto pause = std::chrono::milliseconds(5);
  constexpr int most_pauses = 2000;
  must_end_ = true;
  if (count_ == 0) return;  // the lock of an interpreter within another is not to be had again at the end of both
  const nanobind::gil_scoped_release unlocked;
  for (int pauses = 0; count_ > 0 && pauses < most_pauses; ++pauses) std::this_thread::sleep_for(pause);
}

NB_MODULE(_blco, module) {
  namespace nb = nanobind;
  using namespace blco;

  module.attr("version") = version_string;
  pthread_atfork(nullptr, nullptr, python::RunningJobs::forget);
  module.def("end_jobs", python::RunningJobs::end);
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const Error& error) {
      static constexpr const char* kinds[] = {"invalid_argument", "io",       "corrupt", "out_of_memory", "cuda",
                                              "not_built",        "cancelled"};
      static_assert(static_cast<std::size_t>(ErrorKind::cancelled) + 1 == std::size(kinds));
      const nb::object raised =
          nb::module_::import_("blco._errors").attr("of_kind")(kinds[static_cast<int>(error.kind())], error.what());
      PyErr_SetObject(raised.type().ptr(), raised.ptr());
    }
  });
  nb::class_<Progress>(module, "Progress", "How far a job has come.")
      .def_ro("stage", &Progress::stage)
      .def_ro("sweep", &Progress::sweep, "Sweep of a fit, from 1; else 0.")
      .def_ro("share", &Progress::share, "Done part of the stage, 0 to 1; negative if its end is unknown.")
      .def_ro("nonzeros", &Progress::nonzeros)
      .def_ro("bytes", &Progress::bytes)
      .def_ro("seconds", &Progress::seconds, "Since the stage began.");
  python::bind_tensors(module);
  python::bind_models(module);
  python::bind_fits(module);
  python::bind_options(module);
  python::bind_tucker(module);
}
