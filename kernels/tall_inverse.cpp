// Householder QR of [R factor so far; next rows], then Jacobi's singular values.
#include "kernels/tall_inverse.hpp"

#include <Eigen/Core>
#include <Eigen/QR>
#include <Eigen/SVD>
#include <algorithm>
#include <limits>

namespace blco {
namespace {

using Eigen::Index;
using Rows = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

// Of one decomposition, and of one product: they stay in the core's cache.
constexpr Index min_block_rows = 256;

}  // namespace

struct TallInverse::Impl {
  Index rank;
  Eigen::MatrixXd factor;  // upper triangular, R x R
  Eigen::MatrixXd first;   // (A^+)^T = A first second
  Eigen::MatrixXd second;

  Index block_rows() const { return std::max(min_block_rows, rank); }
};

TallInverse::TallInverse(int rank) : impl_(std::make_unique<Impl>()) {
  impl_->rank = rank;
  impl_->factor = Eigen::MatrixXd::Zero(rank, rank);
}

TallInverse::~TallInverse() = default;

void TallInverse::add_rows(std::span<const double> rows) {
  const Index rank = impl_->rank;
  const Eigen::Map<const Rows> all(rows.data(), static_cast<Index>(rows.size()) / rank, rank);
  for (Index at = 0; at < all.rows(); at += impl_->block_rows()) {
    const Index count = std::min(impl_->block_rows(), all.rows() - at);
    Eigen::MatrixXd stacked(rank + count, rank);
    stacked << impl_->factor, all.middleRows(at, count);
    const Eigen::HouseholderQR<Eigen::MatrixXd> qr(stacked);
    impl_->factor = qr.matrixQR().topRows(rank).triangularView<Eigen::Upper>();
  }
}

void TallInverse::finish() {
  const Eigen::JacobiSVD<Eigen::MatrixXd> svd(impl_->factor, Eigen::ComputeFullV);
  const Eigen::VectorXd& values = svd.singularValues();
  const double threshold =
      16 * static_cast<double>(impl_->rank) * std::numeric_limits<double>::epsilon() * values.maxCoeff();
  const Eigen::VectorXd inverted =
      values.unaryExpr([threshold](double value) { return value > threshold ? 1.0 / value : 0.0; });
  impl_->first = svd.matrixV() * inverted.asDiagonal();
  impl_->second = impl_->first.transpose();
}

void TallInverse::invert_rows(std::span<double> rows) const {
  const Index rank = impl_->rank;
  Eigen::Map<Rows> all(rows.data(), static_cast<Index>(rows.size()) / rank, rank);
  for (Index at = 0; at < all.rows(); at += impl_->block_rows()) {
    auto block = all.middleRows(at, std::min(impl_->block_rows(), all.rows() - at));
    const Eigen::MatrixXd basis = block * impl_->first;
    block = basis * impl_->second;
  }
}

}  // namespace blco
