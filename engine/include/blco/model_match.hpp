// Compares two models: which component of one is which of the other, and how alike they are.
#pragma once

#include <blco/model.hpp>
#include <vector>

namespace blco {

struct ComponentMatch {
  int component = 0;      // of the first model, from 0
  int other = 0;          // of the second
  double score = 0;       // 0 to 1
  double congruence = 0;  // the product of the cosines alone, 0 to 1
};

struct ModelMatch {
  double score = 0;                   // the mean of the pairs' scores; 1: the same model
  std::vector<ComponentMatch> pairs;  // as many as the smaller rank, by falling weight in the first model
};

// Pairs components such that the sum of their scores is the largest possible. The score of components with weights w
// and v and columns a_n and b_n is (1 - |w - v| / max(w, v)) * prod_n |cos(a_n, b_n)|, and their mean is the factor
// match score (Acar, Dunlavy, Kolda & Morup 2011, section 5.1). The order of the components does not matter, nor do
// signs. Rows are compared by their labels where a mode has labels in both models, else by their coordinates; a row
// that one model alone has counts as zero in the other. Takes sum I_n * R * S operations and 8 * R * S bytes for ranks
// R and S, and an assignment of R^2 * S steps more. Throws Error{invalid_argument} if the models differ in order, or in
// the length of a mode without labels, or if the labels of a mode have none in common.
ModelMatch match_components(const CpdModel& first, const CpdModel& second);

}  // namespace blco
