/* SPDX-License-Identifier: MIT */
/* Sessions: recordings of the writer, with processes, build ids, call chains and formats. */
#include <fcntl.h>
#include <perch/export.h>
#include <perch/session.h>

#include "session_fixture.h"

#define CODE 0x401000ull

static void put_map(struct perch_writer *writer, uint64_t time)
{
	struct built b;

	start_record(&b, PERCH_RECORD_MMAP, PERCH_MISC_USER);
	put_u32(&b, BUILT_PID);
	put_u32(&b, BUILT_TID);
	put_u64(&b, CODE);
	put_u64(&b, 0x10000);
	put_u64(&b, 0x1000);
	put_name(&b, "/bin/worker");
	put_trailer(&b, TYPE, time, 21);
	end_record(&b);
	put_record(writer, &b);
}

static void put_lost(struct perch_writer *writer, uint32_t type, uint64_t lost, uint64_t time)
{
	struct built b;

	start_record(&b, type, 0);
	if (type == PERCH_RECORD_LOST)
		put_u64(&b, 21);
	put_u64(&b, lost);
	put_trailer(&b, TYPE, time, 21);
	end_record(&b);
	put_record(writer, &b);
}

/* The records are not in the order of time: the name and the mapping follow the samples. */
static void make_recording(void)
{
	struct perch_writer *writer = open_writer();
	struct built b;

	put_sample(writer, 21, 10);
	put_sample(writer, 31, 20);
	build_comm(&b, 1);
	put_record(writer, &b);
	put_map(writer, 2);
	put_lost(writer, PERCH_RECORD_LOST, 3, 30);
	put_lost(writer, PERCH_RECORD_LOST_SAMPLES, 5, 31);
	assert_int_equal(perch_writer_add_build_id(writer, PERCH_MISC_USER, build_id, 20,
						   "/bin/worker", NULL),
			 0);
	close_writer(writer);
}

/* ---- records and samples ---- */

static void check_sample(struct perch_session *session, const struct perch_session_sample *sample,
			 const char *name, uint64_t time)
{
	const struct perch_address *address = perch_session_address(session, sample->chain[0]);

	assert_string_equal(sample->event->name, name);
	assert_string_equal(perch_thread_comm(sample->thread), "worker");
	assert_int_equal(sample->record->sample.time, time);
	assert_int_equal(sample->nr, 1);
	assert_string_equal(address->dso->path, "/bin/worker");
	assert_int_equal(address->offset, 0x1000 + time);
	assert_int_equal(address->dso->build_id_size, 20);
	assert_memory_equal(address->dso->build_id, build_id, 20);
}

static void check_recording(struct perch_session *session)
{
	struct perch_session_sample sample;
	struct perch_session_stats stats;

	assert_int_equal(perch_session_next_sample(session, &sample, NULL), 1);
	check_sample(session, &sample, "cpu-clock", 10);
	assert_int_equal(perch_session_next_sample(session, &sample, NULL), 1);
	check_sample(session, &sample, "page-faults", 20);
	assert_int_equal(perch_session_next_sample(session, &sample, NULL), 0);
	perch_session_get_stats(session, &stats);
	assert_int_equal(stats.records, 6);
	assert_int_equal(stats.samples, 2);
	assert_int_equal(stats.lost, 5); /* LOST_SAMPLES includes LOST */
	assert_int_equal(stats.damage.corrupt_bytes, 0);
}

static void delivers_resolved_samples_by_time(void **state)
{
	struct perch_session *session;

	(void)state;
	make_recording();
	session = open_session(NULL);
	check_recording(session);
	assert_int_equal(perch_session_rewind(session, NULL), 0);
	check_recording(session);
	perch_session_close(session);
	perch_session_close(NULL);
}

static void numbers_chains_of_several_samples(void **state)
{
	struct perch_session *session;
	struct perch_session_sample sample;
	struct perch_record record;
	struct perch_error err;
	const uint32_t *numbers;
	uint32_t chain[2];
	size_t nr = 0;

	(void)state;
	make_recording();
	session = open_session(NULL);
	while (perch_session_next(session, &record, NULL) > 0) {
		if (record.type != PERCH_RECORD_SAMPLE) {
			assert_int_equal(perch_session_add_chain(session, &record, &sample, &err),
					 -EINVAL);
			continue;
		}
		assert_int_equal(perch_session_add_chain(session, &record, &sample, NULL), 0);
		assert_int_equal(sample.nr, 1);
		assert_in_range(nr, 0, 1);
		chain[nr++] = sample.chain[0];
	}
	assert_int_equal(perch_session_number_chains(session, &numbers, NULL), 0);
	assert_int_equal(perch_session_address(session, numbers[chain[0]])->offset, 0x1000 + 10);
	assert_int_equal(perch_session_address(session, numbers[chain[1]])->offset, 0x1000 + 20);
	assert_int_equal(perch_session_number_chains(session, &numbers, NULL), 0);
	assert_null(numbers);
	perch_session_close(session);
}

static void delivers_records_in_the_order_of_the_file(void **state)
{
	const struct perch_session_options options = { .file_order = 1 };
	static const uint32_t types[] = {
		PERCH_RECORD_SAMPLE, PERCH_RECORD_SAMPLE, PERCH_RECORD_COMM,
		PERCH_RECORD_MMAP,   PERCH_RECORD_LOST,	  PERCH_RECORD_LOST_SAMPLES,
	};
	struct perch_session *session;
	struct perch_session_sample sample;
	struct perch_record record;
	struct perch_error err;

	(void)state;
	make_recording();
	session = open_session(&options);
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		assert_int_equal(perch_session_next(session, &record, NULL), 1);
		assert_int_equal(record.type, types[i]);
	}
	assert_int_equal(perch_session_resolve(session, &record, &sample, &err), -EINVAL);
	assert_int_equal(perch_session_next(session, &record, NULL), 0);
	perch_session_close(session);
}

static void reads_descriptors(void **state)
{
	struct perch_session *session;
	struct perch_error err;
	int fd, ends[2];
	uint8_t *bytes;
	size_t size;

	(void)state;
	make_recording();
	fd = open(path, O_RDONLY);
	assert_int_equal(perch_session_open_fd(&session, fd, NULL, &err), 0);
	close(fd);
	check_recording(session);
	perch_session_close(session);

	bytes = read_whole_file(path, &size);
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(write(ends[1], bytes, size), size);
	close(ends[1]);
	assert_int_equal(perch_session_open_fd(&session, ends[0], NULL, &err), 0);
	close(ends[0]);
	check_recording(session);
	perch_session_close(session);
	free(bytes);

	assert_int_equal(perch_session_open_fd(&session, ends[0], NULL, &err), -EBADF);
	assert_null(session);
	assert_non_null(strstr(err.message, "descriptor"));
}

static void delivers_damaged_records_on_request(void **state)
{
	const struct perch_session_options options = { .file_order = 1, .keep_damaged = 1 };
	struct perch_writer *writer;
	struct perch_session *session;
	struct perch_session_stats stats;
	struct perch_record record;
	struct perch_error err;

	(void)state;
	writer = open_writer();
	put_plain(writer, PERCH_RECORD_COMM); /* without a body */
	put_sample(writer, 21, 10);
	close_writer(writer);
	session = open_session(&options);
	assert_int_equal(perch_session_next(session, &record, &err), -EBADMSG);
	assert_int_equal(record.type, PERCH_RECORD_COMM);
	assert_int_equal(perch_session_next(session, &record, &err), 1);
	perch_session_get_stats(session, &stats);
	assert_int_equal(stats.damage.undecoded_records, 1);
	assert_int_equal(stats.records, 1);
	perch_session_close(session);
}

/* ---- the owner ---- */

static void refuses_the_file_of_another_user(void **state)
{
	const struct perch_session_options options = { .check_owner = 1 };
	struct perch_session *session;
	struct perch_error err;
	int fd;

	(void)state;
	if (geteuid()) {
		print_message("only root can give a file to another user\n");
		skip();
	}
	make_recording();
	perch_session_close(open_session(&options));
	assert_int_equal(chown(path, 12345, 12345), 0);
	assert_int_equal(perch_session_open(&session, path, &options, &err), -EPERM);
	assert_null(session);
	assert_non_null(strstr(err.message, "not owned by the current user or root"));
	assert_non_null(strstr(err.message, "12345"));
	perch_session_close(open_session(NULL));
	/* a descriptor is the choice of the caller */
	fd = open(path, O_RDONLY);
	assert_int_equal(perch_session_open_fd(&session, fd, &options, &err), 0);
	close(fd);
	perch_session_close(session);
}

/* ---- what a recording lacks ---- */

static void write_events(const struct perch_attr *attr, const struct built *b)
{
	const struct perch_file_event event = {
		.attr = *attr, .name = "event", .ids = ids, .nr_ids = 1, .members = 1
	};
	const struct iovec bytes = { .iov_base = (void *)b->bytes, .iov_len = b->size };
	struct perch_writer *writer;

	assert_int_equal(perch_writer_open(&writer, path, &event, 1, NULL), 0);
	assert_int_equal(perch_writer_append(writer, &bytes, 1, NULL), 0);
	close_writer(writer);
}

static void stats_after_one_sample(struct perch_session_stats *stats)
{
	struct perch_session *session = open_session(NULL);
	struct perch_session_sample sample;

	assert_int_equal(perch_session_next_sample(session, &sample, NULL), 1);
	assert_true(sample.nr <= PERCH_MAX_CALL_CHAIN);
	perch_session_get_stats(session, stats);
	perch_session_close(session);
}

static void counts_cut_call_chains(void **state)
{
	const struct perch_attr attr = { .type = PERCH_TYPE_SOFTWARE,
					 .sample_type = PERCH_SAMPLE_IP | PERCH_SAMPLE_CALLCHAIN };
	struct perch_session_stats stats;
	struct built b;

	(void)state;
	/* one context marker */
	for (uint64_t nr = PERCH_MAX_CALL_CHAIN; nr <= PERCH_MAX_CALL_CHAIN + 1; nr++) {
		start_record(&b, PERCH_RECORD_SAMPLE, PERCH_MISC_USER);
		put_u64(&b, CODE);
		put_u64(&b, nr + 1);
		put_u64(&b, PERCH_CONTEXT_USER);
		for (uint64_t i = 0; i < nr; i++)
			put_u64(&b, CODE + i);
		end_record(&b);
		write_events(&attr, &b);
		stats_after_one_sample(&stats);
		assert_int_equal(stats.cut_chains, nr > PERCH_MAX_CALL_CHAIN);
	}
}

/* Each sample has one kernel address; record: the cookie of a record after the sample, 0 if none.
 */
static void make_deferred_sample(uint64_t cookie, uint64_t record_cookie)
{
	static const struct perch_attr attr = { .type = PERCH_TYPE_SOFTWARE,
						.sample_type = PERCH_SAMPLE_IP |
							       PERCH_SAMPLE_CALLCHAIN,
						.defer_callchain = 1 };
	struct built b, record;

	start_record(&b, PERCH_RECORD_SAMPLE, PERCH_MISC_KERNEL);
	put_u64(&b, 0xffffffff81000000);
	put_u64(&b, cookie ? 4 : 2);
	put_u64(&b, PERCH_CONTEXT_KERNEL);
	put_u64(&b, 0xffffffff81000000);
	if (cookie) {
		put_u64(&b, PERCH_CONTEXT_USER_DEFERRED);
		put_u64(&b, cookie);
	}
	end_record(&b);
	if (record_cookie) {
		start_record(&record, PERCH_RECORD_CALLCHAIN_DEFERRED, PERCH_MISC_USER);
		put_u64(&record, record_cookie);
		put_u64(&record, 1);
		put_u64(&record, CODE);
		end_record(&record);
		memcpy(b.bytes + b.size, record.bytes, record.size);
		b.size += record.size;
	}
	write_events(&attr, &b);
}

static void counts_call_chains_without_their_user_part(void **state)
{
	static const struct {
		uint64_t cookie, record_cookie;
		bool incomplete;
	} cases[] = { { 0, 0, false }, { 7, 7, false }, { 7, 0, true }, { 7, 8, true } };
	struct perch_session_options options = { .file_order = 1 };
	struct perch_session_sample sample;
	struct perch_session_stats stats;
	struct perch_session *session;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		make_deferred_sample(cases[i].cookie, cases[i].record_cookie);
		session = open_session(NULL);
		for (int round = 0; round < 2; round++) {
			assert_int_equal(perch_session_next_sample(session, &sample, NULL), 1);
			assert_int_equal(sample.nr,
					 cases[i].cookie && !cases[i].incomplete ? 2 : 1);
			assert_int_equal(perch_session_next_sample(session, &sample, NULL), 0);
			perch_session_get_stats(session, &stats);
			assert_int_equal(stats.incomplete_chains, cases[i].incomplete);
			assert_int_equal(perch_session_rewind(session, NULL), 0);
		}
		perch_session_close(session);
	}
	/* in the order of the file no chains are merged, so none is missing */
	session = open_session(&options);
	assert_int_equal(perch_session_next_sample(session, &sample, NULL), 1);
	perch_session_get_stats(session, &stats);
	assert_int_equal(stats.incomplete_chains, 0);
	perch_session_close(session);
}

static void counts_stacks_that_are_not_unwound(void **state)
{
	struct perch_attr attr = { .type = PERCH_TYPE_SOFTWARE,
				   .sample_type = PERCH_SAMPLE_IP | PERCH_SAMPLE_STACK_USER,
				   .sample_stack_user = 16 };
	struct perch_session_stats stats;
	struct built b;

	(void)state;
	for (uint64_t used = 0; used <= 8; used += 8) {
		start_record(&b, PERCH_RECORD_SAMPLE, PERCH_MISC_USER);
		put_u64(&b, CODE);
		put_u64(&b, 16);
		put_u64(&b, 1);
		put_u64(&b, 2);
		put_u64(&b, used);
		end_record(&b);
		write_events(&attr, &b);
		stats_after_one_sample(&stats);
		assert_int_equal(stats.not_unwound, used != 0);
	}
}

/* The registers lead to code that is not mapped: only the sampled address is stored. */
static void unwinds_stacks_by_default(void **state)
{
	const uint64_t registers = perch_unwind_registers(perch_arch_here());
	struct perch_attr attr = { .type = PERCH_TYPE_SOFTWARE,
				   .sample_type = PERCH_SAMPLE_IP | PERCH_SAMPLE_CALLCHAIN |
						  PERCH_SAMPLE_REGS_USER | PERCH_SAMPLE_STACK_USER,
				   .exclude_callchain_user = 1,
				   .sample_regs_user = registers,
				   .sample_stack_user = 8 };
	struct perch_session_options options = { 0 };
	struct perch_session_sample sample;
	struct perch_session_stats stats;
	struct perch_session *session;
	struct built b;

	(void)state;
	if (!registers)
		skip();
	start_record(&b, PERCH_RECORD_SAMPLE, PERCH_MISC_KERNEL);
	put_u64(&b, CODE);
	put_u64(&b, 2);
	put_u64(&b, PERCH_CONTEXT_KERNEL);
	put_u64(&b, CODE);
	put_u64(&b, PERCH_SAMPLE_REGS_ABI_64);
	for (int i = 0; i < __builtin_popcountll(registers); i++)
		put_u64(&b, 0x1234);
	put_u64(&b, 8);
	put_u64(&b, 1);
	put_u64(&b, 8);
	end_record(&b);
	write_events(&attr, &b);
	for (unsigned keep = 0; keep < 2; keep++) {
		options.keep_stacks = keep;
		session = open_session(&options);
		assert_null(perch_session_unwinder(session));
		assert_int_equal(perch_session_next_sample(session, &sample, NULL), 1);
		assert_int_equal(sample.nr, keep ? 1 : 2);
		assert_int_equal(sample.record->sample.callchain.nr, keep ? 2 : 4);
		perch_session_get_stats(session, &stats);
		assert_int_equal(stats.not_unwound, keep);
		assert_int_equal(stats.incomplete_stacks, !keep);
		if (!keep)
			assert_int_equal(perch_unwinder_count(perch_session_unwinder(session), NULL,
							      PERCH_UNWIND_NO_MAPPING),
					 1);
		perch_session_close(session);
	}
}

/* ---- tracepoints ---- */

#define FORMAT                                                                 \
	"name: tick\nID: 4242\nformat:\n"                                      \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n" \
	"\n\tfield:int count;\toffset:4;\tsize:4;\tsigned:1;\n"                \
	"\nprint fmt: \"%d\", REC->count\n"

static void put_text_file(struct perch__bytes *bytes, const char *text)
{
	perch__bytes_put_u64(bytes, strlen(text));
	perch__bytes_put(bytes, text, strlen(text));
}

/* TRACING_DATA with one format, and no EVENT_DESC. */
static void make_tracepoint_file(void)
{
	const struct perch_attr attr = { .type = PERCH_TYPE_TRACEPOINT,
					 .config = 4242,
					 .sample_type = PERCH_SAMPLE_RAW };
	const struct perch_file_event event = {
		.attr = attr, .name = "", .ids = ids, .nr_ids = 1, .members = 1
	};
	const uint8_t big = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
	const uint8_t start[] = { big, sizeof(long) };
	struct perch__bytes bytes = { 0 };
	struct perch_writer *writer;
	struct built b;

	perch__bytes_put(&bytes, "\x17\x08\x44tracing0.6", 14);
	perch__bytes_put(&bytes, start, 2);
	perch__bytes_put_u32(&bytes, 4096);
	perch__bytes_put(&bytes, "header_page", 12);
	put_text_file(&bytes, "page");
	perch__bytes_put(&bytes, "header_event", 13);
	put_text_file(&bytes, "event");
	perch__bytes_put_u32(&bytes, 0);
	perch__bytes_put_u32(&bytes, 1);
	perch__bytes_put(&bytes, "clock", 6);
	perch__bytes_put_u32(&bytes, 1);
	put_text_file(&bytes, FORMAT);
	assert_false(bytes.failed);

	assert_int_equal(perch_writer_open(&writer, path, &event, 1, NULL), 0);
	start_record(&b, PERCH_RECORD_SAMPLE, PERCH_MISC_USER);
	put_u32(&b, 12); /* size of the raw data */
	put_u32(&b, 4242);
	put_u32(&b, (uint32_t)-7);
	put_u32(&b, 0);
	end_record(&b);
	put_record(writer, &b);
	assert_int_equal(perch_writer_set_feature(writer, PERCH_FEATURE_TRACING_DATA, bytes.data,
						  bytes.size, NULL),
			 0);
	close_writer(writer);
	perch__bytes_free(&bytes);
}

static void names_tracepoints_by_their_formats(void **state)
{
	const struct perch_tracepoint_format *format;
	const struct perch_tracepoint_field *count;
	struct perch_session_sample sample;
	struct perch_session *session;
	int64_t value;

	(void)state;
	make_tracepoint_file();
	session = open_session(NULL);
	assert_int_equal(perch_session_next_sample(session, &sample, NULL), 1);
	assert_string_equal(sample.event->name, "clock:tick");
	assert_int_equal(perch_session_format(session, sample.event, &format, NULL), 0);
	count = perch_tracepoint_format_find(format, "count");
	assert_non_null(count);
	assert_int_equal(perch_tracepoint_get_s64(count, sample.record, &value), 0);
	assert_int_equal(value, -7);
	perch_session_close(session);
}

static void other_events_have_no_format(void **state)
{
	const struct perch_tracepoint_format *format;
	struct perch_session_sample sample;
	struct perch_session *session;
	struct perch_error err;

	(void)state;
	make_recording();
	session = open_session(NULL);
	assert_int_equal(perch_session_next_sample(session, &sample, NULL), 1);
	assert_int_equal(perch_session_format(session, sample.event, &format, &err), -EINVAL);
	assert_null(format);
	assert_non_null(strstr(err.message, "cpu-clock"));
	perch_session_close(session);
}

/* ---- records of a sampler ---- */

static void delivers_records_that_are_passed(void **state)
{
	struct perch_session *from, *live;
	struct perch_record record, delivered;
	struct perch_session_stats stats;
	struct perch_session_sample sample;
	unsigned samples = 0;

	(void)state;
	make_recording();
	from = open_session(NULL);
	live = open_session(NULL);
	perch_session_put(live, NULL);
	assert_int_equal(perch_session_next(live, &delivered, NULL), 0);
	while (perch_session_next(from, &record, NULL) > 0) {
		perch_session_put(live, &record);
		assert_int_equal(perch_session_next(live, &delivered, NULL), 1);
		assert_int_equal(delivered.type, record.type);
		if (delivered.type == PERCH_RECORD_SAMPLE) {
			assert_int_equal(perch_session_resolve(live, &delivered, &sample, NULL), 0);
			assert_string_equal(perch_thread_comm(sample.thread), "worker");
			samples++;
		}
		assert_int_equal(perch_session_next(live, &delivered, NULL), 0);
	}
	assert_int_equal(samples, 2);
	perch_session_get_stats(live, &stats);
	assert_int_equal(stats.samples, 2);
	assert_int_equal(stats.lost, 5);
	perch_session_close(from);
	perch_session_close(live);
}

static void exports_only_events_of_the_recording(void **state)
{
	const struct perch_export_options other = { .event = "x" }, present = { 0 };
	struct perch_session *session;
	struct perch_export *export;
	struct perch_error err = { 0 };
	FILE *out = fopen("/dev/null", "w");

	(void)state;
	make_recording();
	session = open_session(NULL);
	assert_non_null(out);
	assert_int_equal(perch_export_new(&export, session, PERCH_EXPORT_FOLDED, &present, &err),
			 0);
	assert_int_equal(perch_export_write(export, out, &err), 0);
	perch_export_free(export);
	assert_int_equal(perch_export_new(&export, session, PERCH_EXPORT_FOLDED, &other, &err),
			 -EINVAL);
	assert_null(export);
	assert_non_null(strstr(err.message, "the recording has no event 'x'; it has "));
	perch_session_close(session);
	fclose(out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(delivers_resolved_samples_by_time),
		cmocka_unit_test(numbers_chains_of_several_samples),
		cmocka_unit_test(delivers_records_in_the_order_of_the_file),
		cmocka_unit_test(reads_descriptors),
		cmocka_unit_test(delivers_damaged_records_on_request),
		cmocka_unit_test(refuses_the_file_of_another_user),
		cmocka_unit_test(counts_cut_call_chains),
		cmocka_unit_test(counts_call_chains_without_their_user_part),
		cmocka_unit_test(counts_stacks_that_are_not_unwound),
		cmocka_unit_test(unwinds_stacks_by_default),
		cmocka_unit_test(names_tracepoints_by_their_formats),
		cmocka_unit_test(other_events_have_no_format),
		cmocka_unit_test(delivers_records_that_are_passed),
		cmocka_unit_test(exports_only_events_of_the_recording),
	};

	return cmocka_run_group_tests(tests, make_test_directory, remove_test_directory);
}
