/* SPDX-License-Identifier: MIT */
/* -s and -S: the calls of each thread, or of all, as perf trace sums them, with percentiles. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "calls.h"
#include "delays.h"

enum { MOST_ERRNO = 530 };

struct calls_sum {
	uint32_t pid, tid;
	enum perch_syscall_abi abi;
	int64_t number;
	const struct perch_syscall *syscall;
	char comm[16];
	uint64_t calls, errors, untimed;
	uint64_t timed, total, least, most; /* of those with a duration, in ns */
	double mean, squares;		    /* Welford's method */
	struct cli_delays delays;
	uint32_t *errnos; /* by errno; NULL: none */
};

struct key {
	uint32_t tid;
	enum perch_syscall_abi abi;
	int64_t number;
};

static bool same_key(const void *items, uint32_t index, const void *key)
{
	const struct calls_sum *sum = &((const struct calls_sum *)items)[index];
	const struct key *other = key;

	return sum->tid == other->tid && sum->number == other->number && sum->abi == other->abi;
}

static struct calls_sum *get_sum(struct calls *calls, const struct calls_call *call)
{
	struct calls_summary *summary = &calls->summary;
	bool total = calls->mode == CALLS_TOTAL;
	struct key key = { total ? 0 : call->tid, call->call.abi, call->number };
	uint64_t hash =
		perch__hash_pair(summary->table.seed, key.tid, (uint64_t)key.number << 4 | key.abi);
	uint32_t index = perch__hash_find(&summary->table, hash, same_key, summary->sum, &key);
	struct calls_sum *sum;

	if (index != PERCH__HASH_NONE)
		return &summary->sum[index];
	if (!summary->nr)
		summary->table.seed = perch__hash_seed(summary);
	if (PERCH__ARRAY_RESERVE(summary->sum, summary->capacity, summary->nr + 1))
		return NULL;
	hash = perch__hash_pair(summary->table.seed, key.tid, (uint64_t)key.number << 4 | key.abi);
	if (perch__hash_add(&summary->table, hash, summary->nr))
		return NULL;
	sum = &summary->sum[summary->nr++];
	*sum = (struct calls_sum){
		.pid = total ? 0 : call->pid,
		.tid = key.tid,
		.abi = key.abi,
		.number = key.number,
		.syscall = call->call.syscall,
	};
	return sum;
}

static int add_duration(struct calls_sum *sum, uint64_t ns)
{
	double delta = (double)ns - sum->mean;

	if (cli_delays_add(&sum->delays, ns))
		return -ENOMEM;
	if (!sum->timed || ns < sum->least)
		sum->least = ns;
	sum->most = ns > sum->most ? ns : sum->most;
	sum->total += ns;
	sum->timed++;
	sum->mean += delta / (double)sum->timed;
	sum->squares += delta * ((double)ns - sum->mean);
	return 0;
}

int calls_summary_add(struct calls *calls, const struct calls_call *call)
{
	struct calls_sum *sum;

	if (calls->failures && (!call->has_result || call->result >= 0))
		return 0;
	sum = get_sum(calls, call);
	if (!sum)
		return -ENOMEM;
	sum->calls++;
	snprintf(sum->comm, sizeof(sum->comm), "%s", call->comm);
	if (call->has_result && call->result < 0 && call->result >= -4095) {
		unsigned errnum = (unsigned)-call->result;

		sum->errors++;
		if (calls->errnos && errnum <= MOST_ERRNO) {
			if (!sum->errnos)
				sum->errnos = calloc(MOST_ERRNO + 1, sizeof(*sum->errnos));
			if (!sum->errnos)
				return -ENOMEM;
			sum->errnos[errnum]++;
		}
	}
	if (call->open && call->has_result && call->what == PERCH_SYSCALL_JOINED)
		return add_duration(sum, call->time - call->open->time);
	sum->untimed++;
	return 0;
}

/* The middle of the class that has it, but within the times. */
static uint64_t percentile_of(const struct calls_sum *sum, double percent)
{
	uint64_t ns = cli_delays_percentile(&sum->delays, percent);

	return ns > sum->most ? sum->most : ns < sum->least ? sum->least : ns;
}

/* ---- output ---- */

static int by_thread(const void *left, const void *right)
{
	const struct calls_sum *a = left, *b = right;

	if (a->tid != b->tid)
		return a->tid < b->tid ? -1 : 1;
	if (a->total != b->total)
		return a->total > b->total ? -1 : 1;
	if (a->calls != b->calls)
		return a->calls > b->calls ? -1 : 1;
	return a->number < b->number ? -1 : a->number > b->number;
}

static void name_of(const struct calls_sum *sum, char *name, size_t size)
{
	if (sum->syscall)
		snprintf(name, size, "%s%s", perch_syscall_name(sum->syscall),
			 sum->abi == PERCH_SYSCALL_I386 ? "/32" : "");
	else
		snprintf(name, size, "syscall_%" PRId64, sum->number);
}

/* The standard deviation of the mean, as a share of it. */
static double deviation(const struct calls_sum *sum)
{
	double nr = (double)sum->timed;

	return sum->timed > 1 && sum->mean > 0
		       ? 100 * sqrt(sum->squares / (nr - 1) / nr) / sum->mean
		       : 0;
}

static void put_row(struct perch__output *out, const struct calls_sum *sum)
{
	char name[40], line[256];
	const double ms = 1e6;

	name_of(sum, name, sizeof(name));
	snprintf(line, sizeof(line),
		 "   %-16s %8" PRIu64 " %6" PRIu64 " %9.3f %9.3f %9.3f %9.3f %9.3f %9.3f %8.2f%%\n",
		 name, sum->calls, sum->errors, (double)sum->total / ms, (double)sum->least / ms,
		 sum->mean / ms, (double)percentile_of(sum, 50) / ms,
		 (double)percentile_of(sum, 99) / ms, (double)sum->most / ms, deviation(sum));
	perch__output_text(out, line);
	for (unsigned i = 0; sum->errnos && i <= MOST_ERRNO; i++) {
		const char *errno_name = perch_errno_name((int)i);

		if (!sum->errnos[i])
			continue;
		if (errno_name)
			snprintf(line, sizeof(line), "\t\t\t\t%s: %u\n", errno_name,
				 sum->errnos[i]);
		else
			snprintf(line, sizeof(line), "\t\t\t\t%u: %u\n", i, sum->errnos[i]);
		perch__output_text(out, line);
	}
}

static void put_heading(struct calls *calls, const struct calls_sum *sum, uint64_t nr, uint64_t all)
{
	struct perch__output *out = &calls->out;
	char line[160];

	if (calls->mode == CALLS_TOTAL) {
		snprintf(line, sizeof(line), " total, %" PRIu64 " calls\n\n", nr);
	} else {
		perch__output_char(out, ' ');
		perch__output_clean(out, sum->comm, strlen(sum->comm));
		snprintf(line, sizeof(line), " (%u), %" PRIu64 " calls, %.1f%%\n\n", sum->tid, nr,
			 all ? 100 * (double)nr / (double)all : 0);
	}
	perch__output_text(out, line);
	perch__output_text(
		out, "   syscall             calls  errors     total       min       avg       p50"
		     "       p99       max    stddev\n"
		     "                                     (msec)    (msec)    (msec)    (msec)"
		     "    (msec)    (msec)       (%)\n"
		     "   --------------- --------- ------ --------- --------- --------- ---------"
		     " --------- --------- ---------\n");
}

static void put_json(struct calls *calls, const struct calls_sum *sum)
{
	struct perch__json_writer *json = &calls->writer;
	char name[40];

	json->depth = 0;
	json->not_empty[0] = false;
	name_of(sum, name, sizeof(name));
	perch__json_begin_object(json);
	if (calls->mode != CALLS_TOTAL) {
		perch__json_put_number(json, "pid", sum->pid);
		perch__json_put_number(json, "tid", sum->tid);
		perch__json_put_text(json, "comm", sum->comm);
	}
	perch__json_put_text(json, "syscall", name);
	perch__json_put_integer(json, "calls", sum->calls);
	perch__json_put_integer(json, "errors", sum->errors);
	perch__json_put_integer(json, "without_duration", sum->untimed);
	perch__json_put_integer(json, "total", sum->total);
	perch__json_put_integer(json, "min", sum->least);
	perch__json_put_integer(json, "p50", percentile_of(sum, 50));
	perch__json_put_integer(json, "p99", percentile_of(sum, 99));
	perch__json_put_integer(json, "max", sum->most);
	if (sum->errnos) {
		perch__json_put_object(json, "errnos");
		for (unsigned i = 0; i <= MOST_ERRNO; i++) {
			const char *errno_name = perch_errno_name((int)i);
			char number[16];

			snprintf(number, sizeof(number), "%u", i);
			if (sum->errnos[i])
				perch__json_put_number(json, errno_name ? errno_name : number,
						       sum->errnos[i]);
		}
		perch__json_end(json);
	}
	perch__json_end(json);
	perch__output_char(&calls->out, '\n');
}

int calls_summary_print(struct calls *calls)
{
	struct calls_summary *summary = &calls->summary;
	uint64_t all = 0;

	for (size_t i = 0; i < summary->nr; i++)
		all += summary->sum[i].calls;
	if (summary->nr)
		qsort(summary->sum, summary->nr, sizeof(*summary->sum), by_thread);
	if (!calls->json)
		perch__output_text(&calls->out, "\n Summary of events:\n\n");
	for (size_t i = 0, end; i < summary->nr; i = end) {
		uint64_t nr = 0;

		for (end = i; end < summary->nr && summary->sum[end].tid == summary->sum[i].tid;
		     end++)
			nr += summary->sum[end].calls;
		if (!calls->json)
			put_heading(calls, &summary->sum[i], nr, all);
		for (size_t k = i; k < end; k++)
			if (calls->json)
				put_json(calls, &summary->sum[k]);
			else
				put_row(&calls->out, &summary->sum[k]);
		if (!calls->json)
			perch__output_text(&calls->out, "\n\n");
	}
	return 0;
}

void calls_summary_clear(struct calls_summary *summary)
{
	for (size_t i = 0; i < summary->nr; i++) {
		cli_delays_clear(&summary->sum[i].delays);
		free(summary->sum[i].errnos);
	}
	free(summary->sum);
	perch__hash_clear(&summary->table);
}
