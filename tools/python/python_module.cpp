// The extension module blco._blco: the library as the Python modules beside it use it.
#include <blco/version.hpp>
#include <iterator>

#include "tools/python/python_support.hpp"

NB_MODULE(_blco, module) {
  namespace nb = nanobind;
  using namespace blco;

  module.attr("version") = version_string;
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
  python::bind_tucker(module);
}
