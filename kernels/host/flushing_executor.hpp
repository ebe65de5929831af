// Runs tasks with denormal numbers treated as zero: factors that decay towards zero would otherwise slow arithmetic
// down a hundredfold.
#pragma once

#include "blco/executor.hpp"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace blco {

// While it lives, this thread reads and writes numbers below 2.2e-308 (f32: 1.2e-38) as zero.
class FlushDenormals {
 public:
#if defined(__SSE2__)
  FlushDenormals() : saved_(_mm_getcsr()) { _mm_setcsr(saved_ | flush_to_zero | denormals_are_zero); }
  ~FlushDenormals() { _mm_setcsr(saved_); }
#elif defined(__aarch64__)
  FlushDenormals() {
    asm volatile("mrs %0, fpcr" : "=r"(saved_));
    asm volatile("msr fpcr, %0" : : "r"(saved_ | flush_to_zero));
  }
  ~FlushDenormals() { asm volatile("msr fpcr, %0" : : "r"(saved_)); }
#else
  FlushDenormals() {}
#endif
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

 private:
#if defined(__SSE2__)
  static constexpr unsigned flush_to_zero = 1u << 15;
  static constexpr unsigned denormals_are_zero = 1u << 6;
  unsigned saved_;
#elif defined(__aarch64__)
  static constexpr unsigned long flush_to_zero = 1ul << 24;
  unsigned long saved_;
#endif
};

class FlushingExecutor final : public Executor {
 public:
  // `inner` must outlive this.
  explicit FlushingExecutor(Executor& inner) : inner_(inner) {}

  int width() const override { return inner_.width(); }
  void run(std::size_t count, const std::function<void(std::size_t)>& task) override {
    inner_.run(count, [&](std::size_t i) {
      const FlushDenormals flush;
      task(i);
    });
  }

 private:
  Executor& inner_;
};

}  // namespace blco
