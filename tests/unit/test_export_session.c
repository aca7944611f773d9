/* SPDX-License-Identifier: MIT */
/*
 * Exports of the samples of a session: call chains are numbered one by one or many at a time, and
 * threads add samples up and compress the file, or do not. The file is the same.
 */
#define _GNU_SOURCE /* fopencookie, pthread_setattr_default_np */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <perch/export.h>

#include "otlp_check.h"
#include "session_fixture.h"

#define CODE	   0x401000ull
#define SAMPLES	   20000
#define DEPTH	   5
#define ADDRESSES  6 /* few, so stacks repeat */
#define THREADS	   3
#define EVENTS	   2

#define CHAIN_TYPE (TYPE | PERCH_SAMPLE_CALLCHAIN)

/* What one entry of an export has: its numbers begin with those of the thread and the event. */
struct stack {
	uint32_t number[2 + DEPTH];
	size_t nr;
};

static struct stack stacks[SAMPLES];

/* The words of a random chain, innermost first, which shares outer words with the one before. */
static void next_chain(uint64_t *words, size_t *nr)
{
	size_t shared = *nr ? (size_t)rand() % *nr : 0;
	size_t longer = shared + 1 + (size_t)rand() % (DEPTH - shared);

	memmove(words + longer - shared, words + *nr - shared, shared * sizeof(*words));
	for (size_t i = 0; i < longer - shared; i++)
		words[i] = CODE + (uint64_t)rand() % ADDRESSES;
	*nr = longer;
}

static void put_chain(struct perch_writer *writer, uint64_t time, const uint64_t *words, size_t nr)
{
	struct built b;

	start_record(&b, PERCH_RECORD_SAMPLE, PERCH_MISC_USER);
	put_u64(&b, ids[rand() % EVENTS]);
	put_u64(&b, words[0]);
	put_u32(&b, BUILT_PID);
	put_u32(&b, BUILT_PID + (uint32_t)rand() % THREADS);
	put_u64(&b, time);
	put_u64(&b, (uint64_t)rand() % 100);
	put_u64(&b, 1 + nr);
	put_u64(&b, PERCH_CONTEXT_USER);
	for (size_t i = 0; i < nr; i++)
		put_u64(&b, words[i]);
	end_record(&b);
	put_record(writer, &b);
}

static void write_recording(void)
{
	struct perch_attr attr = events[0].attr;
	struct perch_file_event written[EVENTS];
	struct perch_writer *writer;
	uint64_t words[DEPTH];
	size_t nr = 0;

	attr.sample_type = CHAIN_TYPE;
	for (size_t i = 0; i < EVENTS; i++)
		written[i] = (struct perch_file_event){
			.attr = attr,
			.name = i ? "second" : "first",
			.ids = &ids[i],
			.nr_ids = 1,
		};
	srand(1);
	assert_int_equal(perch_writer_open(&writer, path, written, EVENTS, NULL), 0);
	for (uint64_t i = 0; i < SAMPLES; i++) {
		next_chain(words, &nr);
		put_chain(writer, 1000000 + 1001 * i, words, nr);
	}
	close_writer(writer);
}

/* A file in memory, and which threads wrote it. */
struct written {
	FILE *text;
	pthread_t main;
	bool by_main, by_others;
};

static ssize_t write_text(void *context, const char *bytes, size_t size)
{
	struct written *written = context;

	*(pthread_equal(pthread_self(), written->main) ? &written->by_main : &written->by_others) =
		true;
	return (ssize_t)fwrite(bytes, 1, size, written->text);
}

static void write_export(struct perch_export *export, struct written *written)
{
	FILE *out = fopencookie(written, "w", (cookie_io_functions_t){ .write = write_text });

	assert_non_null(out);
	setvbuf(out, NULL, _IONBF, 0);
	assert_int_equal(perch_export_write(export, out, NULL), 0);
	fclose(out);
}

/* Returns the text of an export, which the caller frees. */
static char *text_of(enum perch_export_format format, const struct perch_export_options *options,
		     size_t *size, struct perch_export_stats *stats, struct written *written)
{
	struct perch_session *session = open_session(NULL);
	struct perch_session_sample sample;
	struct perch_export *export;
	struct perch_record record;
	char *text = NULL;

	*written = (struct written){ .text = open_memstream(&text, size), .main = pthread_self() };
	assert_int_equal(perch_export_new(&export, session, format, options, NULL), 0);
	while (perch_session_next(session, &record, NULL) > 0) {
		if (record.type != PERCH_RECORD_SAMPLE)
			continue;
		assert_int_equal((options->add_chain
					  ? perch_session_add_chain
					  : perch_session_resolve)(session, &record, &sample, NULL),
				 0);
		assert_int_equal(perch_export_add(export, &sample, NULL), 0);
	}
	write_export(export, written);
	perch_export_get_stats(export, stats);
	perch_export_free(export);
	perch_session_close(session);
	fclose(written->text);
	return text;
}

/* Returns which threads wrote the file with the options. */
static struct written check_same(enum perch_export_format format,
				 const struct perch_export_options *options)
{
	const struct perch_export_options plain = { 0 };
	struct perch_export_stats stats, others;
	struct written written;
	size_t size, other_size;
	char *text = text_of(format, &plain, &size, &stats, &written);
	char *other;

	assert_true(written.by_main && !written.by_others);
	other = text_of(format, options, &other_size, &others, &written);

	assert_int_equal(stats.stacks, others.stacks);
	assert_int_equal(size, other_size);
	assert_memory_equal(text, other, size);
	free(text);
	free(other);
	return written;
}

static void numbers_many_chains_at_a_time(void **state)
{
	static const enum perch_export_format formats[] = {
		PERCH_EXPORT_FOLDED,  PERCH_EXPORT_SPEEDSCOPE, PERCH_EXPORT_JSON,
		PERCH_EXPORT_FIREFOX, PERCH_EXPORT_PAGE,       PERCH_EXPORT_PERFETTO,
	};
	const struct perch_export_options options = { .add_chain = 1 },
					  in_thread = { .add_chain = 1, .threads = 1 };

	(void)state;
	write_recording();
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		check_same(formats[i], &options);
		check_same(formats[i], &in_thread);
	}
}

/* Adds as many samples, with a thread. */
static struct perch_export *export_of(struct perch_session *session, unsigned samples)
{
	const struct perch_export_options options = { .threads = 1 };
	struct perch_session_sample sample;
	struct perch_export *export;

	assert_int_equal(perch_export_new(&export, session, PERCH_EXPORT_JSON, &options, NULL), 0);
	while (samples-- && perch_session_next_sample(session, &sample, NULL) > 0)
		assert_int_equal(perch_export_add(export, &sample, NULL), 0);
	return export;
}

static void ends_without_a_file(void **state)
{
	struct perch_session *session;
	struct perch_export *export;
	int status;
	pid_t child;

	(void)state;
	write_recording();
	session = open_session(NULL);
	export = export_of(session, SAMPLES - 1);
	child = fork();
	if (!child) {
		perch_export_free(export);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	perch_export_free(export);
	perch_session_close(session);
}

/* The second file has the samples of both parts. */
static void goes_on_after_a_file(void **state)
{
	struct perch_session *session;
	struct perch_session_sample sample;
	struct perch_export_stats stats;
	struct perch_export *export;
	struct written written = { .main = pthread_self() };
	char *text = NULL;
	size_t size;

	(void)state;
	write_recording();
	session = open_session(NULL);
	export = export_of(session, SAMPLES / 2);
	for (unsigned files = 1; files < 3; files++) {
		written.text = open_memstream(&text, &size);
		write_export(export, &written);
		fclose(written.text);
		free(text);
		perch_export_get_stats(export, &stats);
		assert_int_equal(stats.samples, files * SAMPLES / 2);
		assert_true(stats.stacks > files * SAMPLES / 8);
		while (perch_session_next_sample(session, &sample, NULL) > 0)
			assert_int_equal(perch_export_add(export, &sample, NULL), 0);
	}
	perch_export_free(export);
	perch_session_close(session);
}

static void compresses_in_a_thread(void **state)
{
	const struct perch_export_options options = { .threads = 1 };
	struct written written;

	(void)state;
	write_recording();
	written = check_same(PERCH_EXPORT_FIREFOX, &options);
	assert_true(written.by_others);
	/* a small file needs none */
	written = check_same(PERCH_EXPORT_PPROF, &options);
	assert_true(!written.by_others);
	written = check_same(PERCH_EXPORT_JSON, &options);
	assert_true(!written.by_others);
}

/* No address space has such a stack. */
static void needs_no_thread(void **state)
{
	const struct perch_export_options options = { .threads = 1 };
	pthread_attr_t attr, saved;
	struct written written;

	(void)state;
	write_recording();
	assert_int_equal(pthread_getattr_default_np(&saved), 0);
	assert_int_equal(pthread_attr_init(&attr), 0);
	assert_int_equal(pthread_attr_setstacksize(&attr, SIZE_MAX / 16 * 15), 0);
	assert_int_equal(pthread_setattr_default_np(&attr), 0);
	written = check_same(PERCH_EXPORT_FIREFOX, &options);
	assert_int_equal(pthread_setattr_default_np(&saved), 0);
	assert_true(written.by_main && !written.by_others);
	pthread_attr_destroy(&attr);
	pthread_attr_destroy(&saved);
}

static int compare_stacks(const void *left, const void *right)
{
	const struct stack *a = left, *b = right;

	if (a->nr != b->nr)
		return a->nr < b->nr ? -1 : 1;
	return memcmp(a->number, b->number, a->nr * sizeof(*a->number));
}

/* The export finds equal stacks by hash, here they are sorted. */
static void has_each_stack_once(void **state)
{
	const struct perch_export_options options = { .add_chain = 1 };
	struct perch_session *session;
	struct perch_session_sample sample;
	struct perch_export_stats stats;
	struct written written;
	size_t size, nr = 0, distinct = 0;

	(void)state;
	write_recording();
	session = open_session(NULL);
	while (perch_session_next_sample(session, &sample, NULL) > 0) {
		struct stack *stack = &stacks[nr++];

		stack->nr = 2 + sample.nr;
		stack->number[0] = perch_thread_tid(sample.thread);
		stack->number[1] = sample.record->event;
		memcpy(stack->number + 2, sample.chain, sample.nr * sizeof(*sample.chain));
	}
	perch_session_close(session);
	assert_int_equal(nr, SAMPLES);
	qsort(stacks, nr, sizeof(*stacks), compare_stacks);
	for (size_t i = 0; i < nr; i++)
		distinct += !i || compare_stacks(&stacks[i - 1], &stacks[i]);
	free(text_of(PERCH_EXPORT_JSON, &options, &size, &stats, &written));
	assert_int_equal(stats.samples, SAMPLES);
	assert_true(distinct > SAMPLES / 4);
	assert_true(distinct < SAMPLES - SAMPLES / 20);
	assert_int_equal(stats.stacks, distinct);
}

#define HEX16	  "0123456789abcdef"
#define CONTAINER HEX16 HEX16 HEX16 HEX16

static void put_cgroup(struct perch_writer *writer, uint64_t number, const char *path_of_it)
{
	struct built b;

	start_record(&b, PERCH_RECORD_CGROUP, 0);
	put_u64(&b, number);
	put_name(&b, path_of_it);
	put_trailer(&b, TYPE, 1, ids[0]);
	end_record(&b);
	put_record(writer, &b);
}

/* Writes samples of three cgroups: of a container, of a unit, and of one without a name. */
static void write_cgroups(void)
{
	struct perch_file_event event = events[0];
	struct perch_writer *writer;
	struct built b;

	event.attr.sample_type |= PERCH_SAMPLE_CGROUP;
	event.attr.cgroup = 1;
	assert_int_equal(perch_writer_open(&writer, path, &event, 1, NULL), 0);
	put_cgroup(writer, 1, "/system.slice/docker-" CONTAINER ".scope");
	put_cgroup(writer, 2, "/system.slice/nginx.service");
	for (uint64_t i = 0; i < 9; i++) {
		build_sample(&b, ids[0], 2 + i);
		put_u64(&b, 1 + i % 3);
		end_record(&b);
		put_record(writer, &b);
	}
	close_writer(writer);
}

static bool has_text(const char *bytes, size_t size, const char *text)
{
	return memmem(bytes, size, text, strlen(text)) != NULL;
}

static void has_a_resource_for_each_container(void **state)
{
	const struct perch_export_options options = { 0 };
	struct perch_export_stats stats;
	struct otlp_facts facts = { 0 };
	struct written written;
	size_t size;
	char *bytes;

	(void)state;
	write_cgroups();
	bytes = text_of(PERCH_EXPORT_OTLP, &options, &size, &stats, &written);
	check_otlp(&facts, bytes, size);
	assert_string_equal(facts.error ? facts.error : "", "");
	assert_int_equal(facts.resources, 3);
	assert_int_equal(facts.sum, 9);
	assert_true(has_text(bytes, size, "container.id"));
	assert_true(has_text(bytes, size, CONTAINER));
	assert_true(has_text(bytes, size, "service.name"));
	assert_true(has_text(bytes, size, "/system.slice/nginx.service"));
	free(bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_many_chains_at_a_time),
		cmocka_unit_test(ends_without_a_file),
		cmocka_unit_test(goes_on_after_a_file),
		cmocka_unit_test(has_each_stack_once),
		cmocka_unit_test(has_a_resource_for_each_container),
		cmocka_unit_test(compresses_in_a_thread),
		cmocka_unit_test(needs_no_thread),
	};

	return cmocka_run_group_tests(tests, make_test_directory, remove_test_directory);
}
