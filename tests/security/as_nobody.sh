#!/bin/sh
# as_nobody.sh DIR COMMAND…: as root, run a command as an unprivileged user, in DIR, a new folder that it may write to.
# Homes that only root may enter (an interpreter or a checkout below /root) are opened to it, in mounts of its own alone.
set -eu
folder=$1
shift
if [ "${INSIDE:-}" != 1 ]; then
    exec env INSIDE=1 unshare --mount --propagation private sh "$0" "$folder" "$@"
fi
if ! setpriv --reuid 12345 --regid 12345 --clear-groups test -x "$HOME"; then
    open=$(mktemp -d)
    mount -t tmpfs -o mode=755 nothing "$open"
    for entry in "$HOME"/* "$HOME"/.[!.]*; do
        [ -d "$entry" ] || continue
        mkdir "$open/${entry##*/}"
        mount --rbind "$entry" "$open/${entry##*/}"
    done
    mount --move "$open" "$HOME"
    rmdir "$open"
fi
chown 12345:12345 "$folder"
cd "$(pwd)"  # in the new mounts
exec setpriv --reuid 12345 --regid 12345 --clear-groups --inh-caps=-all --no-new-privs env HOME="$folder" TMPDIR="$folder" "$@"
