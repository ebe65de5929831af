// Gives a finished model one order of its components and one choice of their signs.
#pragma once

#include <blco/model.hpp>

namespace blco {

// Scales every column but those of held modes to 2-norm 1, and the weights by what it had; zero columns stay, their
// weights become 0.
void normalise_columns(CpdModel& model);

// Sorts the components by falling 2-norm, which is the weight where columns have norm 1, ties by rising number. Then
// settles their signs, which a CP model leaves open: a component stays the same when an even number of its columns
// change sign. The dominant entry of a column is that of largest magnitude, the first of equals. As many columns as
// possible get a positive dominant entry; if one column must be left with a negative one, it is that whose dominant
// entry holds the least share of the column's squares, the last of equals; columns of modes with a constraint on signs
// stay as they are (after Bro, Acar & Kolda, Resolving the sign ambiguity in the singular value decomposition, 2008,
// and fixsigns of the Tensor Toolbox). A second call changes nothing. Requires one weight per component and whole
// factors. Works in place: beside the model it takes N R + 48 R bytes for N modes and rank R. One thread, two
// traversals of the factors.
void arrange_components(CpdModel& model);

}  // namespace blco
