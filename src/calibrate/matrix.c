/* SPDX-License-Identifier: BSD-3-Clause */
/* Small symmetric matrices: sums of squares, and Cholesky's decomposition A = L L', L in the lower half. */
#include "calibrate/matrix.h"

#include <math.h>

void hop_matrix_add(double *matrix, uint32_t n, const double *row, double weight, double value, double *vector)
{
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t j = 0; j < n && row[i] != 0; j++)
            matrix[(size_t)i * n + j] += weight * row[i] * row[j];
        vector[i] += weight * value * row[i];
    }
}

static bool decompose(double *a, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t j = 0; j <= i; j++) {
            double sum = a[(size_t)i * n + j];
            for (uint32_t k = 0; k < j; k++)
                sum -= a[(size_t)i * n + k] * a[(size_t)j * n + k];
            if (i == j && !(sum > 0))
                return false;
            a[(size_t)i * n + j] = i == j ? sqrt(sum) : sum / a[(size_t)j * n + j];
        }
    }
    return true;
}

static void solve_decomposed(const double *a, uint32_t n, double *right)
{
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t k = 0; k < i; k++)
            right[i] -= a[(size_t)i * n + k] * right[k];
        right[i] /= a[(size_t)i * n + i];
    }
    for (uint32_t i = n; i-- > 0;) {
        for (uint32_t k = i + 1; k < n; k++)
            right[i] -= a[(size_t)k * n + i] * right[k];
        right[i] /= a[(size_t)i * n + i];
    }
}

bool hop_matrix_solve(double *matrix, uint32_t n, double *right)
{
    if (!decompose(matrix, n))
        return false;
    solve_decomposed(matrix, n, right);
    return true;
}

bool hop_matrix_invert(double *matrix, uint32_t n, double *inverse)
{
    if (!decompose(matrix, n))
        return false;
    for (uint32_t k = 0; k < n; k++) { /* symmetric: columns are rows */
        for (uint32_t i = 0; i < n; i++)
            inverse[(size_t)k * n + i] = i == k;
        solve_decomposed(matrix, n, inverse + (size_t)k * n);
    }
    return true;
}
