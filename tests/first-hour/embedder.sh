# SPDX-License-Identifier: MIT
# shellcheck shell=sh
# Embeds the libraries: builds and installs them, compiles programs by pkg-config and by meson.
[ -e /.first-hour ] || { echo "embedder.sh: is run by tests/first-hour/run" >&2 && exit 2; }
cd /root/perch
make build
make install
mkdir -p /tmp/embedder && cd /tmp/embedder
cp /root/perch/examples/page-faults.c /root/perch/examples/sample-self.c .
# shellcheck disable=SC2046 # options are separate words
gcc -O1 page-faults.c -o page-faults $(pkg-config --cflags --libs libperch)
# shellcheck disable=SC2046
gcc -O1 sample-self.c -o sample-self $(pkg-config --cflags --libs libperch-profile)
./page-faults | grep -q '256 page faults'
./sample-self | grep -q '%.*primes'
# shellcheck disable=SC2046
gcc -O1 page-faults.c -o page-faults-static -static $(pkg-config --static --cflags --libs libperch)
./page-faults-static | grep -q '256 page faults'
man -w perch_counter_open 2>/dev/null || test -s /usr/local/share/man/man3/perch_counter_open.3

# as a meson subproject
mkdir -p project/subprojects
cp page-faults.c project/program.c
cat >project/meson.build <<'END'
project('program', 'c')
perch = dependency('libperch', fallback: 'perch')
executable('program', 'program.c', dependencies: perch)
END
cat >project/subprojects/perch.wrap <<'END'
[wrap-git]
url = file:///root/perch
revision = HEAD

[provide]
dependency_names = libperch, libperch-profile
END
cd project
meson setup build --wrap-mode=forcefallback -Dperch:profile=false
ninja -C build
build/program | grep -q '256 page faults'
