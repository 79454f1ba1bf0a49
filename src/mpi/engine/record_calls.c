/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A call as items. What it says of messages is read from its statuses, which are ours where the program wants none; what
 * it ends, from the requests as they were before it.
 */
#include "base/clock.h"
#include "mpi/completions.h"
#include "mpi/engine/record.h"

#define PARTITIONED 0x9a7d3c51u /* these messages meet each other only */

static const struct hop_mpi_shim *mpi;
static uint32_t threads;

/* What a thread keeps from call to call. */
struct scribe {
    uint32_t thread; /* from 1 */
    uint32_t polled; /* its last call, which only asked, in the log; HOP_NONE: that did not */
    uint64_t begin_ns, own_ns;
    struct hop_completions about;
    uintptr_t freed; /* request that goes, or is cancelled */
    uint64_t begun;  /* how many there had been before the call */
    struct hop_item *items;
    uint32_t count, room;
    struct hop_request **taken; /* that are started, with where their items begin in first */
    uint32_t taken_count, taken_room;
    uint64_t window, window_ranks; /* that goes */
    uint64_t promised;             /* the number of a communicator that comes later */
    uint64_t where;                /* of the messages at hand */
    uint32_t tag;
    uint8_t flags;
    uint32_t sent, first_turn; /* parts of a collective, and how many of these do not wait for others' */
};
static __thread struct scribe scribe = {.polled = HOP_NONE};

/* ---- arguments ---- */

static const uintptr_t *role(enum hop_mpi_call call, const uintptr_t *arguments, char letter)
{
    return hop_role(&hop_mpi_rows[call], arguments, letter);
}

static uintptr_t word(enum hop_mpi_call call, const uintptr_t *arguments, char letter)
{
    const uintptr_t *at = role(call, arguments, letter);
    return at ? *at : 0;
}

static int out(enum hop_mpi_call call, const uintptr_t *arguments, char letter, int otherwise)
{
    const uintptr_t *at = role(call, arguments, letter);
    return at ? *(const int *)*at : otherwise;
}

void hop_calls_begin(const struct hop_mpi_shim *shim)
{
    mpi = shim;
    hop_rows_begin();
}

const char *hop_calls_name(uint32_t call)
{
    return hop_mpi_rows[call].name;
}

enum hop_mpi_kind hop_calls_kind(uint32_t call)
{
    return hop_mpi_rows[call].kind;
}

static bool is_recorded(enum hop_mpi_kind kind)
{
    return (kind >= KIND_START && kind < KIND_IO);
}

/* ---- before it ---- */

const uintptr_t *hop_record_enter(enum hop_mpi_call call, const uintptr_t *arguments)
{
    enum hop_mpi_kind kind = hop_mpi_rows[call].kind;
    if (!is_recorded(kind))
        return arguments;
    scribe.begin_ns = hop_now_ns();
    const uintptr_t *words = hop_completions_enter(&scribe.about, mpi, &hop_mpi_rows[call], arguments);
    scribe.begun = hop_requests_count();
    if (kind == KIND_FREE || kind == KIND_CANCEL)
        scribe.freed = mpi->request_at(arguments[0], 0);
    if (role(call, arguments, 'V')) {
        const struct hop_mpi_ranks *ranks = mpi->window(mpi->window_at(arguments[0], 0));
        scribe.window = ranks ? ranks->id : 0;
        scribe.window_ranks = ranks ? (uint64_t)ranks->size : 0;
    }
    return words;
}

/* ---- what it began ---- */

static void push(struct hop_item item)
{
    if (hop_grow(&scribe.items, &scribe.room, scribe.count + 1, sizeof item))
        scribe.items[scribe.count++] = item;
}

/* To another rank; together with those before to whom as much was sent, where they are as far apart. */
static void push_part(const struct hop_mpi_message *message)
{
    uint8_t flags = scribe.sent++ >= scribe.first_turn ? ITEM_SECOND : 0;
    struct hop_item *last = &scribe.items[scribe.count - 1];
    int64_t apart = (int64_t)message->peer - last->peer;
    bool goes_on = last->kind == ITEM_PART && last->flags == flags && last->size == message->bytes && apart > 0 &&
                   (last->tag == 1 || apart == (int64_t)last->tag * last->own_ns);
    if (message->peer < 0)
        return; /* of another job */
    if (goes_on) {
        last->own_ns = last->tag == 1 ? (uint32_t)apart : last->own_ns;
        last->tag++;
    } else {
        push((struct hop_item){
            .kind = ITEM_PART, .flags = flags, .peer = message->peer, .tag = 1, .own_ns = 1, .size = message->bytes});
    }
}

static void take(void *context, const struct hop_mpi_message *message)
{
    bool put = message->class == CLASS_ONE_SIDED, one_sided = put || message->class == CLASS_FETCHED;
    (void)context;
    if (message->received)
        return; /* the sender tells */
    if (message->class == CLASS_COLLECTIVE || message->class == CLASS_NEIGHBOUR)
        push_part(message);
    else
        push((struct hop_item){.kind = put         ? ITEM_PUT
                                       : one_sided ? ITEM_GET
                                                   : ITEM_SEND,
                               .flags = one_sided ? 0 : scribe.flags,
                               .peer = message->peer,
                               .tag = scribe.tag,
                               .where = scribe.where,
                               .size = message->bytes});
}

static const struct hop_mpi_ranks *ranks_of(enum hop_mpi_call call, const uintptr_t *arguments)
{
    const uintptr_t *window = role(call, arguments, 'w');
    return window ? mpi->window(*window) : mpi->ranks(word(call, arguments, 'c'));
}

/* Without those of another job, who record what they do by themselves. */
static uint64_t ranks_here(const struct hop_mpi_ranks *ranks)
{
    uint64_t here = ranks->inter ? (uint64_t)ranks->local_size : 0;
    for (int r = 0; ranks->world && r < ranks->size; r++)
        here += ranks->world[r] >= 0;
    return ranks->world ? here : here + (uint64_t)ranks->size;
}

/* Of those ranks, by a communicator or window of that number. */
static void push_together(enum hop_mpi_call call, const struct hop_mpi_ranks *ranks, uint64_t id)
{
    uint64_t here = ranks ? ranks_here(ranks) : 0;
    if (here > 1)
        push((struct hop_item){.kind = ITEM_TOGETHER, .call = (uint16_t)call, .peer = -1, .where = id, .size = here});
}

static void push_messages(enum hop_mpi_call call, const uintptr_t *arguments, const struct hop_mpi_ranks *ranks)
{
    enum hop_mpi_kind kind = hop_mpi_rows[call].kind;
    const char *name = hop_mpi_rows[call].name + strlen("MPI_");
    scribe.where = ranks->id ^ (role(call, arguments, 'p') ? PARTITIONED : 0);
    scribe.tag = (uint32_t)word(call, arguments, 'g');
    scribe.flags = name[0] == 'B' || strncmp(name, "Ib", 2) == 0                 ? ITEM_EAGER
                   : strncmp(name, "Ss", 2) == 0 || strncmp(name, "Iss", 3) == 0 ? ITEM_ANSWERED
                                                                                 : 0;
    scribe.sent = 0;
    scribe.first_turn = kind == KIND_SCAN                         ? 0
                        : kind == KIND_ALLREDUCE && !ranks->inter ? (uint32_t)ranks->size - 1
                                                                  : UINT32_MAX;
    (void)hop_mpi_decompose(mpi, &hop_mpi_rows[call], arguments, take, NULL);
}

/* From whom, told by a status; the ranks are those of its communicator. */
static void resolve(struct hop_item *item, const int *world, int ranks, struct hop_mpi_status status)
{
    bool fine = !status.cancelled && status.source >= 0 && status.source < ranks;
    item->flags = (uint8_t)((item->flags & ~ITEM_UNKNOWN) | (fine ? 0 : ITEM_OFF));
    if (fine) {
        item->peer = world ? world[status.source] : status.source;
        item->tag = (uint32_t)status.tag;
    }
}

/* What is received, or was found: whose place among the items, HOP_NONE: nobody's. */
static uint32_t push_receive(enum hop_mpi_call call, const uintptr_t *arguments, const struct hop_mpi_ranks *ranks,
                             enum hop_item_kind kind)
{
    int source = (int)word(call, arguments, 'f'), tag = (int)word(call, arguments, 'h');
    const uintptr_t *status = role(call, arguments, 'S');
    struct hop_item item = {.kind = (uint8_t)kind,
                            .peer = HOP_MPI_ELSEWHERE,
                            .tag = (uint32_t)tag,
                            .where = ranks->id ^ (role(call, arguments, 'p') ? PARTITIONED : 0)};
    if (source == mpi->proc_null)
        return HOP_NONE;
    if (source == mpi->any_source || tag == mpi->any_tag)
        item.flags |= ITEM_UNKNOWN;
    if (source >= 0 && source < ranks->size)
        item.peer = ranks->world ? ranks->world[source] : source;
    if (status && *status != mpi->status_ignore)
        resolve(&item, ranks->world, ranks->size, mpi->status_at((const void *)*status, 0));
    push(item);
    return scribe.count - 1;
}

/* ---- requests ---- */

/* Items from `first` on, among those of this call, belong to the request that came out; `receive` is one of them. */
static void add_request(const uintptr_t *out_at, bool persistent, uint32_t first, uint32_t receive,
                        const struct hop_mpi_ranks *ranks, uint32_t base, int partitions, uintptr_t makes)
{
    uint32_t count = scribe.count - first;
    struct hop_request request = {.handle = mpi->request_at(*out_at, 0),
                                  .first = persistent ? HOP_NONE : base + first,
                                  .count = scribe.items[first].kind == ITEM_TOGETHER ? 1 : count,
                                  .receive = receive == HOP_NONE ? HOP_NONE : receive - first,
                                  .makes = makes != mpi->comm_null,
                                  .comm = makes,
                                  .comm_id = scribe.promised,
                                  .partitions = receive == HOP_NONE ? partitions : 0};
    if (receive != HOP_NONE) {
        request.received = scribe.items[receive];
        request.ranks = ranks->size;
        if (request.received.flags & ITEM_UNKNOWN && ranks->world &&
            (request.world = calloc((size_t)ranks->size, sizeof(int))))
            memcpy(request.world, ranks->world, (size_t)ranks->size * sizeof(int));
    }
    if (persistent && (request.kept = calloc(count, sizeof *request.kept))) {
        memcpy(request.kept, &scribe.items[first], count * sizeof *request.kept);
        request.kept_count = count;
    }
    hop_requests_add(&request);
}

/* What a request that is started begins. */
static void push_kept(struct hop_request *request)
{
    if (!request->kept || !hop_grow(&scribe.taken, &scribe.taken_room, scribe.taken_count + 1, sizeof *scribe.taken)) {
        hop_requests_give_back(request);
        return;
    }
    request->first = scribe.count; /* until it is known where that is in the log */
    for (uint32_t i = 0; i < request->kept_count; i++)
        push(request->kept[i]);
    scribe.taken[scribe.taken_count++] = request;
}

static void start(uintptr_t handle)
{
    struct hop_request *request = hop_requests_take(handle, scribe.begun);
    if (!request)
        return;
    request->unready = request->partitions;
    if (request->unready == 0)
        push_kept(request);
    else
        hop_requests_give_back(request);
}

/* So many partitions more may leave, and what is sent leaves with the last. */
static void get_ready(enum hop_mpi_call call, const uintptr_t *a)
{
    bool one = call == CALL_MPI_Pready, range = call == CALL_MPI_Pready_range;
    uintptr_t handle = mpi->request_at((uintptr_t)&a[one ? 1 : 2], 0); /* itself */
    int partitions = one ? 1 : range ? (int)a[1] - (int)a[0] + 1 : (int)a[0];
    struct hop_request *request = hop_requests_ready(handle, scribe.begun, partitions);
    if (request)
        push_kept(request);
}

static void give_back_started(uint32_t base)
{
    for (uint32_t i = 0; i < scribe.taken_count; i++) {
        struct hop_request *request = scribe.taken[i];
        request->first = base == HOP_NONE ? HOP_NONE : base + request->first;
        hop_requests_give_back(request);
    }
    scribe.taken_count = 0;
}

/* What its status says of what it has begun. */
static void tell(const struct hop_request *request, struct hop_mpi_status status)
{
    struct hop_item known = request->received;
    if (request->receive != HOP_NONE) {
        if (known.flags & ITEM_UNKNOWN || status.cancelled)
            resolve(&known, request->world, request->ranks, status);
        hop_log_resolve(request->first + request->receive, &known);
    } else if (request->cancels && status.cancelled) {
        hop_log_leave_out(request->first);
    }
}

static void end_request(uintptr_t handle, const void *statuses, int index)
{
    struct hop_request *request = hop_requests_take(handle, scribe.begun);
    if (!request)
        return;
    if (request->first != HOP_NONE) {
        push((struct hop_item){.kind = ITEM_DONE, .peer = (int32_t)request->count - 1, .where = request->first});
        if ((uintptr_t)statuses != mpi->statuses_ignore)
            tell(request, mpi->status_at(statuses, index));
    }
    if (request->makes)
        mpi->keep_promise(request->comm, request->comm_id);
    request->first = HOP_NONE;
    request->cancels = false;
    if (request->kept)
        hop_requests_give_back(request);
    else
        hop_requests_drop(request);
}

/* ---- behind it ---- */

static const struct hop_mpi_ranks *made(enum hop_mpi_call call, const uintptr_t *a)
{
    const uintptr_t *comm = role(call, a, 'C'), *window = role(call, a, 'X');
    if (comm)
        return mpi->comm_at(*comm, 0) == mpi->comm_null ? NULL : mpi->ranks(mpi->comm_at(*comm, 0));
    return window ? mpi->window(mpi->window_at(*window, 0)) : NULL;
}

static void push_made(enum hop_mpi_call call, const struct hop_mpi_ranks *ranks)
{
    if (ranks)
        push_together(call, ranks, ranks->id);
}

/* What moves something, or waits for all. */
static void write_moves(enum hop_mpi_call call, const uintptr_t *a, uint32_t *receive,
                        const struct hop_mpi_ranks *ranks)
{
    enum hop_mpi_kind kind = hop_mpi_rows[call].kind;
    if (!ranks)
        return;
    if (kind == KIND_BARRIER || kind == KIND_FENCE || (kind >= KIND_BCAST && kind <= KIND_NEIGHBOUR_ALLTOALL))
        push_together(call, ranks, ranks->id);
    if (kind >= KIND_POINT && (kind == KIND_POINT || kind >= KIND_PUT || scribe.count > 1))
        push_messages(call, a, ranks);
    uint64_t kept = kind > KIND_BCAST && kind <= KIND_SCAN && scribe.count > 1
                        ? hop_mpi_kept(mpi, &hop_mpi_rows[call], a, ranks)
                        : 0;
    if (kept)
        push((struct hop_item){.kind = ITEM_KEPT, .size = kept});
    if (kind == KIND_PROBE)
        (void)push_receive(call, a, ranks, ITEM_PROBED);
    else if (role(call, a, 'f'))
        *receive = push_receive(call, a, ranks, ITEM_RECEIVE);
}

/* False: it only asked. */
static bool write_items(enum hop_mpi_call call, const uintptr_t *a, uint32_t *receive,
                        const struct hop_mpi_ranks *ranks)
{
    enum hop_mpi_kind kind = hop_mpi_rows[call].kind;
    if ((kind == KIND_PROBE || kind == KIND_MPROBE || kind == KIND_EPOCH || kind == KIND_ASIDE) && !out(call, a, 'F', 1))
        return false;
    if (kind == KIND_COMPLETE)
        return hop_completions_each(&scribe.about, &hop_mpi_rows[call], a, end_request);
    if (kind == KIND_START)
        start(mpi->request_at(a[0], 0));
    for (int i = 0; kind == KIND_START_ALL && i < (int)a[0]; i++)
        start(mpi->request_at(a[1], i));
    if (kind == KIND_READY)
        get_ready(call, a);
    if (kind == KIND_SYNC || kind == KIND_FENCE) {
        const uintptr_t *target = role(call, a, 'd');
        bool known = ranks && target && (int)*target >= 0 && (int)*target < ranks->size;
        push((struct hop_item){.kind = ITEM_SYNC,
                               .peer = known ? ranks->world ? ranks->world[*target] : (int)*target : HOP_MPI_ELSEWHERE,
                               .where = ranks ? ranks->id : 0});
    }
    if (ranks && (kind == KIND_EPOCH || call == CALL_MPI_Win_complete))
        hop_epochs_add(mpi, call, a, ranks, push);
    if (kind == KIND_COMM && role(call, a, 'q'))
        push_together(call, ranks, scribe.promised = mpi->promise(word(call, a, 'c')));
    else if (kind == KIND_COMM || role(call, a, 'X'))
        push_made(call, made(call, a));
    else if (role(call, a, 'V') && scribe.window_ranks > 1)
        push((struct hop_item){.kind = ITEM_TOGETHER,
                               .call = (uint16_t)call,
                               .peer = -1,
                               .where = scribe.window,
                               .size = scribe.window_ranks});
    else if (kind >= KIND_RECEIVE && kind != KIND_SYNC && kind != KIND_EPOCH)
        write_moves(call, a, receive, ranks);
    return true;
}

/* A receive that is cancelled, and whose end nobody asks for, is taken to get nothing. */
static void forget(uintptr_t handle)
{
    struct hop_request *request = hop_requests_take(handle, scribe.begun);
    if (request && request->cancels && request->first != HOP_NONE && request->receive != HOP_NONE)
        hop_log_leave_out(request->first + request->receive);
    hop_requests_drop(request);
}

static void cancel(uintptr_t handle)
{
    struct hop_request *request = hop_requests_take(handle, scribe.begun);
    if (!request)
        return;
    request->cancels = true;
    hop_requests_give_back(request);
}

static void write_call(enum hop_mpi_call call, const uintptr_t *a, struct hop_item about)
{
    const uintptr_t *request = role(call, a, 'q'), *persistent = role(call, a, 'Q'), *comes = role(call, a, 'C');
    const struct hop_mpi_ranks *ranks = role(call, a, 'w') || role(call, a, 'c') ? ranks_of(call, a) : NULL;
    uint32_t receive = HOP_NONE, base;
    scribe.count = 0;
    push(about);
    if (scribe.count == 0)
        return; /* no memory */
    bool asks = !write_items(call, a, &receive, ranks);
    if (asks) {
        if (hop_log_extend_poll(scribe.polled, about.where, about.size, about.own_ns))
            return;
        scribe.items[0].flags |= ITEM_POLL;
    }
    enum hop_mpi_kind kind = hop_mpi_rows[call].kind;
    bool later = request || persistent || (kind >= KIND_START && kind <= KIND_READY);
    for (uint32_t i = 1; later && i < scribe.count; i++)
        scribe.items[i].flags |= ITEM_LATER;
    base = hop_log_add(scribe.items, persistent ? 1 : scribe.count);
    scribe.polled = asks ? base : HOP_NONE;
    give_back_started(base);
    if (base != HOP_NONE && (request || persistent) && scribe.count > 1)
        add_request(request ? request : persistent, persistent != NULL, 1, receive, ranks, base,
                    (int)word(call, a, 'p'), comes ? mpi->comm_at(*comes, 0) : mpi->comm_null);
}

void hop_record_leave(enum hop_mpi_call call, const uintptr_t *arguments, uint64_t end_ns, bool paused)
{
    enum hop_mpi_kind kind = hop_mpi_rows[call].kind;
    if (!is_recorded(kind) || hop_log_full_ns())
        return;
    if (kind == KIND_FREE || kind == KIND_CANCEL) {
        if (kind == KIND_FREE)
            forget(scribe.freed);
        else
            cancel(scribe.freed);
        return;
    }
    if (!scribe.thread)
        scribe.thread = __atomic_add_fetch(&threads, 1, __ATOMIC_RELAXED);
    write_call(call, arguments,
               (struct hop_item){.kind = ITEM_CALL,
                                 .flags = paused ? ITEM_PAUSED : 0,
                                 .call = (uint16_t)call,
                                 .tag = scribe.thread,
                                 .own_ns = scribe.own_ns < UINT32_MAX ? (uint32_t)scribe.own_ns : UINT32_MAX,
                                 .where = scribe.begin_ns,
                                 .size = end_ns});
    scribe.own_ns = hop_now_ns() - end_ns;
}
