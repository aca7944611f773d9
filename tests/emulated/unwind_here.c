/* SPDX-License-Identifier: MIT */
/*
 * unwind_here FILE MARK: unwinds the samples of an emulated arm64 machine on this machine, with the
 * files below the directory $PERCH_GUEST_ROOT, and compares with the call chains of the kernel
 * there. They are in the lines of FILE that start with MARK, see unwind.c.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../interop/unwind_compare.h"

enum { MAX_BYTES = 65536, PID = 1 };

struct host {
	struct oracle oracle;
	const char *root;
	struct perch_parse_info parse_info;
	bool has_attr;
	uint64_t bytes[MAX_BYTES / 8];
	size_t size;
};

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool get_bytes(struct host *host, const char *text)
{
	unsigned char *to = (unsigned char *)host->bytes;

	for (host->size = 0; digit(text[0]) >= 0 && digit(text[1]) >= 0 && host->size < MAX_BYTES;
	     text += 2)
		to[host->size++] = (unsigned char)(digit(text[0]) * 16 + digit(text[1]));
	return !*text && host->size;
}

/* The vdso becomes a file of the other machine: that of this machine is not used for it. */
static int write_vdso(const struct host *host)
{
	char path[512];
	FILE *file;
	size_t written;

	snprintf(path, sizeof(path), "%s/vdso", host->root);
	file = fopen(path, "we");
	if (!file)
		return -errno;
	written = fwrite(host->bytes, 1, host->size, file);
	return fclose(file) || written != host->size ? -EIO : 0;
}

/* All samples are of one process. */
static int map(struct host *host, const char *text)
{
	struct perch_record record = { .type = PERCH_RECORD_MMAP2, .misc = PERCH_MISC_USER };
	char path[256];

	if (sscanf(text, "%" SCNx64 " %" SCNx64 " %" SCNx64 " %255s", &record.mmap.start,
		   &record.mmap.length, &record.mmap.page_offset, path) != 4)
		return -EBADMSG;
	if (!strcmp(path, "[vdso]"))
		strcpy(path, "/vdso");
	record.mmap.pid = record.mmap.tid = PID;
	record.mmap.filename = (struct perch_text){ path, (uint32_t)strlen(path) };
	return oracle_take(&host->oracle, &record);
}

static int take_record(struct host *host)
{
	struct perch_record record;

	if (!host->has_attr ||
	    perch_record_decode(&record, &host->parse_info, host->bytes, host->size, NULL))
		return -EBADMSG;
	record.sample.pid = record.sample.tid = PID;
	return oracle_take(&host->oracle, &record);
}

static int take_line(struct host *host, const char *line)
{
	struct perch_attr attr;

	if (!strncmp(line, "map ", 4))
		return map(host, line + 4);
	if (!strncmp(line, "vdso ", 5))
		return get_bytes(host, line + 5) ? write_vdso(host) : -EBADMSG;
	if (!strncmp(line, "record ", 7))
		return get_bytes(host, line + 7) ? take_record(host) : -EBADMSG;
	if (strncmp(line, "attr ", 5) || !get_bytes(host, line + 5) ||
	    perch_attr_from_bytes(&attr, host->bytes, host->size, PERCH_BYTES_NATIVE))
		return -EBADMSG;
	perch_parse_info_init(&host->parse_info, &attr, PERCH_BYTES_NATIVE);
	host->has_attr = true;
	return 0;
}

static int take_lines(struct host *host, FILE *file, const char *mark)
{
	size_t skip = strlen(mark), capacity = 0;
	char *line = NULL;
	int rc = 0;

	while (!rc && getline(&line, &capacity, file) > 0) {
		line[strcspn(line, "\r\n")] = 0;
		if (!strncmp(line, mark, skip))
			rc = take_line(host, line + skip);
	}
	if (rc)
		printf("# %d at a line '%.60s'\n", rc, line);
	free(line);
	return rc;
}

static bool is_right(const struct oracle *oracle)
{
	return oracle->samples >= 50 && oracle->other * 200 <= oracle->samples &&
	       (oracle->equal + oracle->signal) * 4 >= oracle->samples * 3 &&
	       !oracle_missing_names(oracle);
}

int main(int argc, char **argv)
{
	static const char *names[] = { "work_deep",    "work_many",	   "work_without_frame",
				       "work_handler", "work_interrupted", "/vdso" };
	static struct host host;
	FILE *file = argc == 3 ? fopen(argv[1], "re") : NULL;
	struct perch_error err;
	bool right;
	int rc;

	host.root = getenv("PERCH_GUEST_ROOT");
	if (!file || !host.root) {
		fprintf(stderr, "usage: PERCH_GUEST_ROOT=DIRECTORY unwind_here FILE MARK\n");
		return 2;
	}
	host.oracle.name = names;
	host.oracle.nr_names = sizeof(names) / sizeof(names[0]);
	rc = oracle_begin(&host.oracle, PERCH_ARCH_ARM64, host.root, &err);
	if (rc)
		return perch_error_print(stderr, &err), 2;
	rc = take_lines(&host, file, argv[2]);
	fclose(file);
	right = !rc && is_right(&host.oracle);
	printf("%s - stacks of arm64, unwound here: %u of %u equal, %u at the start or end of a "
	       "function, %u in signal handlers, %u cut, %u different\n",
	       right ? "ok" : "not ok", host.oracle.equal, host.oracle.samples, host.oracle.entry,
	       host.oracle.signal, host.oracle.too_short, host.oracle.other);
	oracle_end(&host.oracle);
	return !right;
}
