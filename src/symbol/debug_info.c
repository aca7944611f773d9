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

#include <dwarf.h>

#include "debug_info.h"

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
	size = file->section[index].size;
	if (size <= PATH_MAX)
		info->link = perch__elf_bytes(file, file->section[index].offset, size);
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

/* Opens the shared file of the link. */
static bool find_alternative(struct debug_info *info)
{
	return open_linked(info) || open_beside_original(info) || open_installed(info) ||
	       open_cached(info) ||
	       open_alternative(info, perch__debuginfod_find(info->sources->debuginfod, info->dso,
							     DEBUGINFOD_DEBUG, info->link_id,
							     info->link_id_size, &info->error));
}

/* libdw opens the file by its name alone; here its build id is compared, too. */
static void set_alternative(struct debug_info *info)
{
	if (info->link && find_alternative(info) &&
	    !perch__elf_decompress(&info->alternative, WANT_DEBUG))
		info->alternative_dwarf = PERCH__COUNTED_CALL(
			dwarf_begin_elf(info->alternative.elf, DWARF_C_READ, NULL));
	dwarf_setalt(info->dwarf, info->alternative_dwarf);
	if (info->bad_link)
		perch__set_symbol_error(&info->error, "%s", damaged);
	else if (info->has_alternative && !info->alternative_dwarf)
		perch__set_symbol_error(&info->error,
					"the file %s, which has a part of its debug information "
					"(dwz), is stripped or damaged; install its package again",
					info->link);
	if (info->link && !info->alternative_dwarf && !info->error.text[0])
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
		module.file = (struct elf_file){ .fd = -1 };
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

	snprintf(own, sizeof(own), "/proc/self/fd/%d", info->with_debug->fd);
	length = readlink(own, info->directory, sizeof(info->directory) - 1);
	while (length > 0 && info->directory[length - 1] != '/')
		length--;
	info->directory[length > 0 ? length : 0] = 0;
}

static bool has_split_units(Dwarf *dwarf)
{
	Dwarf_CU *unit = NULL;
	uint8_t type;

	while (!dwarf_get_units(dwarf, unit, &unit, NULL, &type, NULL, NULL))
		if (type == DW_UT_skeleton)
			return true;
	return false;
}

static struct dwp *open_dwp_at(const struct debug_info *info, const char *path)
{
	struct dwp *dwp = NULL;

	for (size_t i = 0; !dwp && i < info->nr_roots; i++)
		dwp = perch__dwp_open(perch__open_regular(info->root[i], path));
	return dwp;
}

/*
 * Opens the file with the split units: beside the program, or below /usr/lib/debug. Servers of
 * debuginfod do not have such files.
 */
static struct dwp *find_dwp(const struct debug_info *info)
{
	const struct elf_file *file = info->has_file ? &info->file : info->with_debug;
	char path[PATH_MAX], id[2 * 20 + 2];
	struct dwp *dwp = NULL;

	if (info->dso->path[0] != '/')
		return NULL;
	if (snprintf(path, sizeof(path), "%s.dwp", info->dso->path) < (int)sizeof(path))
		dwp = open_dwp_at(info, path);
	if (!dwp && snprintf(path, sizeof(path), "/usr/lib/debug%s.dwp", info->dso->path) <
			    (int)sizeof(path))
		dwp = open_dwp_at(info, path);
	if (!dwp && file->build_id_size >= 2) {
		perch__build_id_path(file->build_id, (size_t)file->build_id_size, id);
		snprintf(path, sizeof(path), "/usr/lib/debug/.build-id/%s.dwp", id);
		dwp = open_dwp_at(info, path);
	}
	return dwp;
}

static Dwarf *begin_dwarf(struct debug_info *info)
{
	Dwarf *dwarf = PERCH__COUNTED_CALL(
		      dwarf_begin_elf(info->with_debug->elf, DWARF_C_READ, NULL)),
	      *redirected;

	if (!dwarf || !has_split_units(dwarf) || !(info->dwp = find_dwp(info)))
		return dwarf;
	if (!perch__dwp_redirect(info->dwp, &info->redirected, info->with_debug)) {
		redirected = PERCH__COUNTED_CALL(
			dwarf_begin_elf(info->redirected.elf, DWARF_C_READ, NULL));
		if (redirected) {
			dwarf_end(dwarf);
			return redirected;
		}
		perch__elf_close(&info->redirected);
	}
	perch__dwp_free(info->dwp);
	info->dwp = NULL;
	perch__set_symbol_error(&info->error, "split debug information in its .dwp file cannot be "
					      "read");
	return dwarf;
}

static void open_by_libdw(struct debug_info *info)
{
	info->opened = true;
	info->dwarf = begin_dwarf(info);
	if (info->dwarf)
		set_alternative(info);
	else
		perch__set_symbol_error(&info->error, "%s", damaged);
	if (info->dwarf && perch__debug_units(info)) {
		dwarf_end(info->dwarf);
		info->dwarf = NULL;
	}
	if (info->dwarf && !info->nr_units) /* libdw skips sections that it cannot decompress */
		perch__set_symbol_error(&info->error, "%s", damaged);
}

/* Opens what the own reader cannot read, unless it lacks memory: without memory libdw crashes. */
static void open_after(struct debug_info *info, int rc)
{
	if (rc == -ENOMEM)
		perch__set_symbol_error(&info->error, "out of memory");
	else if (rc)
		open_by_libdw(info);
}

/* Opens the debug information of a file that has some. */
static void open_dwarf(struct debug_info *info)
{
	int rc;

	set_directory(info);
	read_link(info);
	if (info->with_debug->header.e_type == ET_REL)
		rc = perch__elf_relocate(info->with_debug);
	else
		rc = perch__elf_decompress(info->with_debug, WANT_DEBUG);
	if (rc) {
		perch__set_symbol_error(
			&info->error, "%s",
			rc == -EBADMSG	 ? damaged
			: rc == -EFBIG	 ? "its compressed debug information is too large"
			: rc == -ENOTSUP ? "its debug information is compressed by zstd, and perch "
					   "was built without libzstd"
			: rc == -EINVAL	 ? "its debug information has relocations that are not "
					   "supported"
					 : "its compressed debug information cannot be read");
		return;
	}
	open_after(info, perch__dwarf_open(&info->fast, info->with_debug));
	info->incomplete = info->fast;
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
	if (dso->kind == PERCH_DSO_KERNEL)
		rc = find_vmlinux(info, sources, dso);
	else if (dso->kind == PERCH_DSO_MODULE)
		rc = find_module(info, sources, dso);
	else
		rc = find_usable_file(info, sources, dso);
	if (!rc)
		open_dwarf(info);
	if (thread && info->fast)
		perch__dwarf_start_sections(info->fast->section, thread);
	return info;
}

void perch__debug_complete(struct debug_info *info)
{
	int rc;

	if (!info->incomplete)
		return;
	info->incomplete = false;
	rc = perch__dwarf_list(info->fast);
	if (!rc)
		return;
	perch__dwarf_free(info->fast);
	info->fast = NULL;
	open_after(info, rc);
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
			fd = fcntl(info->alternative.fd, F_DUPFD_CLOEXEC, 0);
			memcpy(build_id, info->link_id, info->link_id_size);
			*size = info->link_id_size;
		}
	}
	perch__debug_free(info);
	return fd < 0 ? -ENOENT : fd;
}

const char *perch__debug_error(const struct debug_info *info)
{
	return info->error.text[0] ? info->error.text : NULL;
}

void perch__debug_use_libdw(struct debug_info *info)
{
	perch__dwarf_free(info->fast);
	info->fast = NULL;
	if (info->with_debug && !info->opened)
		open_by_libdw(info);
}

bool perch__debug_is_open(const struct debug_info *info)
{
	return info->fast || info->dwarf;
}

/* Finds the address of an offset of the DSO. Returns false if no segment has it. */
static bool find_address(const struct debug_info *info, uint64_t offset, uint64_t *address)
{
	const struct elf_file *file = info->has_file ? &info->file : info->with_debug;

	if (info->kernel) {
		*address = offset - info->shift;
		return true;
	}
	for (size_t i = 0; i < file->nr_segments; i++) {
		const struct perch__elf_segment *segment = &file->segment[i];

		/* the segments of a debug file have no bytes, see perch__elf_offset() */
		if (!info->has_file) {
			*address = offset + (file->segment[0].address & ~4095ull);
			return true;
		}
		if (offset < segment->offset || offset - segment->offset >= segment->size)
			continue;
		*address = offset - segment->offset + segment->address;
		return true;
	}
	return false;
}

int perch__debug_frames(struct debug_info *info, uint64_t offset,
			struct debug_frame frame[MAX_DEBUG_FRAMES])
{
	uint64_t address;
	int nr = -ENOTSUP;

	if (!perch__debug_is_open(info) || !find_address(info, offset, &address))
		return 0;
	if (info->fast)
		nr = perch__dwarf_frames(info->fast, address, frame);
	if (nr != -ENOTSUP)
		return nr;
	if (!info->opened)
		open_by_libdw(info);
	info->nr_by_libdw++;
	return info->dwarf ? (int)perch__debug_libdw_frames(info, address, frame) : 0;
}

void perch__debug_free(struct debug_info *info)
{
	if (!info)
		return;
	perch__dwarf_free(info->fast);
	perch__debug_free_units(info);
	perch__dwo_free(info->dwo);
	if (info->dwarf)
		dwarf_end(info->dwarf);
	if (info->alternative_dwarf)
		dwarf_end(info->alternative_dwarf);
	if (info->has_alternative)
		perch__elf_close(&info->alternative);
	if (info->dwp) {
		perch__elf_close(&info->redirected);
		perch__dwp_free(info->dwp);
	}
	if (info->has_file)
		perch__elf_close(&info->file);
	if (info->has_debug)
		perch__elf_close(&info->debug);
	free(info->link);
	free(info);
}
