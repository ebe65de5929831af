// Which vector instructions the loops of this folder use; chosen when the program runs.
#pragma once

namespace blco {

// avx2: with BMI2, FMA and LZCNT, as in x86-64-v3.
enum class VectorLevel { portable, avx2, avx512 };

// The best that the processor has.
VectorLevel processor_vector_level();

// What the loops use: the best that the processor has, or the limit where that is lower.
VectorLevel vector_level();

// The function of the level.
template <class Function>
Function* at_vector_level(Function* portable, Function* avx2, Function* avx512) {
  const VectorLevel level = vector_level();
  return level == VectorLevel::avx512 ? avx512 : level == VectorLevel::avx2 ? avx2 : portable;
}

// For tests and measurements: from now on no loop of the process uses more than `most`. Results are the same at every
// level. Who has asked for a level before, such as a decoder that was made, may keep it.
void limit_vector_level(VectorLevel most);

}  // namespace blco
