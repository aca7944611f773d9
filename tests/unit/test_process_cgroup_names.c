/* SPDX-License-Identifier: MIT */
/* What paths of cgroups say. Each is the form that one version of a runtime writes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include <perch/process.h>

#define ID    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define OTHER "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"
#define UID   "1b2c3d4e-5f60-4718-8293-a4b5c6d7e8f9"
#define UID_  "1b2c3d4e_5f60_4718_8293_a4b5c6d7e8f9"
#define HASH  "0123456789abcdef0123456789abcdef"

static const struct {
	const char *path, *id, *runtime, *pod, *unit, *service, *name;
} cases[] = {
	/* Docker, by systemd and by cgroupfs; cgroups of version 1 have the same paths */
	{ "/system.slice/docker-" ID ".scope", ID, "docker" },
	{ "/docker/" ID, ID, "docker" },
	{ "/user.slice/user-1000.slice/user@1000.service/user.slice/docker-" ID ".scope", ID,
	  "docker" },
	{ "/docker/" OTHER "/docker/" ID, ID, "docker" },
	{ "/docker/" ID "/init.scope", ID, "docker", "", "init.scope" },
	{ "/system.slice/docker-" ID ".scope/system.slice/nginx.service", ID, "docker", "",
	  "nginx.service", "nginx" },
	/* the kubelet, by systemd */
	{ "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" UID_
	  ".slice/cri-containerd-" ID ".scope",
	  ID, "containerd", UID },
	{ "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" UID_ ".slice/crio-" ID
	  ".scope",
	  ID, "cri-o", UID },
	{ "/kubepods.slice/kubepods-pod" UID_ ".slice/crio-" ID ".scope/container", ID, "cri-o",
	  UID },
	{ "/kubepods.slice/kubepods-pod" UID_ ".slice/docker-" ID ".scope", ID, "docker", UID },
	{ "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" HASH
	  ".slice/cri-containerd-" ID ".scope",
	  ID, "containerd", HASH },
	/* by cgroupfs */
	{ "/kubepods/burstable/pod" UID "/" ID, ID, "", UID },
	{ "/kubepods/pod" UID "/" ID, ID, "", UID },
	{ "/kubepods/besteffort/pod" UID "/crio-" ID, ID, "cri-o", UID },
	/* runc without systemd, given a path for it */
	{ "/system.slice/containerd.service/kubepods-burstable-pod" UID_
	  ".slice:cri-containerd:" ID,
	  ID, "containerd", UID },
	{ "/system.slice:docker:" ID, ID, "docker" },
	/* kind: a node in a container */
	{ "/system.slice/docker-" OTHER
	  ".scope/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-burstable.slice/"
	  "kubelet-kubepods-burstable-pod" UID_ ".slice/cri-containerd-" ID ".scope",
	  ID, "containerd", UID },
	/* Podman, CRI-O's monitor, containerd's own client, BuildKit */
	{ "/machine.slice/libpod-" ID ".scope/container", ID, "podman" },
	{ "/machine.slice/machine-libpod_pod_" OTHER ".slice/libpod-" ID ".scope", ID, "podman" },
	{ "/libpod_parent/libpod-" ID, ID, "podman" },
	{ "/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" ID ".scope", ID,
	  "podman" },
	{ "/machine.slice/libpod-conmon-" ID ".scope", "", "", "", "libpod-conmon-" ID ".scope" },
	{ "/k8s.io/" ID, ID, "containerd" },
	{ "/system.slice/nerdctl-" ID ".scope", ID, "containerd" },
	{ "/../../buildkit/" ID, ID, "buildkit" },
	/* LXC */
	{ "/lxc.payload.web", "", "lxc", "", "", "", "web" },
	{ "/lxc/web/system.slice/nginx.service", "", "lxc", "", "nginx.service", "nginx", "web" },
	/* systemd */
	{ "/system.slice/nginx.service", "", "", "", "nginx.service", "nginx" },
	{ "/system.slice/system-postgresql.slice/postgresql@14-main.service", "", "", "",
	  "postgresql@14-main.service", "postgresql@14-main" },
	{ "/system.slice/a\\x2db.service", "", "", "", "a-b.service", "a-b" },
	{ "/system.slice/containerd.service", "", "", "", "containerd.service", "containerd" },
	{ "/user.slice/user-1000.slice/session-3.scope", "", "", "", "session-3.scope" },
	{ "/user.slice/user-1000.slice/user@1000.service/init.scope", "", "", "", "init.scope" },
	{ "/user.slice/user-1000.slice/user@1000.service/app.slice/"
	  "app-gnome-org.gnome.Terminal-1234.scope",
	  "", "", "", "app-gnome-org.gnome.Terminal-1234.scope", "org.gnome.Terminal" },
	{ "/user@1000.service/app.slice/app-firefox-77.scope", "", "", "", "app-firefox-77.scope",
	  "firefox" },
	{ "/user@1000.service/app.slice/app-gnome-my\\x2deditor@77.service", "", "", "",
	  "app-gnome-my-editor@77.service", "my-editor" },
	/* nothing, or not quite */
	{ "/" },
	{ "" },
	{ "/a.slice" },
	{ "/.service" },
	{ "/docker/0123" },
	{ "/docker/" ID "0" },
	{ "/docker-0123456789ABCDEF0123456789abcdef0123456789abcdef0123456789abcdef.scope", "", "",
	  "", "docker-0123456789ABCDEF0123456789abcdef0123456789abcdef0123456789abcdef.scope" },
	{ "/kubepods/pod1b2c3d4e-5f60-4718-8293" },
	{ "/system.slice/a\033[2J.service", "", "", "", "a?[2J.service", "a?[2J" },
	{ "/system.slice/a\\x1b.service", "", "", "", "a?.service", "a?" },
};

static const char *text(const char *expected)
{
	return expected ? expected : "";
}

static void reads_each_form(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct perch_cgroup_names names;

		print_message("case %zu\n", i);
		memset(&names, 0xff, sizeof(names));
		perch_cgroup_find_names(cases[i].path, &names);
		assert_string_equal(names.container_id, text(cases[i].id));
		assert_string_equal(names.runtime, text(cases[i].runtime));
		assert_string_equal(names.pod_uid, text(cases[i].pod));
		assert_string_equal(names.unit, text(cases[i].unit));
		assert_string_equal(names.service, text(cases[i].service));
		assert_string_equal(names.container_name, text(cases[i].name));
		for (size_t k = 0; k < 8; k++)
			assert_int_equal(names.reserved[k], 0);
	}
}

/* The kernel has no longer names than 255 bytes, a file may have. */
static void skips_long_names(void **state)
{
	char path[5000];
	struct perch_cgroup_names names;

	(void)state;
	memset(path, 'a', sizeof(path));
	strcpy(path + 256, ".service/b.service");
	perch_cgroup_find_names(path, &names);
	assert_string_equal(names.unit, "b.service");
	memset(path, 'a', sizeof(path));
	strcpy(path + 247, ".service");
	perch_cgroup_find_names(path, &names);
	assert_int_equal(strlen(names.unit), 255);
	assert_int_equal(strlen(names.service), 247);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_each_form),
		cmocka_unit_test(skips_long_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
