/* SPDX-License-Identifier: BSD-3-Clause */
/* Small symmetric matrices, row by row, as fits and designs of measurements need them. */
#ifndef HOP_CALIBRATE_MATRIX_H
#define HOP_CALIBRATE_MATRIX_H

#include "base/base.h"

/* Adds weight x row row' to a matrix, and weight x value x row to a vector. */
void hop_matrix_add(double *matrix, uint32_t n, const double *row, double weight, double value, double *vector);
/* Solves for one right side in place by Cholesky's decomposition, which the matrix becomes; false: it is not positive. */
bool hop_matrix_solve(double *matrix, uint32_t n, double *right);
/* The inverse of a matrix, which becomes its decomposition; false: it is not positive. */
bool hop_matrix_invert(double *matrix, uint32_t n, double *inverse);

#endif
