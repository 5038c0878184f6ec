#!/bin/sh
# Boots the Debian system in a folder, with systemd, in namespaces of its own and without a network;
# runs a command in it, and ends it. Needs root and cgroup 2.
#
#   machine.sh FOLDER COMMAND [ARGUMENT]...
set -eu
root=$(realpath "$1")
shift

cgroups=
for folder in /sys/fs/cgroup /sys/fs/cgroup/unified; do
    if [ -e "$folder/cgroup.controllers" ]; then
        cgroups=$folder/machine.$$
    fi
done
[ -n "$cgroups" ] || {
    echo "machine.sh: this system has no cgroup 2" >&2
    exit 1
}
state=$(mktemp -d)
mkdir "$cgroups"
machine=

end() {
    # The kernel ends every process of the machine with its first one.
    if [ -n "$machine" ]; then
        kill -KILL "$machine" 2>/dev/null || true
        wait "$machine" 2>/dev/null || true
    fi
    tries=0
    until find "$cgroups" -depth -type d -exec rmdir {} + 2>/dev/null; do
        tries=$((tries + 1))
        [ "$tries" -lt 50 ] || break
        sleep 0.1
    done
    rm -rf "$state"
}
trap end EXIT
trap 'exit 1' INT TERM

# shellcheck disable=SC2016 # the variables are those of the inner shell
boot='
set -e
root=$1
# /proc is still that of the outer system, so this is the outer number of this process.
read -r pid rest </proc/self/stat
echo "$pid" >"$2/pid"
mount --make-rprivate /
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount -t sysfs -o ro sysfs "$root/sys"
mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
mount -t tmpfs -o mode=755 tmpfs "$root/run"
mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
mount -t tmpfs -o mode=755 tmpfs "$root/dev"
for device in null zero full random urandom tty; do
    : >"$root/dev/$device"
    mount --bind "/dev/$device" "$root/dev/$device"
done
mkdir "$root/dev/pts" "$root/dev/shm"
mount -t devpts -o newinstance,ptmxmode=0666 devpts "$root/dev/pts"
mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
ln -s pts/ptmx "$root/dev/ptmx"
ln -s /proc/self/fd "$root/dev/fd"
ip link set lo up
cd "$root"
pivot_root . mnt
umount -l /mnt
exec env -i container=other PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --system
'
# shellcheck disable=SC2016
sh -c 'echo $$ >"$1/cgroup.procs" && shift && exec "$@"' sh "$cgroups" \
    unshare --mount --pid --uts --ipc --net --cgroup --fork --kill-child=KILL \
    sh -c "$boot" sh "$root" "$state" >"$state/log" 2>&1 &
machine=$!

inside() {
    nsenter --target "$(cat "$state/pid")" --mount --pid --uts --ipc --net --cgroup -- "$@"
}
tries=0
until inside systemctl is-system-running 2>/dev/null | grep -Eq '^(running|degraded)$'; do
    tries=$((tries + 1))
    if [ "$tries" -ge 300 ] || ! kill -0 "$machine" 2>/dev/null; then
        echo "machine.sh: systemd did not start" >&2
        cat "$state/log" >&2
        exit 1
    fi
    sleep 0.1
done
inside env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 "$@"
