/* SPDX-License-Identifier: BSD-3-Clause */
/* Images: textures, and pieces of the files of a folder. */
#define _GNU_SOURCE
#include "images.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef CBIR_PNG
#include <png.h>
#endif

#define PIXELS_MOST ((size_t)1 << 28)

static bool fail(struct images *images, const char *place, const char *what)
{
    (void)snprintf(images->error, sizeof images->error, "%s: %s", place, what);
    return false;
}

/* ---- chance, by number ---- */

static uint32_t mix(uint64_t *state)
{
    uint64_t z = *state += 0x9E3779B97F4A7C15U;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
    return (uint32_t)(z >> 32);
}

/* ---- textures: two waves across each other, and noise ---- */

static int wave(uint32_t phase)
{
    uint32_t t = phase >> 4 & 255;
    return (int)(t < 128 ? t : 255 - t);
}

static void make_texture(uint32_t number, uint8_t *pixels)
{
    uint64_t state = number;
    uint32_t ax = mix(&state) % 256, ay = mix(&state) % 256, bx = mix(&state) % 512, by = mix(&state) % 512;
    int one = (int)(mix(&state) % 256), other = (int)(mix(&state) % 128), base = (int)(mix(&state) % 160);
    uint32_t noise = mix(&state), grain = mix(&state) % 48 + 1;
    for (uint32_t y = 0; y < IMAGE_SIDE; y++) {
        for (uint32_t x = 0; x < IMAGE_SIDE; x++) {
            noise = noise * 1664525 + 1013904223;
            int value = base + (one * wave(x * ax + y * ay) >> 8) + (other * wave(x * bx - y * by) >> 7) +
                        (int)(noise >> 16) % (int)grain;
            pixels[y * IMAGE_SIDE + x] = (uint8_t)(value < 255 ? value : 255);
        }
    }
}

/* ---- files ---- */

static bool take_size(struct images *images, const char *file, uint32_t width, uint32_t height)
{
    if (width == 0 || height == 0 || (size_t)width * height > PIXELS_MOST)
        return fail(images, file, "an image of no pixels, or of more than 2^28");
    free(images->grey);
    images->width = width;
    images->height = height;
    images->grey = malloc((size_t)width * height);
    return images->grey || fail(images, file, "out of memory");
}

/* Numbers of a head of PGM or PPM, remarks left out; -1: it is none. */
static long next_number(FILE *stream)
{
    int c;
    long value;
    while ((c = fgetc(stream)) == '#' || c == ' ' || c == '\t' || c == '\r' || c == '\n') {
        while (c == '#' && (c = fgetc(stream)) != EOF && c != '\n')
            c = '#';
    }
    (void)ungetc(c, stream);
    return c >= '0' && c <= '9' && fscanf(stream, "%7ld", &value) == 1 ? value : -1;
}

static bool read_pnm_pixels(struct images *images, FILE *stream, bool colours)
{
    uint8_t rgb[3];
    for (size_t i = 0; i < (size_t)images->width * images->height; i++) {
        if (fread(rgb, 1, colours ? 3 : 1, stream) != (colours ? 3 : 1))
            return false;
        images->grey[i] = colours ? (uint8_t)((rgb[0] * 77 + rgb[1] * 150 + rgb[2] * 29) >> 8) : rgb[0];
    }
    return true;
}

static bool read_pnm(struct images *images, const char *file)
{
    FILE *stream = fopen(file, "rb");
    if (!stream)
        return fail(images, file, "cannot be read");
    int p = fgetc(stream), kind = fgetc(stream);
    long width = next_number(stream), height = next_number(stream), white = next_number(stream);
    bool fine = p == 'P' && (kind == '5' || kind == '6') && width > 0 && height > 0 && white > 0 && white < 256;
    (void)fgetc(stream);
    if (!fine)
        (void)fail(images, file, "is no PGM or PPM of bytes; expected P5 or P6, width, height, and 255 at most");
    else if ((fine = take_size(images, file, (uint32_t)width, (uint32_t)height)))
        fine = read_pnm_pixels(images, stream, kind == '6') || fail(images, file, "ends before its last pixel");
    (void)fclose(stream);
    return fine;
}

#ifdef CBIR_PNG
/* What is transparent is white. */
static bool read_png(struct images *images, const char *file)
{
    const png_color white = {255, 255, 255};
    png_image png = {.version = PNG_IMAGE_VERSION};
    bool fine = png_image_begin_read_from_file(&png, file) != 0;
    png.format = PNG_FORMAT_GRAY;
    if (!fine)
        (void)fail(images, file, png.message);
    else if ((fine = take_size(images, file, png.width, png.height)))
        fine = png_image_finish_read(&png, &white, images->grey, 0, NULL) != 0 || fail(images, file, png.message);
    png_image_free(&png);
    return fine;
}
#endif

static bool (*reader_of(const char *file))(struct images *, const char *)
{
    size_t length = strlen(file);
    const char *end = length > 4 ? file + length - 4 : "";
    if (strcmp(end, ".pgm") == 0 || strcmp(end, ".ppm") == 0)
        return read_pnm;
#ifdef CBIR_PNG
    if (strcmp(end, ".png") == 0)
        return read_png;
#endif
    return NULL;
}

/* ---- the folder ---- */

static struct images *filled; /* nftw has no context */

static int take_file(const char *path, const struct stat *about, int kind, struct FTW *where)
{
    (void)about;
    (void)where;
    if (kind != FTW_F || !reader_of(path))
        return 0;
    char **more = realloc(filled->files, (filled->file_count + 1) * sizeof *more);
    if (!more)
        return 1;
    filled->files = more;
    more[filled->file_count] = strdup(path);
    return more[filled->file_count++] == NULL;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

bool images_open(struct images *images, const char *folder, uint32_t count)
{
    *images = (struct images){.count = count, .last = UINT32_MAX};
    if (!folder)
        return true;
    filled = images;
    if (nftw(folder, take_file, 16, 0) != 0)
        return fail(images, folder, "cannot be read; expected a folder of images");
    if (images->file_count == 0)
        return fail(images, folder,
#ifdef CBIR_PNG
                    "has no image; expected .png, .pgm or .ppm"
#else
                    "has no image; expected .pgm or .ppm (.png needs a build with libpng)"
#endif
        );
    qsort(images->files, images->file_count, sizeof *images->files, by_name);
    return true;
}

void images_close(struct images *images)
{
    for (uint32_t i = 0; i < images->file_count; i++)
        free(images->files[i]);
    free(images->files);
    free(images->grey);
}

/* ---- one image ---- */

/* As many images of each file; those of one file have following numbers. */
static uint32_t file_of(const struct images *images, uint32_t number)
{
    return (uint32_t)((uint64_t)number * images->file_count / images->count);
}

const char *images_file(const struct images *images, uint32_t number)
{
    return images->files ? images->files[file_of(images, number)] : NULL;
}

/* From a place drawn by the number; a file that is smaller goes on from its beginning. */
static void cut(const struct images *images, uint32_t number, uint8_t *pixels)
{
    uint64_t state = number;
    uint32_t w = images->width, h = images->height;
    uint32_t left = mix(&state) % (w > IMAGE_SIDE ? w - IMAGE_SIDE + 1 : w);
    uint32_t top = mix(&state) % (h > IMAGE_SIDE ? h - IMAGE_SIDE + 1 : h);
    for (uint32_t y = 0; y < IMAGE_SIDE; y++) {
        const uint8_t *line = images->grey + (size_t)((top + y) % h) * w;
        for (uint32_t x = 0; x < IMAGE_SIDE; x++)
            pixels[y * IMAGE_SIDE + x] = line[(left + x) % w];
    }
}

bool images_read(struct images *images, uint32_t number, uint8_t *pixels)
{
    if (!images->files) {
        make_texture(number, pixels);
        return true;
    }
    uint32_t file = file_of(images, number);
    if (file != images->last && !reader_of(images->files[file])(images, images->files[file]))
        return false;
    images->last = file;
    cut(images, number, pixels);
    return true;
}
