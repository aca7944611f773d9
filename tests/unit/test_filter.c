/* SPDX-License-Identifier: MIT */
/* Filters of sessions: lists, ranges of time, what matches and what is reported as missing. */
#include <perch/filter.h>

#include "session_fixture.h"

#define CODE	    0x401000ull
#define FILTER_TYPE (PERCH_SAMPLE_IP | PERCH_SAMPLE_TID | PERCH_SAMPLE_TIME | PERCH_SAMPLE_CPU)
#define SECOND	    1000000000ull
#define SAMPLES	    100

static const struct perch_file_event filter_event = {
	.attr = { .type = PERCH_TYPE_SOFTWARE, .sample_type = FILTER_TYPE, .sample_id_all = 1 },
	.name = "cpu-clock",
	.ids = ids,
	.nr_ids = 1,
	.members = 1,
};

static void put_comm(struct perch_writer *writer, uint32_t pid, uint32_t tid, const char *name)
{
	struct built b;

	start_record(&b, PERCH_RECORD_COMM, 0);
	put_u32(&b, pid);
	put_u32(&b, tid);
	put_name(&b, name);
	put_u32(&b, pid);
	put_u32(&b, tid);
	put_u64(&b, 1);
	put_u32(&b, 3);
	put_u32(&b, 0);
	end_record(&b);
	put_record(writer, &b);
}

static void put_file(struct perch_writer *writer, uint32_t pid, uint64_t start, const char *name)
{
	struct built b;

	start_record(&b, PERCH_RECORD_MMAP, PERCH_MISC_USER);
	put_u32(&b, pid);
	put_u32(&b, pid);
	put_u64(&b, start);
	put_u64(&b, 0x1000);
	put_u64(&b, 0);
	put_name(&b, name);
	put_u32(&b, pid);
	put_u32(&b, pid);
	put_u64(&b, 2);
	put_u32(&b, 3);
	put_u32(&b, 0);
	end_record(&b);
	put_record(writer, &b);
}

/*
 * Sample i is at i seconds, on CPU i % 4, of process 10 (threads 10 and 11) or, every fifth
 * one, 20. Every third one is in the library.
 */
static void make_recording(bool with_times)
{
	struct perch_writer *writer;
	struct built b;

	assert_int_equal(perch_writer_open(&writer, path, &filter_event, 1, NULL), 0);
	put_comm(writer, 10, 10, "worker");
	put_comm(writer, 10, 11, "helper");
	put_comm(writer, 20, 20, "other");
	for (uint32_t pid = 10; pid <= 20; pid += 10) {
		put_file(writer, pid, CODE, "/bin/program");
		put_file(writer, pid, CODE + 0x1000, "/lib/libcode.so.1");
	}
	for (uint64_t i = 1; i <= SAMPLES; i++) {
		uint32_t pid = i % 5 ? 10 : 20;

		start_record(&b, PERCH_RECORD_SAMPLE, PERCH_MISC_USER);
		put_u64(&b, CODE + i + (i % 3 ? 0 : 0x1000));
		put_u32(&b, pid);
		put_u32(&b, pid == 20 ? 20 : 10 + i % 2);
		put_u64(&b, i * SECOND);
		put_u32(&b, i % 4);
		put_u32(&b, 0);
		end_record(&b);
		put_record(writer, &b);
	}
	if (with_times)
		assert_int_equal(
			perch_writer_set_sample_time(writer, SECOND, SAMPLES * SECOND, NULL), 0);
	close_writer(writer);
}

/* Reads the recording; *sum is that of the seconds of the samples that match. Returns their number.
 */
static uint64_t read_recording(struct perch_session *session, struct perch_filter *filter,
			       uint64_t *sum)
{
	struct perch_filter_stats stats;
	struct perch_record record;
	uint64_t nr = 0, left_out = 0;

	*sum = 0;
	while (perch_session_next(session, &record, NULL) > 0) {
		int rc = perch_filter_match(filter, &record);

		assert_in_range(rc, 0, 1);
		assert_int_equal(rc, perch_filter_rejected_by(filter) == PERCH_FILTER_NONE);
		if (record.type != PERCH_RECORD_SAMPLE || !rc)
			continue;
		nr++;
		*sum += record.sample.time / SECOND;
	}
	perch_filter_get_stats(filter, &stats);
	assert_int_equal(stats.samples, SAMPLES);
	assert_int_equal(stats.matched, nr);
	for (size_t i = 0; i < PERCH_FILTER_PARTS; i++)
		left_out += stats.left_out[i];
	assert_int_equal(stats.matched + left_out, SAMPLES);
	return nr;
}

/* The number of samples that match. */
static uint64_t matches(const struct perch_filter_options *options, uint64_t *sum)
{
	struct perch_session *session = open_session(NULL);
	struct perch_filter *filter;
	struct perch_error err = { 0 };
	uint64_t nr, unused;

	if (perch_filter_new(&filter, session, options, &err))
		fail_msg("%s", err.message);
	nr = read_recording(session, filter, sum ? sum : &unused);
	perch_filter_free(filter);
	perch_session_close(session);
	return nr;
}

#define MATCHES(...) matches(&(struct perch_filter_options){ __VA_ARGS__ }, NULL)

static void tests_processes_threads_and_cpus(void **state)
{
	(void)state;
	make_recording(true);
	assert_int_equal(matches(NULL, NULL), 100);
	assert_int_equal(MATCHES(0), 100);
	assert_int_equal(MATCHES(.pids = "20"), 20);
	assert_int_equal(MATCHES(.pids = "10,20"), 100);
	assert_int_equal(MATCHES(.tids = "11"), 40);
	assert_int_equal(MATCHES(.pids = "20", .tids = "11"), 0);
	assert_int_equal(MATCHES(.cpus = "0"), 25);
	assert_int_equal(MATCHES(.cpus = "1-2,65535"), 50);
	assert_int_equal(MATCHES(.pids = "-1"), 0);
}

static void tests_names(void **state)
{
	char names[200], list[220];
	FILE *file;

	(void)state;
	make_recording(true);
	assert_int_equal(MATCHES(.comms = "helper"), 40);
	assert_int_equal(MATCHES(.comms = "other,helper,other"), 60);
	assert_int_equal(MATCHES(.comms = "help"), 0);
	assert_int_equal(MATCHES(.dsos = "libcode.so.1"), 33);
	assert_int_equal(MATCHES(.dsos = "/lib/libcode.so.1"), 33);
	assert_int_equal(MATCHES(.dsos = "/lib/libcode.so.1", .comms = "other"), 6);
	assert_int_equal(MATCHES(.dsos = "libcode.so.1,program"), 100);
	assert_int_equal(MATCHES(.symbols = "main"), 0);
	assert_int_equal(MATCHES(.symbols = "0x401001,401002"), 2);
	assert_int_equal(MATCHES(.symbols = "0x401001", .symbols_size = 1), 1);
	assert_int_equal(MATCHES(.symbols = "0x401001", .symbols_size = 2), 2);
	assert_int_equal(MATCHES(.symbols = "0x401000", .symbols_size = 3), 2);
	assert_int_equal(MATCHES(.symbols = "main", .symbols_size = 3), 0);

	snprintf(names, sizeof(names), "%s/names", test_directory);
	snprintf(list, sizeof(list), "file://%s,other", names);
	file = fopen(names, "w");
	assert_non_null(file);
	fputs("helper\n\nno such name\n", file);
	fclose(file);
	assert_int_equal(MATCHES(.comms = list), 60);
	unlink(names);
}

static void reads_long_lines(void **state)
{
	char names[200], list[220], *line = calloc(1, 65537 + 1);
	struct perch_filter_options options = { .symbols = list };
	struct perch_session *session;
	struct perch_error err = { 0 };
	struct perch_filter *filter;

	(void)state;
	assert_non_null(line);
	make_recording(true);
	snprintf(names, sizeof(names), "%s/names", test_directory);
	snprintf(list, sizeof(list), "file://%s", names);
	for (size_t length = 65536; length <= 65537; length++) {
		FILE *file = fopen(names, "w");

		assert_non_null(file);
		memset(line, 'a', length);
		fputs(line, file);
		fclose(file);
		session = open_session(NULL);
		assert_int_equal(perch_filter_new(&filter, session, &options, &err),
				 length > 65536 ? -EINVAL : 0);
		perch_filter_free(filter);
		perch_session_close(session);
	}
	assert_non_null(strstr(err.message, "a line of more than 65536 bytes"));
	unlink(names);
	free(line);
}

/* The recording has no function with a name: each word of the list is missing. */
static void check_functions(const char *list, size_t nr, const char *const *names)
{
	const struct perch_filter_options options = { .symbols = list };
	struct perch_session *session = open_session(NULL);
	struct perch_filter_missing missing;
	struct perch_filter *filter;
	uint64_t sum;

	assert_int_equal(perch_filter_new(&filter, session, &options, NULL), 0);
	read_recording(session, filter, &sum);
	for (size_t i = 0; i < nr; i++) {
		if (perch_filter_get_missing(filter, i, &missing) != 1)
			fail_msg("'%s' has only %zu words", list, i);
		assert_string_equal(missing.wanted, names[i]);
	}
	assert_int_equal(perch_filter_get_missing(filter, nr, &missing), 0);
	perch_filter_free(filter);
	perch_session_close(session);
}

#define CHECK_FUNCTIONS(list, ...)                                                            \
	check_functions(list, sizeof((const char *[]){ __VA_ARGS__ }) / sizeof(const char *), \
			(const char *[]){ __VA_ARGS__ })

/* The words are sorted. */
static void separates_functions_outside_of_brackets(void **state)
{
	char deep[3000];

	(void)state;
	make_recording(true);
	CHECK_FUNCTIONS("b(int, char),a", "a", "b(int, char)");
	CHECK_FUNCTIONS("m<int, p<int const, int> >::e,z", "m<int, p<int const, int> >::e", "z");
	CHECK_FUNCTIONS("a[x,y],b{z,(1,2)}::f", "a[x,y]", "b{z,(1,2)}::f");
	CHECK_FUNCTIONS("a::operator<,b::operator<<,c::operator->,d::operator()(int, int)",
			"a::operator<", "b::operator<<", "c::operator->",
			"d::operator()(int, int)");
	CHECK_FUNCTIONS("a::operator< <int, int>,b::operator>>=(int, int),c::operator ->*",
			"a::operator< <int, int>", "b::operator>>=(int, int)", "c::operator ->*");
	CHECK_FUNCTIONS("a::operator,,b::operator,(int, int)", "a::operator,",
			"b::operator,(int, int)");
	CHECK_FUNCTIONS("a::operator,", "a::operator,");
	CHECK_FUNCTIONS("operator,zero", "operator", "zero");
	CHECK_FUNCTIONS("myoperator<int, int>,z", "myoperator<int, int>", "z");
	CHECK_FUNCTIONS("a<((1)>(2)), int>,b<(1<2), int>,decltype(x->y),<fn(u8) -> T<u8, u8>>::f",
			"<fn(u8) -> T<u8, u8>>::f", "a<((1)>(2)), int>", "b<(1<2), int>",
			"decltype(x->y)");
	/* brackets that do not balance */
	CHECK_FUNCTIONS("a(b,c", "a(b", "c");
	CHECK_FUNCTIONS("a(b,c],d)", "a(b", "c]", "d)");
	CHECK_FUNCTIONS("a>,b<c,d", "a>", "b<c", "d");
	CHECK_FUNCTIONS("a[b),c(d]", "a[b)", "c(d]");
	memset(deep, '(', 1025);
	memset(deep + 1025, ')', 1025);
	strcpy(deep + 2050, ",z");
	assert_int_equal(MATCHES(.symbols = deep), 0);
	/* other lists have no functions */
	assert_int_equal(MATCHES(.comms = "a(x,helper,b)"), 40);
}

static uint64_t sum_of(const char *time, bool relative, uint64_t nr)
{
	const struct perch_filter_options options = { .time = time, .relative_time = relative };
	uint64_t sum, found = matches(&options, &sum);

	if (found != nr)
		fail_msg("%s: %d samples, not %d", time, (int)found, (int)nr);
	return sum;
}

/* With the feature SAMPLE_TIME, and without it. */
static void tests_times(void **state)
{
	(void)state;
	for (int with_times = 0; with_times < 2; with_times++) {
		make_recording(with_times);
		assert_int_equal(sum_of("5,7", false, 3), 18);
		assert_int_equal(sum_of(",2.5", false, 2), 3);
		assert_int_equal(sum_of("98.000000001,", false, 2), 199);
		sum_of(",", false, 100);
		assert_int_equal(sum_of(" 1,1  100,200 ", false, 2), 101);
		assert_int_equal(sum_of("0,1.5", true, 2), 3);
		/* from 1 to 100 seconds */
		assert_int_equal(sum_of("0%-100%", false, 100), 5050);
		assert_int_equal(sum_of("10%", false, 10), 55);
		assert_int_equal(sum_of("10%/1,10%/10", false, 20), 55 + 955);
		assert_int_equal(sum_of("0%-10%,50%-51%", false, 11), 55 + 51);
		assert_int_equal(sum_of("100%-100%", false, 1), 100);
	}
}

static void expect_error(const struct perch_filter_options *options, int errnum, const char *text)
{
	struct perch_session *session = open_session(NULL);
	struct perch_filter *filter;
	struct perch_error err = { 0 };

	assert_int_equal(perch_filter_new(&filter, session, options, &err), -errnum);
	assert_null(filter);
	if (!strstr(err.message, text))
		fail_msg("'%s' has no '%s'", err.message, text);
	perch_session_close(session);
}

#define EXPECT_ERROR(errnum, text, ...) \
	expect_error(&(struct perch_filter_options){ __VA_ARGS__ }, errnum, text)

static void refuses_what_is_not_in_its_form(void **state)
{
	static const char *const times[] = {
		"",	"5",	  "5-6",    "x,y",     "5,6,7", "7,6",	"1.1234567890,",
		"5,6x", "101%",	  "10%/0",  "10%/11",  "10%/x", "10%-", "20%-10%",
		"0%",	"10%20%", "10%/2x", "10%,5,6", "-1,5",	"1e3,", "99999999999999,",
		"5 ,6", "10",	  "%",
	};

	(void)state;
	make_recording(true);
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++)
		EXPECT_ERROR(EINVAL, "time", .time = times[i]);
	EXPECT_ERROR(EINVAL, "'x' is no process id", .pids = "10,x");
	EXPECT_ERROR(EINVAL, "'' is no thread id", .tids = "10,");
	EXPECT_ERROR(EINVAL, "'4294967296' is no process id", .pids = "4294967296");
	EXPECT_ERROR(EINVAL, "'3-2' is no CPU", .cpus = "0,3-2");
	EXPECT_ERROR(EINVAL, "'65536' is no CPU", .cpus = "65536");
	EXPECT_ERROR(EINVAL, "expected names of threads", .comms = "");
	EXPECT_ERROR(EINVAL, "expected names of DSOs", .dsos = ",,");
	EXPECT_ERROR(ENOENT, "/nosuch/names", .symbols = "file:///nosuch/names");
	EXPECT_ERROR(EINVAL, "reserved", .reserved = { [4] = 1 });
}

static void refuses_to_test_what_samples_lack(void **state)
{
	struct perch_writer *writer = open_writer();

	(void)state;
	put_sample(writer, 21, 10);
	close_writer(writer);
	EXPECT_ERROR(ENODATA, "the samples of cpu-clock have no CPU", .cpus = "0");

	assert_int_equal(perch_writer_open(&writer, path, &filter_event, 1, NULL), 0);
	close_writer(writer);
	EXPECT_ERROR(ENODATA, "no samples with a time", .time = "10%");
}

/* ---- what is missing ---- */

static void expect_missing(const struct perch_filter_options *options,
			   const struct perch_filter_missing *expected, size_t nr)
{
	struct perch_session *session = open_session(NULL);
	struct perch_filter_missing missing;
	struct perch_filter *filter;
	uint64_t sum;

	assert_int_equal(perch_filter_new(&filter, session, options, NULL), 0);
	assert_int_equal(perch_filter_get_missing(filter, 0, &missing), 0);
	read_recording(session, filter, &sum);
	for (size_t i = 0; i < nr; i++) {
		assert_int_equal(perch_filter_get_missing(filter, i, &missing), 1);
		assert_int_equal(missing.part, expected[i].part);
		assert_string_equal(missing.wanted, expected[i].wanted);
		assert_string_equal(missing.present, expected[i].present);
		assert_int_equal(missing.samples, expected[i].samples);
		assert_int_equal(!missing.similar, !expected[i].similar);
		if (missing.similar)
			assert_string_equal(missing.similar, expected[i].similar);
	}
	assert_int_equal(perch_filter_get_missing(filter, nr, &missing), 0);
	perch_filter_free(filter);
	perch_session_close(session);
}

static void names_what_there_is(void **state)
{
	const struct perch_filter_options some = { .cpus = "0-3,9",
						   .pids = "10,30",
						   .comms = "helpre,worker\x1b",
						   .dsos = "libcode.so.2,program" };
	const struct perch_filter_missing of_some[] = {
		{ .part = PERCH_FILTER_CPU,
		  .wanted = "9",
		  .present = "0 (25), 1 (25), 2 (25), 3 (25)",
		  .samples = 100 },
		{ .part = PERCH_FILTER_PID,
		  .wanted = "30",
		  .present = "10 (80), 20 (20)",
		  .samples = 100 },
		{ .part = PERCH_FILTER_COMM,
		  .wanted = "helpre",
		  .similar = "helper",
		  .present = "worker (40), helper (40)",
		  .samples = 80 },
		{ .part = PERCH_FILTER_COMM,
		  .wanted = "worker?",
		  .similar = "worker",
		  .present = "worker (40), helper (40)",
		  .samples = 80 },
	};
	const struct perch_filter_options late = { .time = "200,", .comms = "worker" };
	const struct perch_filter_missing of_late[] = {
		{ .part = PERCH_FILTER_TIME,
		  .wanted = "200,",
		  .present = "1.000000000 to 100.000000000",
		  .samples = 100 },
	};

	(void)state;
	make_recording(true);
	/* no sample is left for the test of the DSO */
	expect_missing(&some, of_some, 4);
	expect_missing(&late, of_late, 1);
	expect_missing(&(struct perch_filter_options){ .comms = "worker", .time = "3," }, NULL, 0);
}

/* ---- cgroups and callers ---- */

#define CGROUP_TYPE (FILTER_TYPE | PERCH_SAMPLE_CGROUP | PERCH_SAMPLE_CALLCHAIN)

static void put_cgroup(struct perch_writer *writer, uint64_t id, const char *name)
{
	struct built b;

	start_record(&b, PERCH_RECORD_CGROUP, 0);
	put_u64(&b, id);
	put_name(&b, name);
	end_record(&b);
	put_record(writer, &b);
}

/* Sample i is in the cgroup i % 5, and CPUs and callers are the same. */
static void make_cgroups(void)
{
	struct perch_file_event event = filter_event;
	struct perch_writer *writer;
	struct built b;

	event.attr.sample_type = CGROUP_TYPE;
	event.attr.sample_id_all = 0;
	assert_int_equal(perch_writer_open(&writer, path, &event, 1, NULL), 0);
	put_cgroup(writer, 1, "/");
	put_cgroup(writer, 2, "/one");
	put_cgroup(writer, 3, "/one/two");
	put_cgroup(writer, 4, "/old");
	put_cgroup(writer, 4, "/onerous");
	for (uint64_t i = 1; i <= SAMPLES; i++) {
		start_record(&b, PERCH_RECORD_SAMPLE, PERCH_MISC_USER);
		put_u64(&b, CODE);
		put_u32(&b, 10);
		put_u32(&b, 10);
		put_u64(&b, i * SECOND);
		put_u32(&b, 0);
		put_u32(&b, 0);
		put_u64(&b, 2);
		put_u64(&b, PERCH_CONTEXT_USER);
		put_u64(&b, CODE);
		put_u64(&b, i % 5);
		end_record(&b);
		put_record(writer, &b);
	}
	close_writer(writer);
}

static void tests_cgroups_and_those_below(void **state)
{
	const struct perch_filter_options options = { .cgroups = "/tow,/onerou" };
	const struct perch_filter_missing missing[] = {
		{ .part = PERCH_FILTER_CGROUP,
		  .wanted = "/onerou",
		  .similar = "/onerous",
		  .present = "/ (20), /one (20), /one/two (20), /onerous (20), 0 (20)",
		  .samples = 100 },
		{ .part = PERCH_FILTER_CGROUP,
		  .wanted = "/tow",
		  .present = "/ (20), /one (20), /one/two (20), /onerous (20), 0 (20)",
		  .samples = 100 },
	};

	(void)state;
	make_cgroups();
	assert_int_equal(MATCHES(.cgroups = "/one"), 40);
	assert_int_equal(MATCHES(.cgroups = "one/"), 40);
	assert_int_equal(MATCHES(.cgroups = "/one/two,/onerous"), 40);
	assert_int_equal(MATCHES(.cgroups = "/old"), 0);
	/* the cgroup 0 has no record */
	assert_int_equal(MATCHES(.cgroups = "/"), 80);
	expect_missing(&options, missing, 2);
}

/* The file of the function does not exist: nothing has a name. */
static void tests_callers(void **state)
{
	const struct perch_filter_options options = { .parent = "^main$" };
	const struct perch_filter_missing missing[] = {
		{ .part = PERCH_FILTER_PARENT, .wanted = "^main$", .present = "", .samples = 100 },
	};

	(void)state;
	make_cgroups();
	assert_int_equal(MATCHES(.parent = "."), 0);
	EXPECT_ERROR(EINVAL, "no extended regular expression", .parent = "(");
	expect_missing(&options, missing, 1);
	make_recording(true);
	EXPECT_ERROR(ENODATA, "have no call chain", .parent = "main");
	EXPECT_ERROR(ENODATA, "have no cgroup", .cgroups = "/");
}

/* Opens a recording of three events without samples. */
static struct perch_session *open_three_events(void)
{
	struct perch_file_event three[3] = { filter_event, filter_event, filter_event };
	struct perch_writer *writer;

	three[1].attr.config = PERCH_COUNT_SW_PAGE_FAULTS;
	three[2].attr.config = PERCH_COUNT_SW_CONTEXT_SWITCHES;
	for (size_t i = 0; i < 3; i++)
		three[i].ids = &ids[i];
	assert_int_equal(perch_writer_open(&writer, path, three, 3, NULL), 0);
	close_writer(writer);
	return open_session(NULL);
}

/* Returns which of samples of these events pass: "0120" is one of the first event, and so on. */
static const char *passing(const struct perch_switch_options *options, const char *samples,
			   bool *was_on)
{
	static char passed[32];
	struct perch_session *session = open_three_events();
	struct perch_switch *by_events;
	size_t nr = 0;

	assert_int_equal(perch_switch_new(&by_events, session, options, NULL), 0);
	perch_session_close(session);
	for (; *samples; samples++) {
		const struct perch_record sample = { .type = PERCH_RECORD_SAMPLE,
						     .event = (uint16_t)(*samples - '0') };

		if (perch_switch_match(by_events, &sample))
			passed[nr++] = *samples;
	}
	passed[nr] = 0;
	*was_on = perch_switch_was_on(by_events);
	perch_switch_free(by_events);
	return passed;
}

static void switches_by_events(void **state)
{
	struct perch_switch_options options = { .on = "page-faults" };
	bool was_on;

	(void)state;
	assert_string_equal(passing(&options, "0010210", &was_on), "0210");
	assert_true(was_on);
	assert_string_equal(passing(&options, "00202", &was_on), "");
	assert_false(was_on);
	options.off = "context-switches";
	assert_string_equal(passing(&options, "0210010200100", &was_on), "001000");
	options.show = true;
	assert_string_equal(passing(&options, "0210010200100", &was_on), "100102100");
	options.on = NULL;
	assert_string_equal(passing(&options, "0120010", &was_on), "012");
	assert_true(was_on);
	options = (struct perch_switch_options){ 0 };
	assert_string_equal(passing(&options, "012", &was_on), "012");
	assert_true(was_on);
}

static void refuses_events_that_are_not_there(void **state)
{
	struct perch_switch_options options = { .off = "faults" };
	struct perch_session *session = open_three_events();
	struct perch_switch *by_events;
	struct perch_error err;

	(void)state;
	assert_int_equal(perch_switch_new(&by_events, session, &options, &err), -ENOENT);
	assert_null(by_events);
	assert_string_equal(
		err.message,
		"the file has no event 'faults'; it has: cpu-clock, page-faults, context-switches");
	assert_string_equal(err.field, "off");
	options = (struct perch_switch_options){ .reserved = { 1 } };
	assert_int_equal(perch_switch_new(&by_events, session, &options, &err), -EINVAL);
	perch_session_close(session);
}

static void frees_nothing(void **state)
{
	(void)state;
	perch_filter_free(NULL);
	perch_switch_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tests_processes_threads_and_cpus),
		cmocka_unit_test(tests_names),
		cmocka_unit_test(reads_long_lines),
		cmocka_unit_test(separates_functions_outside_of_brackets),
		cmocka_unit_test(tests_times),
		cmocka_unit_test(refuses_what_is_not_in_its_form),
		cmocka_unit_test(refuses_to_test_what_samples_lack),
		cmocka_unit_test(names_what_there_is),
		cmocka_unit_test(tests_cgroups_and_those_below),
		cmocka_unit_test(tests_callers),
		cmocka_unit_test(switches_by_events),
		cmocka_unit_test(refuses_events_that_are_not_there),
		cmocka_unit_test(frees_nothing),
	};

	return cmocka_run_group_tests(tests, make_test_directory, remove_test_directory);
}
