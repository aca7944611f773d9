/* SPDX-License-Identifier: MIT */
/*
 * Calls in a signal handler all functions that the headers name as async-signal-safe, with events
 * of the running kernel. While the handler runs, functions of the C library that allocate, lock or
 * format are replaced by ones that report their use. The signal arrives at any place of code that
 * allocates and opens events. signal_safe.py checks that no function of the headers is missing
 * here.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include <perch/count.h>
#include <perch/ring.h>
#include <perch/sampler.h>

#define SIGNALS 300
#define PAGES	8

/* The function that the handler used, but must not; NULL is none. */
static const char *volatile forbidden;
static volatile sig_atomic_t in_handler, signals;

static void note_use(const char *function)
{
	if (in_handler)
		forbidden = function;
}

#define WRAP(type, name, parameters, arguments) \
	type __real_##name parameters;          \
	type __wrap_##name parameters;          \
	type __wrap_##name parameters           \
	{                                       \
		note_use(#name);                \
		return __real_##name arguments; \
	}

WRAP(void *, malloc, (size_t size), (size))
WRAP(void *, calloc, (size_t nr, size_t size), (nr, size))
WRAP(void *, realloc, (void *memory, size_t size), (memory, size))
WRAP(void, free, (void *memory), (memory))
WRAP(FILE *, fopen, (const char *path, const char *mode), (path, mode))
WRAP(DIR *, opendir, (const char *path), (path))
WRAP(char *, strerror, (int number), (number))
WRAP(char *, getenv, (const char *name), (name))
WRAP(int, pthread_mutex_lock, (pthread_mutex_t * mutex), (mutex))
WRAP(int, vsnprintf, (char *text, size_t size, const char *format, va_list arguments),
     (text, size, format, arguments))

int __wrap_snprintf(char *text, size_t size, const char *format, ...);
int __wrap_snprintf(char *text, size_t size, const char *format, ...)
{
	va_list arguments;
	int length;

	note_use("snprintf");
	va_start(arguments, format);
	length = __real_vsnprintf(text, size, format, arguments);
	va_end(arguments);
	return length;
}

/* ---- the objects of the handler ---- */

static struct perch_counter *counter;
static struct perch_group *group;
static struct perch_set *set;
static struct perch_sampler *sampler;
static struct perch_machine *machine;
static struct perch_cpus cpus;
static struct perch_ring *ring, *merged, *newest;
static struct perch_merge *merge;
static struct perch_decoder *decoder;
static struct perch_attr attr;
static int fd, merged_fd, newest_fd;
static uint64_t aux_memory[512], records;

static void use_errors(void)
{
	static const char text[] = "a\x1b[0mb";
	struct perch_error err = { .kind = PERCH_ERROR_NONE };
	char clean[32];

	perch_error_field(&err, "sample_type", "4.1");
	perch_error_cause(&err, PERCH_CAUSE_ATTR_SIZE);
	perch_error_kind_slug(PERCH_ERROR_FORK);
	perch_error_kind_meaning(PERCH_ERROR_FORK);
	perch_cause_slug(err.cause);
	perch_cause_meaning(err.cause);
	perch_cause_kind(err.cause);
	perch_clean_text(text, clean, sizeof(clean));
}

static void use_machine(void)
{
	perch_machine_syscalls(machine);
	perch_machine_set_probing(machine, perch_machine_probing(machine));
	/* once for this machine, which keeps the answer, and each time for NULL */
	perch_machine_breakpoints_fire(machine, NULL);
	perch_machine_breakpoints_fire(NULL, NULL);
	perch_sysctl_name(PERCH_SYSCTL_PARANOID);
	perch_cpus_contains(&cpus, 0);
}

/* Also refusals: they are explained only for a caller with an error. */
static void use_descriptors(void)
{
	const struct perch_target nobody = { .tid = 0x7fffffff, .cpu = -1 };
	uint32_t ids[4], nr;
	uint64_t id;
	int own = perch_open(&attr, NULL, -1, 0, NULL, NULL);

	perch_open(&attr, &nobody, -1, 0, NULL, NULL);
	perch_event_enable(own, false, NULL, NULL);
	perch_event_disable(own, false, NULL, NULL);
	perch_event_reset(own, false, NULL, NULL);
	perch_event_refresh(own, 1, NULL, NULL);
	perch_event_set_period(own, 1000, NULL, NULL);
	perch_event_set_period(own, 0, NULL, NULL);
	perch_event_set_output(own, -1, NULL, NULL);
	perch_event_set_output(own, own, NULL, NULL);
	perch_event_set_filter(own, "none", &attr, NULL, NULL);
	perch_event_id(own, NULL, &id, NULL);
	perch_event_set_bpf(own, -1, NULL, NULL);
	perch_event_query_bpf(own, NULL, ids, 4, &nr, NULL);
	perch_event_pause_output(own, true, NULL, NULL);
	perch_event_modify(own, &attr, NULL, NULL);
	close(own);
	perch_event_enable(-1, false, NULL, NULL);
	perch_tasks_disable(NULL, NULL);
	perch_tasks_enable(NULL, NULL);
}

/* The page of an event that is not on a counter, and pages that cannot be used. */
static void use_pages(void)
{
	static const struct perch_mmap_page valid = { .cap_user_time_zero = 1,
						      .time_mult = 1 << 20,
						      .time_shift = 20 },
					    no_clock, locked = { .lock = 1 };
	const struct perch_mmap_page *pages[] = { &valid, &no_clock, &locked };
	struct perch_clock_conversion clock;
	uint64_t enabled, running;

	for (size_t i = 0; i < sizeof(pages) / sizeof(pages[0]); i++) {
		perch_page_times(pages[i], &enabled, &running, NULL);
		if (!perch_clock_from_page(&clock, pages[i], NULL))
			perch_clock_from_time(&clock, perch_clock_to_time(&clock, 1000));
	}
}

static void use_counts(void)
{
	struct perch_count count = { .value = 0 }, sum;
	uint64_t id;

	perch_counter_fd(counter);
	perch_counter_name(counter);
	perch_counter_missing_features(counter);
	perch_counter_user_only(counter);
	perch_counter_disable(counter, NULL);
	perch_counter_enable(counter, NULL);
	perch_counter_read(counter, &count, NULL);
	perch_counter_id(counter, &id, NULL);
	perch_counter_self_monitoring(counter, NULL);
	perch_counter_reset(counter, NULL);
	perch_group_fd(group, 0);
	perch_group_name(group, 0);
	perch_group_missing_features(group, perch_group_size(group) - 1);
	perch_group_self_monitoring(group, NULL);
	perch_group_user_only(group, 0);
	perch_group_disable(group, NULL);
	perch_group_enable(group, NULL);
	perch_set_get_event(set, perch_set_events(set) - 1);
	perch_set_target(set, perch_set_targets(set) - 1);
	perch_set_fd(set, 0, 0);
	perch_set_self_monitoring(set, 0, 0, NULL);
	perch_count_sum(&sum, &count, 1);
	perch_count_delta(&sum, &sum, &count);
	perch_count_state_name(sum.state);
	perch_scale(count.value, 3, 2);
}

static void use_record(const void *bytes, size_t size)
{
	static char scratch[PERCH_SCRATCH_BYTES];
	const struct iovec pieces[2] = { { (void *)bytes, 4 }, { (char *)bytes + 4, size - 4 } };
	struct perch_chain_address address;
	struct perch_parse_info parse_info;
	struct perch_ns_link_info link;
	struct perch_branch_entry branch;
	struct perch_read_value value;
	struct perch_attr read;
	struct perch_record record;
	struct perch_chain chain;
	uint64_t time;

	perch_parse_info_from_bytes(&parse_info, &read, &attr, 8, PERCH_BYTES_NATIVE, NULL);
	perch_parse_info_from_bytes(&parse_info, &read, &attr, sizeof(attr), PERCH_BYTES_NATIVE,
				    NULL);
	perch_parse_info_init(&parse_info, &attr, PERCH_BYTES_NATIVE);
	perch_record_decode_pieces(&record, &parse_info, pieces, 2, scratch, sizeof(scratch), NULL);
	perch_decoder_decode_pieces(decoder, pieces, 2, scratch, sizeof(scratch), &record, NULL);
	perch_record_decode(&record, &parse_info, bytes, 4, NULL);
	perch_record_decode(&record, &parse_info, bytes, size - 8, NULL);
	perch_decoder_decode(decoder, bytes, size, &record, NULL);
	perch_decoder_time(decoder, bytes, size, &time);
	perch_chain_init(&chain, &record);
	while (perch_chain_next(&chain, &address))
		;
	if (record.type == PERCH_RECORD_SAMPLE && record.sample.callchain.nr)
		perch_word(&record, record.sample.callchain.ip);
	perch_record_name(record.type);
	perch_branch_at(&record, 0, &branch);
	perch_namespace_at(&record, 0, &link);
	if (record.type == PERCH_RECORD_SAMPLE)
		perch_read_values_at(&record.sample.read, 0, &value);
	if (record.type == PERCH_RECORD_SAMPLE)
		perch_read_values_find(&record.sample.read, value.id, &value);
	records++;
}

static void use_rings(void)
{
	const struct perch_record_header *header;
	struct perch_aux_stats aux_stats;
	struct perch_ring_stats stats;
	struct perch_record record = { .type = PERCH_RECORD_AUX };
	struct iovec pieces[2];
	size_t index;

	perch_ring_peek(ring, pieces);
	perch_ring_consume(ring, 0);
	while ((header = perch_ring_next(ring)))
		use_record(header, header->size);
	perch_ring_pause(ring, NULL);
	perch_ring_resume(ring, NULL);
	perch_ring_get_stats(ring, &stats);
	perch_ring_aux_peek(ring, pieces);
	perch_ring_aux_consume(ring, SIZE_MAX);
	perch_ring_aux_data(ring, &record, pieces);
	perch_ring_aux_snapshot(ring, pieces);
	perch_ring_get_aux_stats(ring, &aux_stats);
	perch_ring_snapshot(ring, PERCH_SNAPSHOT_NEWEST_FIRST, NULL); /* of the wrong mode */
	perch_ring_snapshot(newest, PERCH_SNAPSHOT_NEWEST_FIRST, NULL);
	while (perch_ring_next(newest))
		;
	perch_ring_snapshot_advance(newest);
	perch_ring_resume(newest, NULL);
	while (perch_merge_next(merge, true, &record, &index, NULL) == 1)
		;
	perch_merge_out_of_order(merge);
	perch_merge_discarded(merge);
}

static void use_sampler(void)
{
	static const siginfo_t siginfo;
	struct perch_sigtrap sigtrap;
	uint64_t enabled, running;
	size_t index, id;

	perch_sampler_times(sampler, 0, &enabled, &running, NULL);
	perch_sampler_times(sampler, SIZE_MAX, &enabled, &running, NULL);
	perch_sampler_event_of_fd(sampler, fd, &index, &id);
	perch_siginfo_get_sigtrap(&siginfo, &sigtrap);
}

static void handle(int number)
{
	int before = errno;

	(void)number;
	in_handler = 1;
	use_errors();
	use_machine();
	use_descriptors();
	use_pages();
	use_counts();
	use_rings();
	use_sampler();
	in_handler = 0;
	signals++;
	errno = before;
}

/* ---- opening, and the code that is interrupted ---- */

static int open_faults(bool backward, size_t aux, struct perch_ring **opened)
{
	struct perch_attr own = attr;
	struct perch_error err;
	int made;

	own.write_backward = backward;
	made = perch_open(&own, NULL, -1, 0, NULL, &err);
	if (made < 0) {
		print_message("skipped: %s\n", err.message);
		skip();
	}
	if (perch_ring_open(opened, made, PAGES,
			    backward ? PERCH_RING_OVERWRITE : PERCH_RING_FORWARD, NULL, &err))
		fail_msg("%s", err.message);
	if (aux)
		assert_int_equal(perch_ring_aux_from_memory(*opened, aux_memory, aux,
							    PERCH_RING_FORWARD, NULL),
				 0);
	return made;
}

static void open_all(void)
{
	const struct perch_options options = { .enabled = 1, .self_monitoring = 1 };
	struct perch_target self = { .cpu = -1 };
	const struct perch_targets targets = { .target = &self, .nr = 1 };
	const struct perch_decoder_event event = { .attr = &attr };
	struct perch_events events = { 0 };

	attr = (struct perch_attr){ .size = sizeof(attr),
				    .type = PERCH_TYPE_SOFTWARE,
				    .config = PERCH_COUNT_SW_PAGE_FAULTS,
				    .sample_period = 1,
				    .sample_type = PERCH_SAMPLE_IP | PERCH_SAMPLE_TIME |
						   PERCH_SAMPLE_CALLCHAIN | PERCH_SAMPLE_READ,
				    .read_format = PERCH_FORMAT_ID,
				    .exclude_kernel = 1,
				    .exclude_callchain_kernel = 1 };
	fd = open_faults(false, sizeof(aux_memory), &ring);
	merged_fd = open_faults(false, 0, &merged);
	newest_fd = open_faults(true, 0, &newest);
	assert_int_equal(perch_decoder_new(&decoder, &event, 1, PERCH_BYTES_NATIVE, NULL), 0);
	assert_int_equal(perch_merge_new(&merge, &merged, 1, decoder, NULL), 0);
	assert_int_equal(perch_machine_new(&machine, NULL, NULL, NULL), 0);
	assert_int_equal(perch_cpus_parse(&cpus, "0-3", NULL), 0);
	assert_int_equal(perch_counter_open(&counter, "page-faults:u", NULL, &options, NULL), 0);
	assert_int_equal(
		perch_group_open(&group, "{page-faults:u,task-clock:u}", NULL, &options, NULL), 0);
	assert_int_equal(perch_events_parse(&events, "page-faults:u", NULL, NULL), 0);
	assert_int_equal(perch_set_open(&set, &events, &targets, &options, NULL), 0);
	perch_events_clear(&events);
	assert_int_equal(perch_sampler_open(&sampler, "page-faults:u", NULL,
					    &(struct perch_sampler_options){ .event.period = 1 },
					    NULL),
			 0);
}

static void close_all(void)
{
	perch_sampler_close(sampler);
	perch_set_close(set);
	perch_group_close(group);
	perch_counter_close(counter);
	perch_cpus_clear(&cpus);
	perch_machine_free(machine);
	perch_merge_free(merge);
	perch_decoder_free(decoder);
	perch_ring_close(ring);
	perch_ring_close(merged);
	perch_ring_close(newest);
	close(fd);
	close(merged_fd);
	close(newest_fd);
}

/* Allocates, formats, opens and faults: the signal interrupts all of it. */
static void work(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct perch_counter *own;
	struct perch_error err;
	char *region;

	/* a failure, which is explained */
	assert_int_not_equal(perch_counter_open(&own, "page-fault", NULL, NULL, &err), 0);
	assert_int_equal(perch_counter_open(&own, "task-clock:u", NULL, NULL, &err), 0);
	perch_counter_close(own);
	region = mmap(NULL, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (size_t i = 0; i < 4; i++)
		((volatile char *)region)[i * page] = 1;
	munmap(region, 4 * page);
}

static void functions_may_be_called_in_a_signal_handler(void **state)
{
	const struct itimerval often = { { 0, 700 }, { 0, 700 } }, never = { 0 };
	const struct sigaction action = { .sa_handler = handle, .sa_flags = SA_RESTART };

	(void)state;
	open_all();
	assert_int_equal(sigaction(SIGALRM, &action, NULL), 0);
	for (int i = 0; i < 20; i++) {
		work();
		raise(SIGALRM);
	}
	setitimer(ITIMER_REAL, &often, NULL);
	while (signals < SIGNALS)
		work();
	setitimer(ITIMER_REAL, &never, NULL);
	signal(SIGALRM, SIG_DFL);
	if (forbidden)
		fail_msg("the signal handler used %s()", forbidden);
	assert_true(records > 20);
	close_all();
}

/* The handler of a child, which has the objects of its parent. */
static void checks_for_a_fork_may_be_made_in_a_signal_handler(void **state)
{
	pid_t child;
	int status;

	(void)state;
	open_all();
	child = fork();
	if (!child) {
		handle(SIGALRM);
		_exit(forbidden ? 1 : 0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	close_all();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_may_be_called_in_a_signal_handler),
		cmocka_unit_test(checks_for_a_fork_may_be_made_in_a_signal_handler),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
