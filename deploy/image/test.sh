#!/bin/sh
# Runs an image as deploy/compose.yaml does (read-only root, no capabilities, an ordinary user) and
# scans a page with it. Needs root, podman, curl and Perl.
#
#   test.sh IMAGE
set -eu
image=$1
port=18290
site_port=18291
key=orb_$(head -c 24 /dev/urandom | base64 -w 0 | tr '+/' '-_')
name=orbweaver-test-$$

# podman refuses a system that has cgroups of both versions, so it sees only version 2 here.
# shellcheck disable=SC2016 # the variables are those of the inner shell
podman() {
    unshare --mount sh -c '
        mount --make-rprivate /
        umount --recursive /sys/fs/cgroup
        mount -t cgroup2 cgroup2 /sys/fs/cgroup
        exec podman --cgroup-manager=cgroupfs "$@"' sh "$@"
}
fail() {
    echo "FAILED: $*" >&2
    podman logs "$name" >&2 || true
    exit 1
}
perl -MIO::Socket::INET -e '
    my $site = IO::Socket::INET->new(LocalAddr => "127.0.0.1:'$site_port'", Listen => 9,
        ReuseAddr => 1) or die "listen: $!";
    while (my $client = $site->accept) {
        while (<$client>) { last if /^\r?$/ }
        print $client "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n",
            "<title>Spiders</title><h1>Spiders</h1><p>Spiders have eight legs.";
        close $client;
    }' &
site=$!
trap 'kill $site; podman rm --force --volumes --time 0 "$name" >/dev/null 2>&1 || true' EXIT
trap 'exit 1' INT TERM

# Without capabilities the browser cannot make a sandbox of its own; the container is its sandbox.
sandbox=auto
case $image in
*-browser) sandbox=off ;;
esac
podman run --detach --name "$name" --network=host --cgroups=disabled \
    --ulimit nofile=1024:1024 --ulimit nproc=1024:1024 \
    --read-only --tmpfs /tmp --cap-drop=ALL --security-opt=no-new-privileges \
    --env "ORBWEAVER_LISTEN=127.0.0.1:$port" --env ORBWEAVER_METRICS__LISTEN=127.0.0.1:18292 \
    --env "ORBWEAVER_RENDERING__SANDBOX=$sandbox" --env ORBWEAVER_ALLOW_NETS=127.0.0.0/8 --env "ORBWEAVER_BOOTSTRAP_KEY=$key" "$image" >/dev/null
tries=0
until curl --silent --fail --output /dev/null "http://127.0.0.1:$port/v1/ready"; do
    tries=$((tries + 1))
    [ "$tries" -lt 100 ] || fail "the service is not ready within 10 s"
    sleep 0.1
done
podman exec "$name" orbweaver ready || fail "the health check fails"
post() {
    curl --silent --show-error --fail -H "Authorization: Bearer $key" \
        -H 'Content-Type: application/json' "http://127.0.0.1:$port$1" --data "$2"
}
post /v1/scan "{\"url\": \"http://127.0.0.1:$site_port/\"}" | grep -q 'eight legs' ||
    fail "a page cannot be scanned"
case $image in
*-browser)
    post /v1/cloud/render "{\"url\": \"http://127.0.0.1:$site_port/\"}" | grep -q 'eight legs' ||
        fail "a page cannot be rendered"
    ;;
esac
[ "$(podman exec "$name" id -u)" = 65532 ] || fail "it runs as another user"
podman exec "$name" sh -c '! ls /var/lib/orbweaver/compiled/*.cwasm' 2>/dev/null ||
    fail "plugins were compiled"
podman stop --time 10 "$name" >/dev/null
[ "$(podman inspect --format '{{.State.ExitCode}}' "$name")" = 0 ] || fail "it did not stop in order"
echo "ok: $image runs, scans and stops"
