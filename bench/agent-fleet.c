/* SPDX-License-Identifier: MIT */
/*
 * What 10,000 agents send, by a simulation: the bytes of one window of a node, which the encoder of
 * perch makes of synthetic call chains, what engines refuse of it by default, and when requests
 * come; and what an agent keeps for some minutes. Then a node with 256 CPUs and 5,000 containers.
 * Half of the CPUs are busy; agent_load.h has the model.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <perch/encoder.h>

#include "agent/push/push.h"
#include "agent/window/window.h"
#include "agent_load.h"
#include "bench.h"

enum {
	NODES = 10000,
	NAME = 64,
	MINUTES = 10,
};

static void must(int rc)
{
	if (rc < 0) {
		fprintf(stderr, "agent-fleet: error %d\n", rc);
		exit(1);
	}
}

struct node {
	unsigned cpus, services;
	struct perch_encoder *encoder;
	uint32_t *location;		   /* by service and function; 0: not added yet */
	uint32_t *labels;		   /* by service; 0: not added yet */
	uint64_t samples, rows, most_rows; /* most: of one service */
};

static void add_location(struct node *node, uint32_t service, uint32_t function, uint32_t *number)
{
	struct perch_encoder_line line = { .line = function % 500 + 1 };
	struct perch_encoder_location location = {
		.lines = &line,
		.nr_lines = 1,
		.address = function * 64 + 4096,
	};
	char name[NAME], file[NAME];

	/* a service runs one of 20 programs; a third of the functions are of the C library */
	if (function < FUNCTIONS / 3) {
		snprintf(name, sizeof(name), "__library_function_%u", function);
		snprintf(file, sizeof(file), "../sysdeps/unix/part_%u.c", function / 8);
	} else {
		snprintf(name, sizeof(name), "program%u::module_%u::Type%u::method_%u",
			 service % PROGRAMS, function / 40, function / 10, function);
		snprintf(file, sizeof(file), "/build/program%u/src/module_%u.cc",
			 service % PROGRAMS, function / 40);
	}
	line.name = name;
	line.file = file;
	must(perch_encoder_add_location(node->encoder, &location, number, NULL));
}

static uint32_t location_of(struct node *node, uint32_t service, uint32_t function)
{
	uint32_t *number = &node->location[service * FUNCTIONS + function];

	if (!*number)
		add_location(node, service, function, number);
	return *number;
}

static uint32_t stack_of(struct node *node, uint32_t service, uint32_t rank)
{
	uint32_t function[DEPTH_MAX], depth = chain_of(service, rank, function), stack = 0;

	for (uint32_t i = 0; i < depth; i++)
		must(perch_encoder_add_stack(node->encoder, stack,
					     location_of(node, service, function[i]), &stack,
					     NULL));
	return stack;
}

static uint32_t labels_of(struct node *node, uint32_t service)
{
	char id[65], name[NAME];
	const struct perch_encoder_label labels[] = {
		{ .key = "container.id", .text = id, .resource = true },
		{ .key = "service.name", .text = name, .resource = true },
	};

	if (node->labels[service])
		return node->labels[service];
	for (unsigned i = 0; i < 64; i++)
		id[i] = "0123456789abcdef"[random_below(16)];
	id[64] = 0;
	snprintf(name, sizeof(name), "service-%u", service);
	must(perch_encoder_add_labels(node->encoder, labels, 2, &node->labels[service], NULL));
	return node->labels[service];
}

/* Takes the samples of one window: half of the CPUs are busy. */
static void fill_node(struct node *node)
{
	static const struct perch_encoder_event event = {
		.name = "cpu-clock",
		.unit = "nanoseconds",
		.sample_ns = 1000000000 / HZ,
	};
	static const uint8_t profile_id[16] = { 1 };
	const struct perch_encoder_options options = {
		.events = &event,
		.nr_events = 1,
		.time_ns = 1700000000000000000u,
		.duration_ns = WINDOW_SECONDS * 1000000000ull,
		.profile_id = profile_id,
	};
	uint32_t *rows = calloc((size_t)node->services * STACKS, sizeof(*rows));
	uint32_t *of_service = calloc(node->services, sizeof(*of_service));

	node->location = calloc((size_t)node->services * FUNCTIONS, sizeof(*node->location));
	node->labels = calloc(node->services, sizeof(*node->labels));
	must(rows && of_service && node->location && node->labels ? 0 : -1);
	must(perch_encoder_new(&node->encoder, &options, NULL));
	node->samples = (uint64_t)node->cpus * HZ * WINDOW_SECONDS / 2;
	for (uint64_t i = 0; i < node->samples; i++)
		rows[random_rank(node->services) * STACKS + random_rank(STACKS)]++;
	for (uint32_t i = 0; i < node->services * STACKS; i++) {
		struct perch_encoder_sample sample = {
			.samples = rows[i],
			.value = rows[i] * event.sample_ns,
		};

		if (!rows[i])
			continue;
		sample.stack = stack_of(node, i / STACKS, i % STACKS);
		sample.labels = labels_of(node, i / STACKS);
		must(perch_encoder_add(node->encoder, &sample, NULL));
		node->rows++;
		if (++of_service[i / STACKS] > node->most_rows)
			node->most_rows = of_service[i / STACKS];
	}
	free(rows);
	free(of_service);
}

static size_t bytes_of(struct node *node, enum perch_encoder_format format, unsigned flags)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	int rc = out ? perch_encoder_write(node->encoder, format, flags, out, NULL) : -1;

	if (out)
		fclose(out);
	free(text);
	if (rc == -ENOTSUP) {
		printf("agent-fleet: skipped: perch was built without protobuf-c\n");
		exit(BENCH_SKIPPED);
	}
	must(rc);
	return size;
}

static double cpu_seconds(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
	       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static void free_node(struct node *node)
{
	perch_encoder_free(node->encoder);
	free(node->location);
	free(node->labels);
}

/* A limit of an engine in its default configuration, and what of it the agents need. */
static void put_limit(const char *limit, double most, double need, const char *unit)
{
	printf("  %s: %g %s, needed %.3g: %s\n", limit, most, unit, need,
	       need <= most ? "taken" : "REFUSED");
}

static void put_engines(const struct node *node, double raw, double gzip)
{
	const double per_second = gzip / WINDOW_SECONDS;

	printf("defaults of engines, all nodes as one tenant:\n");
	put_limit("Pyroscope 2.2, ingestion rate of a tenant", 4, per_second * NODES / 1e6, "MB/s");
	put_limit("Pyroscope 2.2, samples of a profile", 16000, (double)node->most_rows, "samples");
	put_limit("Pyroscope 2.2, a profile uncompressed", 4.194304, raw / 1e6, "MB");
	put_limit("Pyroscope 2.2, age of a window after an outage of an hour", 3600, 3600, "s");
	put_limit("Collector 0.159, body of a request", 20.97152, raw / 1e6, "MB");
	put_limit("Collector 0.159, a message by gRPC", 4.194304, raw / 1e6, "MB");
}

static void put_window(struct node *node)
{
	double begin = cpu_seconds(), made, written;
	size_t otlp, raw, pprof;

	fill_node(node);
	made = cpu_seconds();
	otlp = bytes_of(node, PERCH_ENCODER_OTLP, PERCH_ENCODER_GZIP);
	written = cpu_seconds();
	raw = bytes_of(node, PERCH_ENCODER_OTLP, 0);
	pprof = bytes_of(node, PERCH_ENCODER_PPROF, PERCH_ENCODER_GZIP);
	printf("%u CPUs, %u services, %d Hz, window of %d s: %" PRIu64 " samples, %" PRIu64
	       " rows; OTLP %.0f kB, gzip %.0f kB, pprof %.0f kB\n",
	       node->cpus, node->services, HZ, WINDOW_SECONDS, node->samples, node->rows, raw / 1e3,
	       otlp / 1e3, pprof / 1e3);
	printf("  CPU time of a window: encoder %.0f ms, gzip %.0f ms: %.4f %% of the machine\n",
	       (made - begin) * 1e3, (written - made) * 1e3,
	       (written - begin) * 100 / WINDOW_SECONDS / node->cpus);
	printf("  bytes: %.1f kB/s of a node; %d nodes: %.1f MB/s, %.0f requests/s\n",
	       otlp / 1e3 / WINDOW_SECONDS, NODES, (double)otlp / 1e6 / WINDOW_SECONDS * NODES,
	       (double)NODES / WINDOW_SECONDS);
	printf("  series of profiles: %u of a node, %u in sum if each has its own services\n",
	       node->services, node->services * NODES);
	if (raw > AGENT_BODY_MAX)
		printf("  the window is larger than a request may be: MISSED\n");
	put_engines(node, (double)raw, (double)otlp);
}

/* Adds a sample of a service, as the loop of the agent does. */
static void add_sample(struct agent_window *window, const struct perch_dso *dso, uint32_t service,
		       uint32_t rank)
{
	struct agent_address address[DEPTH_MAX];
	char cgroup[NAME];
	uint32_t function[DEPTH_MAX], depth = chain_of(service, rank, function);
	const struct agent_sample sample = {
		.chain = address,
		.nr = depth,
		.labels = { .cgroup = cgroup, .comm = "worker" },
		.period = 1000000000 / HZ,
	};

	snprintf(cgroup, sizeof(cgroup), "/system.slice/service-%u.service", service);
	for (uint32_t i = 0; i < depth; i++)
		address[i] = (struct agent_address){
			.dso = &dso[service % PROGRAMS],
			.offset = function[depth - 1 - i] * 64 + 4096,
			.mode = '.',
			.caller = i > 0,
		};
	agent_window_add(window, &sample);
}

/* What the agent keeps of a node for the time of --history. */
static void put_history(const struct node *node, unsigned seconds, unsigned mb)
{
	static const struct perch_dso dso[PROGRAMS];
	struct agent_window *window = agent_window_new((size_t)mb << 20, HISTORY_SECONDS);
	struct agent_window_stats stats = { .samples = 0 };
	double begin = cpu_seconds();
	size_t peak = 0;

	must(window ? 0 : -1);
	for (unsigned second = 0; second < seconds; second++) {
		for (unsigned i = 0; i < node->cpus * HZ / 2; i++)
			add_sample(window, dso, random_rank(node->services), random_rank(STACKS));
		agent_window_cut(window, second * 1000000000ull);
		agent_window_get_stats(window, &stats);
		peak = stats.bytes > peak ? stats.bytes : peak;
	}
	printf("history of %u s of %u CPUs and %u services: %" PRIu64
	       " samples, at most %.1f MB of "
	       "%u; %.1f %% truncated, %.1f %% dropped before their time; %.0f ns of CPU time each\n",
	       seconds, node->cpus, node->services, stats.samples, (double)peak / 1048576, mb,
	       (double)stats.truncated_samples * 100 / (double)stats.samples,
	       (double)stats.dropped_samples * 100 / (double)stats.samples,
	       (cpu_seconds() - begin) * 1e9 / (double)stats.samples);
	if (peak > (size_t)mb << 20)
		printf("  it is more than its limit: MISSED\n");
	agent_window_free(window);
}

/* All agents start in one moment. Prints the most requests in a second of some minutes. */
static void put_jitter(unsigned nodes)
{
	static const unsigned shown[] = { 0, 1, 2, 5, 9 };
	static uint32_t requests[MINUTES * 60];
	uint64_t end = MINUTES * 60ull * 1000000000, interval = WINDOW_SECONDS * 1000000000ull;

	memset(requests, 0, sizeof(requests));
	for (unsigned i = 0; i < nodes; i++)
		for (uint64_t at = agent_push_first(interval); at < end;
		     at += agent_push_jitter(interval))
			requests[at / 1000000000]++;
	printf("%u agents that start in one moment, mean %.0f requests/s; without jitter %u in one "
	       "moment; the most in a second:\n",
	       nodes, (double)nodes / WINDOW_SECONDS, nodes);
	for (size_t i = 0; i < sizeof(shown) / sizeof(*shown); i++) {
		uint32_t most = 0;

		for (unsigned k = 0; k < 60; k++)
			if (requests[shown[i] * 60 + k] > most)
				most = requests[shown[i] * 60 + k];
		printf("  minute %u: %u, %.2f times the mean\n", shown[i] + 1, most,
		       most / ((double)nodes / WINDOW_SECONDS));
	}
	printf("after an outage of an hour: %d windows of each agent wait, one in a second: %u "
	       "requests/s for %.0f s\n",
	       3600 / WINDOW_SECONDS, nodes,
	       3600.0 / WINDOW_SECONDS * WINDOW_SECONDS / (WINDOW_SECONDS - 1));
}

int main(void)
{
	struct node node = { .cpus = 64, .services = 30 };
	struct node large = { .cpus = 256, .services = (unsigned)bench_size(5000, 500) };
	struct rusage usage;

	put_window(&node);
	free_node(&node);
	put_history(&node, (unsigned)bench_size(HISTORY_SECONDS, 20), 16);
	put_jitter((unsigned)bench_size(NODES, 1000));
	put_window(&large);
	free_node(&large);
	put_history(&large, (unsigned)bench_size(HISTORY_SECONDS, 20), 16);
	put_history(&large, (unsigned)bench_size(HISTORY_SECONDS, 20), 128);
	getrusage(RUSAGE_SELF, &usage);
	printf("peak memory %.0f MB\n", usage.ru_maxrss / 1e3);
	return 0;
}
