/* SPDX-License-Identifier: MIT */
/*
 * The busiest cgroups have a row each, the rest has one. A counter must never go back: a cgroup
 * that gets a row starts at 0 there, and what a row had becomes a part of the rest when it is given
 * up. Cgroups whose paths have characters that are not printable are always in the rest.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <perch/error.h>

#include "base/hash_table.h"
#include "counters.h"

#define MOST_ROWS	AGENT_MOST_CGROUPS
#define MOST_CANDIDATES 512
#define IDLE_NS		300000000000ull /* without samples, until a row is given up */
#define LEAST_SAMPLES	10		/* of a cgroup that takes the row of another one */

struct sums {
	uint64_t samples, cpu_ns, off_ns;
};

struct row {
	char *path; /* NULL: free */
	uint64_t hash;
	struct sums sums;
	uint64_t samples; /* since the last choice */
	uint64_t usual;	  /* samples between choices, the late ones more */
	uint64_t seen;	  /* ns: the last choice before which there were samples */
};

/* A cgroup without a row. */
struct candidate {
	char *path;
	uint64_t hash, samples; /* samples: since the last choice */
};

struct agent_cgroups {
	uint64_t seed;
	struct row row[MOST_ROWS];
	struct sums rest, unknown; /* unknown: of samples without a cgroup */
	char *mount;
	struct candidate candidate[MOST_CANDIDATES];
	size_t nr_candidates;
};

struct agent_cgroups *agent_cgroups_new(const char *mount)
{
	struct agent_cgroups *cgroups = calloc(1, sizeof(*cgroups));

	if (!cgroups)
		return NULL;
	cgroups->seed = perch__hash_seed(cgroups);
	cgroups->mount = mount ? strdup(mount) : NULL;
	return cgroups;
}

void agent_cgroups_free(struct agent_cgroups *cgroups)
{
	if (!cgroups)
		return;
	for (size_t i = 0; i < MOST_ROWS; i++)
		free(cgroups->row[i].path);
	for (size_t i = 0; i < cgroups->nr_candidates; i++)
		free(cgroups->candidate[i].path);
	free(cgroups->mount);
	free(cgroups);
}

static struct row *find_row(struct agent_cgroups *cgroups, const char *path, uint64_t hash)
{
	for (size_t i = 0; i < MOST_ROWS; i++)
		if (cgroups->row[i].path && cgroups->row[i].hash == hash &&
		    !strcmp(cgroups->row[i].path, path))
			return &cgroups->row[i];
	return NULL;
}

/* Paths that are equal as text would be one series twice. */
static bool is_clean(const char *path)
{
	char clean[PATH_MAX];

	perch_clean_text(path, clean, sizeof(clean));
	return !strcmp(path, clean);
}

static void note_candidate(struct agent_cgroups *cgroups, const char *path, uint64_t hash)
{
	struct candidate *candidate;

	for (size_t i = 0; i < cgroups->nr_candidates; i++) {
		candidate = &cgroups->candidate[i];
		if (candidate->hash == hash && !strcmp(candidate->path, path)) {
			candidate->samples++;
			return;
		}
	}
	if (cgroups->nr_candidates == MOST_CANDIDATES || !is_clean(path))
		return;
	candidate = &cgroups->candidate[cgroups->nr_candidates];
	*candidate = (struct candidate){ .path = strdup(path), .hash = hash, .samples = 1 };
	cgroups->nr_candidates += candidate->path != NULL;
}

void agent_cgroups_add(struct agent_cgroups *cgroups, const char *path, bool off_cpu, uint64_t ns)
{
	uint64_t hash = path ? perch__hash_text(cgroups->seed, path) : 0;
	struct row *row = path ? find_row(cgroups, path, hash) : NULL;
	struct sums *sums = row ? &row->sums : path ? &cgroups->rest : &cgroups->unknown;

	if (row)
		row->samples++;
	else if (path)
		note_candidate(cgroups, path, hash);
	sums->samples += !off_cpu;
	*(off_cpu ? &sums->off_ns : &sums->cpu_ns) += ns;
}

/* ---- who has a row ---- */

static int compare_candidates(const void *a, const void *b)
{
	const struct candidate *first = a, *second = b;

	return (first->samples < second->samples) - (first->samples > second->samples);
}

static void give_up(struct agent_cgroups *cgroups, struct row *row)
{
	cgroups->rest.samples += row->sums.samples;
	cgroups->rest.cpu_ns += row->sums.cpu_ns;
	cgroups->rest.off_ns += row->sums.off_ns;
	free(row->path);
	*row = (struct row){ .path = NULL };
}

static void note_usual(struct agent_cgroups *cgroups, struct row *row, uint64_t now)
{
	if (row->samples)
		row->seen = now;
	row->usual = (row->usual + row->samples + 1) / 2;
	row->samples = 0;
	if (row->path && now - row->seen > IDLE_NS)
		give_up(cgroups, row);
}

/* The row that a candidate gets: a free one, or that of the least busy if it is much less busy. */
static struct row *row_for(struct agent_cgroups *cgroups, const struct candidate *candidate)
{
	struct row *least = &cgroups->row[0];

	for (size_t i = 0; i < MOST_ROWS; i++) {
		struct row *row = &cgroups->row[i];

		if (!row->path)
			return row;
		if (row->usual < least->usual)
			least = row;
	}
	if (candidate->samples < LEAST_SAMPLES || candidate->samples / 2 <= least->usual)
		return NULL;
	give_up(cgroups, least);
	return least;
}

void agent_cgroups_choose(struct agent_cgroups *cgroups, uint64_t now)
{
	size_t next = 0;

	qsort(cgroups->candidate, cgroups->nr_candidates, sizeof(*cgroups->candidate),
	      compare_candidates);
	for (size_t i = 0; i < MOST_ROWS; i++)
		note_usual(cgroups, &cgroups->row[i], now);
	for (; next < cgroups->nr_candidates; next++) {
		const struct candidate *candidate = &cgroups->candidate[next];
		struct row *row = row_for(cgroups, candidate);

		if (!row)
			break;
		*row = (struct row){ .path = candidate->path,
				     .hash = candidate->hash,
				     .usual = candidate->samples,
				     .seen = now };
	}
	while (next < cgroups->nr_candidates)
		free(cgroups->candidate[next++].path);
	cgroups->nr_candidates = 0;
}

static int compare_rows(const void *a, const void *b)
{
	const struct row *first = *(const struct row *const *)a,
			 *second = *(const struct row *const *)b;

	return (first->usual < second->usual) - (first->usual > second->usual);
}

size_t agent_cgroups_paths(struct agent_cgroups *cgroups, const char *paths[AGENT_MOST_CGROUPS])
{
	const struct row *rows[MOST_ROWS] = { NULL };
	size_t nr = 0;

	for (size_t i = 0; i < MOST_ROWS; i++)
		if (cgroups->row[i].path)
			rows[nr++] = &cgroups->row[i];
	qsort(rows, nr, sizeof(*rows), compare_rows);
	for (size_t i = 0; i < nr; i++)
		paths[i] = rows[i]->path;
	return nr;
}

/* ---- metrics ---- */

static void put_sum(const struct sums *sums, const char *cgroup, size_t member, double unit,
		    struct agent_metrics *metrics)
{
	uint64_t value;

	memcpy(&value, (const char *)sums + member, sizeof(value));
	agent_metric_value(metrics, "cgroup", cgroup, (double)value / unit);
}

static void put_sums(struct agent_cgroups *cgroups, struct agent_metrics *metrics, size_t member,
		     double unit)
{
	for (size_t i = 0; i < MOST_ROWS; i++)
		if (cgroups->row[i].path)
			put_sum(&cgroups->row[i].sums, cgroups->row[i].path, member, unit, metrics);
	put_sum(&cgroups->rest, "other", member, unit, metrics);
	put_sum(&cgroups->unknown, "unknown", member, unit, metrics);
}

/* Reads "NAME NUMBER" of a file of a cgroup, or NAME=NUMBER. Returns false if it has none. */
static bool read_number(const char *mount, const char *cgroup, const char *file, const char *name,
			double *number)
{
	char path[2 * PATH_MAX], line[256];
	size_t length = strlen(name);
	bool found = false;
	FILE *in;

	/* the path is from the kernel, below the mount point of the hierarchy */
	snprintf(path, sizeof(path), "%s%s/%s", mount, cgroup, file);
	in = strstr(cgroup, "..") ? NULL : fopen(path, "re");
	while (in && !found && fgets(line, sizeof(line), in)) {
		const char *at = strstr(line, name);

		found = at && (at == line || at[-1] == ' ') &&
			sscanf(at + length, "%*1[ =]%lf", number) == 1;
	}
	if (in)
		fclose(in);
	return found;
}

static void put_kernel_counts(struct agent_cgroups *cgroups, bool faults,
			      struct agent_metrics *metrics)
{
	static const struct {
		const char *file, *name, *metric, *help;
		double unit;
	} numbers[] = {
		{ "cpu.stat", "usage_usec", "perch_cgroup_cpu_usage_seconds",
		  "CPU time of a cgroup, as the kernel counts it.", 1e6 },
		{ "cpu.stat", "throttled_usec", "perch_cgroup_throttled_seconds",
		  "Time that a cgroup was throttled by cpu.max.", 1e6 },
		{ "memory.stat", "pgfault", "perch_cgroup_page_faults", "Page faults of a cgroup.",
		  1 },
		{ "cpu.pressure", "total", "perch_cgroup_run_queue_delay_seconds",
		  "Time in which at least one thread of a cgroup waited for a CPU.", 1e6 },
	};
	double number;

	for (size_t i = 0; cgroups->mount && i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		bool has_values = false;

		if (!faults && !strcmp(numbers[i].file, "memory.stat"))
			continue;
		for (size_t j = 0; j < MOST_ROWS; j++) {
			const char *path = cgroups->row[j].path;

			if (!path || !read_number(cgroups->mount, path, numbers[i].file,
						  numbers[i].name, &number))
				continue;
			if (!has_values)
				agent_metric_counter(metrics, numbers[i].metric, numbers[i].help);
			has_values = true;
			agent_metric_value(metrics, "cgroup", path, number / numbers[i].unit);
		}
	}
}

void agent_cgroups_put(struct agent_cgroups *cgroups, bool cpu, bool off_cpu, bool faults,
		       struct agent_metrics *metrics)
{
	agent_metric_counter(metrics, "perch_cgroup_samples", "Samples of a cgroup.");
	put_sums(cgroups, metrics, offsetof(struct sums, samples), 1);
	if (cpu) {
		agent_metric_counter(metrics, "perch_cgroup_cpu_seconds",
				     "CPU time of a cgroup by samples.");
		put_sums(cgroups, metrics, offsetof(struct sums, cpu_ns), 1e9);
	}
	if (off_cpu) {
		agent_metric_counter(metrics, "perch_cgroup_off_cpu_seconds",
				     "Time that threads of a cgroup were off the CPU.");
		put_sums(cgroups, metrics, offsetof(struct sums, off_ns), 1e9);
	}
	put_kernel_counts(cgroups, faults, metrics);
}
