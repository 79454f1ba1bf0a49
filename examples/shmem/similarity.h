/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Features of an image and how similar two of them are, in whole numbers, so that every machine finds the same.
 *
 * Features count pixels: by grey value in 64 classes, and by how much they differ from the next one to the right and
 * from the next one below, in 16 classes each. Similarity is how many counts two images have in common, the sum of
 * the lesser ones.
 */
#ifndef CBIR_SIMILARITY_H
#define CBIR_SIMILARITY_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "images.h"

enum { GREYS = 64, SLOPES = 16, FEATURES = GREYS + 2 * SLOPES };
enum { SIMILARITY_MOST = IMAGE_BYTES + 2 * IMAGE_SIDE * (IMAGE_SIDE - 1) };

static inline void features_of(const uint8_t *pixels, uint32_t features[FEATURES])
{
    uint32_t *greys = features, *right = features + GREYS, *below = right + SLOPES;
    memset(features, 0, FEATURES * sizeof *features);
    for (int y = 0; y < IMAGE_SIDE; y++, pixels += IMAGE_SIDE) {
        for (int x = 0; x < IMAGE_SIDE; x++)
            greys[pixels[x] / (256 / GREYS)]++;
        for (int x = 0; x < IMAGE_SIDE - 1; x++)
            right[abs(pixels[x] - pixels[x + 1]) / (256 / SLOPES)]++;
        for (int x = 0; x < IMAGE_SIDE && y < IMAGE_SIDE - 1; x++)
            below[abs(pixels[x] - pixels[x + IMAGE_SIDE]) / (256 / SLOPES)]++;
    }
}

static inline uint32_t similarity_of(const uint32_t *a, const uint32_t *b)
{
    uint32_t common = 0;
    for (int i = 0; i < FEATURES; i++)
        common += a[i] < b[i] ? a[i] : b[i];
    return common;
}

#endif
