/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Images: the database that is searched, by number. They are cut from the images of a folder, or, without one, are
 * textures made from their numbers. Every process has the same images, whoever asks for which and when.
 */
#ifndef CBIR_IMAGES_H
#define CBIR_IMAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { IMAGE_SIDE = 128, IMAGE_BYTES = IMAGE_SIDE * IMAGE_SIDE };

struct images {
    uint32_t count;
    char **files; /* ascending; NULL: textures */
    uint32_t file_count;
    /* The file that was read last: neighbours are cut from the same one. */
    uint32_t last;
    uint8_t *grey;
    uint32_t width, height;
    char error[512]; /* what is wrong, and what was expected */
};

/* Files below the folder, also in folders therein: .pgm and .ppm, and .png if built with libpng. False: see `error`. */
bool images_open(struct images *images, const char *folder, uint32_t count);
void images_close(struct images *images);
/* Image `number` as IMAGE_BYTES grey values, line by line. False: see `error`. */
bool images_read(struct images *images, uint32_t number, uint8_t *pixels);
/* The file from which it is cut; NULL: it is a texture. */
const char *images_file(const struct images *images, uint32_t number);

#endif
