/* SPDX-License-Identifier: BSD-3-Clause */
/* Elements of MPI's types, and what reductions of them come to; a part of collectives.c. */

/* Of a type: reads, writes and combines as a long does, which all of them hold the numbers of. */
struct element {
    const char *name;
    MPI_Datatype type;
    int size;
    char kind; /* i: signed, u, f, b: bits, t: true or false, c: complex, its parts the number and its opposite */
};

static long get(const struct element *e, const char *at)
{
    long value = 0;
    if (e->kind == 'c') {
        struct element part = {"part", MPI_DATATYPE_NULL, e->size / 2, 'f'};
        value = get(&part, at);
        return get(&part, at + part.size) == -value ? value : -1;
    }
    if (e->kind == 'f') {
        double d;
        float f;
        memcpy(&d, at, e->size == 8 ? 8 : 0);
        memcpy(&f, at, e->size == 4 ? 4 : 0);
        return e->size == 8 ? (long)d : (long)f;
    }
    memcpy(&value, at, (size_t)e->size);
    if (e->kind == 'i' && e->size < 8 && value >> (8 * e->size - 1) & 1)
        value -= 1L << (8 * e->size);
    return value;
}

static void put(const struct element *e, char *at, long value)
{
    double d = (double)value;
    float f = (float)value;
    if (e->kind == 'c') {
        struct element part = {"part", MPI_DATATYPE_NULL, e->size / 2, 'f'};
        put(&part, at, value);
        put(&part, at + part.size, -value);
        return;
    }
    if (e->kind == 'f')
        memcpy(at, e->size == 8 ? (void *)&d : (void *)&f, (size_t)e->size);
    else
        memcpy(at, &value, (size_t)e->size);
}

static long input(int rank, long i)
{
    return (rank * 7 + i * 3) % 11 + 1;
}

static long combine(MPI_Op op, long a, long b)
{
    return op == MPI_SUM    ? a + b
           : op == MPI_PROD ? a * b
           : op == MPI_MAX  ? (a > b ? a : b)
           : op == MPI_MIN  ? (a < b ? a : b)
           : op == MPI_BAND ? (a & b)
           : op == MPI_BOR  ? (a | b)
           : op == MPI_BXOR ? (a ^ b)
           : op == MPI_LAND ? (a && b)
           : op == MPI_LOR  ? (a || b)
           : op == MPI_LXOR ? (!a != !b)
                            : 0;
}

static bool is_logical(MPI_Op op)
{
    return op == MPI_LAND || op == MPI_LOR || op == MPI_LXOR;
}

/* Of truth values some are false. */
static long given(MPI_Op op, int rank, long i)
{
    return is_logical(op) ? input(rank, i) % 3 : input(rank, i);
}

/* What the reduction of all inputs is at a place, cut to the type. */
static long reduced(const struct element *e, MPI_Op op, int ranks, long i)
{
    char cut[16] = {0};
    long all = given(op, 0, i);
    for (int r = 1; r < ranks; r++)
        all = combine(op, all, given(op, r, i));
    put(e, cut, all);
    return get(e, cut);
}
