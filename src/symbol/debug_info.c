/* SPDX-License-Identifier: MIT */
/*
 * Opens the debug information of a DSO: in the file itself or in its separate debug file, with the
 * file that both share (.gnu_debugaltlink).
 */
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "debug_info.h"
#include "index/index.h"

static const char damaged[] = "its debug information is damaged; install it again";

/* ---- the file that several debug files share (dwz) ---- */

/*
 * Reads .gnu_debugaltlink: the path of the shared file, and after its NUL the build id. Returns
 * false if there is none.
 */
static bool read_link(struct debug_info *info)
{
	struct elf_file *file = info->with_debug;
	size_t index = perch__elf_sections(file)
			       ? 0
			       : perch__elf_section(file, ".gnu_debugaltlink", SHT_PROGBITS);
	uint64_t size;
	size_t length;

	if (!index)
		return false;
	size = file->elf.section[index].size;
	if (size <= PATH_MAX)
		info->link = perch__elf_bytes(file, file->elf.section[index].offset, size);
	length = info->link ? strlen(info->link) + 1 : 1;
	if (length < 2 || size < length + 2 || size > length + sizeof(info->link_id)) {
		free(info->link);
		info->link = NULL;
		info->bad_link = true;
		return false;
	}
	info->link_id_size = size - length;
	memcpy(info->link_id, info->link + length, info->link_id_size);
	return true;
}

/* Opens a file as the shared one if its build id is the wanted one. Takes fd. */
static bool open_alternative(struct debug_info *info, int fd)
{
	if (fd < 0 || perch__elf_open(&info->alternative, fd))
		return false;
	info->has_alternative = perch__same_build_id(info->link_id, info->link_id_size,
						     info->alternative.build_id,
						     (size_t)info->alternative.build_id_size);
	if (!info->has_alternative)
		perch__elf_close(&info->alternative);
	return info->has_alternative;
}

/* The same for a path below the root directories. */
static bool open_alternative_at(struct debug_info *info, const char *path)
{
	for (size_t i = 0; i < info->nr_roots; i++)
		if (open_alternative(info, perch__open_regular(info->root[i], path)))
			return true;
	return false;
}

/* The link is relative to the directory of the debug file. */
static bool open_linked(struct debug_info *info)
{
	char whole[PATH_MAX];

	if (*info->link == '/')
		return open_alternative_at(info, info->link);
	if (info->directory[0] != '/' || snprintf(whole, sizeof(whole), "%s%s", info->directory,
						  info->link) >= (int)sizeof(whole))
		return false;
	/* the directory begins with the root directory already, but not with that of a process */
	return open_alternative(info, perch__open_regular(NULL, whole)) ||
	       (info->nr_roots > 1 &&
		open_alternative(info, perch__open_regular(info->root[1], whole)));
}

/* The build id cache has a copy of the file, and not what is beside it. */
static bool open_beside_original(struct debug_info *info)
{
	const char *slash = strrchr(info->dso->path, '/');
	char whole[PATH_MAX];

	return *info->link != '/' && slash &&
	       snprintf(whole, sizeof(whole), "%.*s%s", (int)(slash + 1 - info->dso->path),
			info->dso->path, info->link) < (int)sizeof(whole) &&
	       open_alternative_at(info, whole);
}

/* A debug file in the build id cache, or from a server, is in another directory than its package
 * has it. */
static bool open_installed(struct debug_info *info)
{
	const char *below = strstr(info->link, "/.dwz/");
	char path[PATH_MAX], id[2 * 20 + 2];

	if (below && snprintf(path, sizeof(path), "/usr/lib/debug%s", below) < (int)sizeof(path) &&
	    open_alternative_at(info, path))
		return true;
	perch__build_id_path(info->link_id, info->link_id_size, id);
	snprintf(path, sizeof(path), "/usr/lib/debug/.build-id/%s.debug", id);
	return open_alternative_at(info, path);
}

static bool open_cached(struct debug_info *info)
{
	static const enum perch_cached_file kinds[] = { PERCH_CACHED_DEBUG, PERCH_CACHED_ELF };

	for (size_t i = 0; i < 2; i++)
		if (open_alternative(info,
				     perch__open_build_id_cache(info->sources, info->link_id,
								info->link_id_size, kinds[i])))
			return true;
	return false;
}

/* Opens the shared file of the link, if that was not done before. */
static bool find_alternative(struct debug_info *info)
{
	return info->has_alternative || open_linked(info) || open_beside_original(info) ||
	       open_installed(info) || open_cached(info) ||
	       open_alternative(info, perch__debuginfod_find(info->sources->debuginfod, info->dso,
							     DEBUGINFOD_DEBUG, info->link_id,
							     info->link_id_size, &info->error));
}

/* The build id of the file was compared. */
static void set_alternative(struct debug_info *info)
{
	struct dwarf **shared = &info->dwarf->alternative;

	if (info->link && find_alternative(info) &&
	    !perch__dwarf_open(shared, &info->alternative) && perch__dwarf_units(*shared)) {
		perch__dwarf_free(*shared);
		*shared = NULL;
	}
	if (info->bad_link)
		perch__set_symbol_error(&info->error, "%s", damaged);
	else if (info->link && !*shared && info->has_alternative)
		perch__set_symbol_error(&info->error,
					"the file %s, which has a part of its debug information "
					"(dwz), is stripped or damaged; install its package again",
					info->link);
	else if (info->link && !*shared && !info->error.text[0])
		perch__set_symbol_error(&info->error,
					"the file %s, which has a part of its debug information "
					"(dwz), is missing; install the package of that file",
					info->link);
}

/* ---- the file with the debug information ---- */

/* Finds the file of the kernel. Returns 0, -ENOENT or -ENOMEM. */
static int find_vmlinux(struct debug_info *info, const struct sources *sources,
			const struct perch_dso *dso)
{
	int rc = perch__open_vmlinux(&info->file, sources, dso, &info->shift);

	if (rc)
		return rc == -ENOMEM ? rc : -ENOENT;
	info->has_file = info->kernel = true;
	if (!perch__elf_has_debug_info(&info->file))
		return -ENOENT;
	info->with_debug = &info->file;
	return 0;
}

/* The same for a module. Its addresses are those of the recording. */
static int find_module(struct debug_info *info, const struct sources *sources,
		       const struct perch_dso *dso)
{
	struct symbol_error ignored;
	struct module_file module;
	int rc = perch__open_module(&module, sources, dso, &ignored);

	if (rc == -ENOMEM)
		return rc;
	info->kernel = true;
	if (!rc && perch__elf_has_debug_info(&module.file)) {
		info->debug = module.file;
		module.file = (struct elf_file){ .elf.fd = -1 };
		info->has_debug = true;
	} else {
		info->has_debug = !perch__open_module_debug(&info->debug, sources, dso,
							    rc ? NULL : &module, &info->error);
	}
	if (!rc)
		perch__close_module(&module);
	info->with_debug = &info->debug;
	return info->has_debug ? 0 : -ENOENT;
}

/* Finds the file with the debug information on this machine. Returns 0, -ENOENT or -ENOMEM. */
static int find_here(struct debug_info *info)
{
	struct symbol_error ignored;
	int rc = perch__open_file(&info->file, info->sources, info->dso, &ignored);

	if (rc == -ENOMEM)
		return rc;
	info->has_file = !rc;
	if (info->has_file && perch__elf_has_debug_info(&info->file)) {
		info->with_debug = &info->file;
		return 0;
	}
	info->with_debug = &info->debug;
	info->has_debug = !perch__open_debug(&info->debug, info->sources, info->dso,
					     info->has_file ? &info->file : NULL);
	return info->has_debug && perch__elf_has_debug_info(&info->debug) ? 0 : -ENOENT;
}

/* The same, here or by debuginfod. */
static int find_file(struct debug_info *info, const struct sources *sources,
		     const struct perch_dso *dso)
{
	int rc = find_here(info);

	if (rc != -ENOENT)
		return rc;
	if (info->has_debug)
		perch__elf_close(&info->debug);
	info->has_debug = !perch__open_debuginfod(&info->debug, sources->debuginfod, dso,
						  info->has_file ? &info->file : NULL,
						  &info->error);
	return info->has_debug && perch__elf_has_debug_info(&info->debug) ? 0 : -ENOENT;
}

/* The same, if offsets in the mapped file can be converted to addresses. */
static int find_usable_file(struct debug_info *info, const struct sources *sources,
			    const struct perch_dso *dso)
{
	int rc = find_file(info, sources, dso);

	return !rc && !info->has_file && !perch__elf_has_offsets(&info->debug) ? -ENOENT : rc;
}

/* Reads the directory of the file with the debug information, before a copy takes its place. */
static void set_directory(struct debug_info *info)
{
	char own[64];
	ssize_t length;

	snprintf(own, sizeof(own), "/proc/self/fd/%d", info->with_debug->elf.fd);
	length = readlink(own, info->directory, sizeof(info->directory) - 1);
	while (length > 0 && info->directory[length - 1] != '/')
		length--;
	info->directory[length > 0 ? length : 0] = 0;
}

static void set_error(struct debug_info *info, int rc)
{
	perch__set_symbol_error(
		&info->error, "%s",
		rc == -ENOMEM	 ? "out of memory"
		: rc == -EFBIG	 ? "its compressed debug information is too large"
		: rc == -ENOTSUP ? "its debug information is compressed by zstd, and perch was "
				   "built without libzstd"
		: rc == -EINVAL	 ? "its debug information has relocations that are not supported"
				 : damaged);
}

/* Opens the debug information of a file that has some. */
static void open_dwarf(struct debug_info *info)
{
	int rc = perch__dwarf_open(&info->dwarf, info->with_debug);
	if (rc) {
		set_error(info, rc);
		return;
	}
	info->dwarf->open_split = perch__split_open;
	info->dwarf->context = info;
	info->incomplete = true;
}

/* Opens the index of the files. If there was one, the debug information is left for later. */
static void open_index(struct debug_info *info)
{
	struct index_key key = { .kind = "frames" };

	if (info->kernel || info->bad_link ||
	    (info->has_file && !perch__index_key_add(&key, &info->file)) ||
	    (info->with_debug != &info->file && !perch__index_key_add(&key, info->with_debug)))
		return;
	if (info->link &&
	    (!find_alternative(info) || !perch__index_key_add(&key, &info->alternative)))
		return;
	info->index = perch__frame_index_open(&key);
	info->deferred = info->index && perch__frame_index_is_stored(info->index);
}

/* Stores what was found, unless it would be different with files that the index does not know, or
 * is incomplete. */
static void store_index(struct debug_info *info)
{
	const struct dwarf *dwarf = info->dwarf;

	if (info->index && dwarf && !dwarf->split && !info->searched_dwp && !info->dwo_read &&
	    !info->error.text[0] && !dwarf->is_damaged && !dwarf->lacks_memory &&
	    !(dwarf->alternative &&
	      (dwarf->alternative->is_damaged || dwarf->alternative->lacks_memory)))
		perch__frame_index_store(info->index);
}

/* Returns NULL if out of memory. */
static struct debug_info *new_info(const struct sources *sources, const struct perch_dso *dso)
{
	struct debug_info *info = perch__calloc(1, sizeof(*info));

	if (!info)
		return NULL;
	info->sources = sources;
	info->dso = dso;
	info->root[info->nr_roots++] = sources->root;
	if (perch__root_of_process(sources, dso, info->root_of_process))
		info->root[info->nr_roots++] = info->root_of_process;
	return info;
}

struct debug_info *perch__debug_start(const struct sources *sources, const struct perch_dso *dso,
				      struct decompress_thread *thread)
{
	struct debug_info *info = new_info(sources, dso);
	int rc;

	if (!info)
		return NULL;
	if (perch_dso_is(dso, PERCH_DSO_IS_KERNEL))
		rc = find_vmlinux(info, sources, dso);
	else if (perch_dso_is(dso, PERCH_DSO_IS_MODULE))
		rc = find_module(info, sources, dso);
	else
		rc = find_usable_file(info, sources, dso);
	if (!rc) {
		set_directory(info);
		read_link(info);
		open_index(info);
	}
	if (!rc && !info->deferred)
		open_dwarf(info);
	if (thread && info->dwarf)
		perch__dwarf_start_sections(info->dwarf->own, thread);
	return info;
}

void perch__debug_complete(struct debug_info *info)
{
	int rc;

	if (!info->incomplete)
		return;
	info->incomplete = false;
	rc = perch__dwarf_list(info->dwarf);
	if (!rc) {
		set_alternative(info);
		return;
	}
	perch__dwarf_free(info->dwarf);
	info->dwarf = NULL;
	set_error(info, rc == -ENOMEM ? rc : -EBADMSG);
}

struct debug_info *perch__debug_open(const struct sources *sources, const struct perch_dso *dso)
{
	struct debug_info *info = perch__debug_start(sources, dso, NULL);

	if (info)
		perch__debug_complete(info);
	return info;
}

int perch__open_shared_debug_of(const struct sources *sources, const struct perch_dso *dso,
				uint8_t build_id[20], size_t *size)
{
	struct debug_info *info = new_info(sources, dso);
	int fd = -1;

	if (info && !find_here(info)) {
		set_directory(info);
		if (read_link(info) && find_alternative(info)) {
			fd = fcntl(info->alternative.elf.fd, F_DUPFD_CLOEXEC, 0);
			memcpy(build_id, info->link_id, info->link_id_size);
			*size = info->link_id_size;
		}
	}
	perch__debug_free(info);
	return fd < 0 ? -ENOENT : fd;
}

const char *perch__debug_error(const struct debug_info *info)
{
	if (info->error.text[0])
		return info->error.text;
	return info->dwarf && info->dwarf->is_damaged ? damaged : NULL;
}

bool perch__debug_read(struct debug_info *info)
{
	if (info->deferred) {
		info->deferred = false;
		open_dwarf(info);
	}
	perch__debug_complete(info);
	return info->dwarf;
}

bool perch__debug_is_open(const struct debug_info *info)
{
	return info->dwarf || info->deferred;
}

/* Finds what an address is more than its offset. number: one of the two. Returns false if no
 * segment has it. */
static bool find_distance(const struct debug_info *info, bool is_address, uint64_t number,
			  uint64_t *distance)
{
	const struct perch__elf *elf = info->has_file ? &info->file.elf : &info->with_debug->elf;

	*distance = -info->shift;
	if (info->kernel)
		return true;
	for (size_t i = 0; i < elf->nr_loads; i++) {
		const struct perch__elf_segment *segment = &elf->segment[i];
		uint64_t start = is_address ? segment->address : segment->offset;

		*distance = segment->address - segment->offset;
		/* the segments of a debug file have no bytes, see perch__elf_offset() */
		if (!info->has_file)
			*distance = segment->address & ~4095ull;
		if (!info->has_file || (number >= start && number - start < segment->size))
			return true;
	}
	return false;
}

bool perch__debug_address(const struct debug_info *info, uint64_t offset, uint64_t *address)
{
	uint64_t distance;
	bool found = find_distance(info, false, offset, &distance);

	*address = offset + distance;
	return found;
}

bool perch__debug_offset(const struct debug_info *info, uint64_t address, uint64_t *offset)
{
	uint64_t distance;
	bool found = find_distance(info, true, address, &distance);

	*offset = address - distance;
	return found;
}

int perch__debug_frames(struct debug_info *info, uint64_t offset,
			struct debug_frame frame[MAX_DEBUG_FRAMES])
{
	int nr = info->index ? perch__frame_index_find(info->index, offset, frame) : -ENOENT;
	uint64_t address;

	if (nr >= 0)
		return nr;
	nr = perch__debug_read(info) && perch__debug_address(info, offset, &address)
		     ? perch__dwarf_frames(info->dwarf, address, frame)
		     : 0;
	if (info->index && nr >= 0)
		perch__frame_index_add(info->index, offset, frame, (size_t)nr);
	return nr;
}

void perch__debug_free(struct debug_info *info)
{
	if (!info)
		return;
	store_index(info);
	perch__frame_index_free(info->index);
	perch__dwarf_free(info->dwarf);
	perch__dwp_free(info->dwp);
	if (info->has_alternative)
		perch__elf_close(&info->alternative);
	if (info->has_file)
		perch__elf_close(&info->file);
	if (info->has_debug)
		perch__elf_close(&info->debug);
	free(info->link);
	free(info);
}
