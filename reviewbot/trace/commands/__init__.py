"""The commands that the symbolic shell knows, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Optional, Union

from reviewbot.trace.commands import containers, filing, git, machine, patterned, python, scheduler, search, texts, wrappers
from reviewbot.trace.commands.support import NotKnown
from reviewbot.trace.protocol import Command, CommandTable, Invocation, Outcome


def _safe(command: Callable[[Invocation], Union[Outcome, int, None]]) -> Command:
    """A command that answers *unknown* where it gives up: the protocol wants no exception."""

    def run(invocation: Invocation) -> Optional[Union[Outcome, int]]:
        try:
            return command(invocation)
        except (NotKnown, RecursionError):
            return invocation.unknown(machine.label(invocation))

    return run


_TABLE: Mapping[str, Callable[[Invocation], Union[Outcome, int, None]]] = {
    # texts
    "cat": texts.cat, "echo": texts.echo, "printf": texts.printf, "tee": texts.tee, "cut": texts.cut, "tr": texts.tr, "head": texts.head,
    "tail": texts.tail, "sort": texts.sort, "uniq": texts.uniq, "wc": texts.wc, "rev": texts.rev, "tac": texts.tac, "seq": texts.seq,
    "basename": texts.basename, "dirname": texts.dirname, "realpath": texts.realpath, "readlink": texts.readlink,
    "sha1sum": texts.digest("sha1"), "sha256sum": texts.digest("sha256"), "md5sum": texts.digest("md5"), "sha512sum": texts.digest("sha512"),
    "grep": search.grep, "egrep": search.grep, "fgrep": search.grep, "sed": search.sed, "awk": patterned.awk, "gawk": patterned.awk,
    "mawk": patterned.awk, "jq": machine.unknown_output, "yq": machine.unknown_output, "numfmt": machine.unknown_output,
    "diff": machine.unknown_output, "cmp": machine.silent, "comm": machine.unknown_output, "bc": machine.unknown_output,
    "paste": machine.unknown_output, "column": machine.unknown_output, "stat": machine.unknown_output, "file": machine.unknown_output,
    "du": machine.unknown_output, "df": machine.unknown_output, "gzip": machine.unknown_output, "gunzip": machine.unknown_output,
    "zcat": machine.unknown_output, "base64": machine.unknown_output, "envsubst": machine.unknown_output,
    # files
    "cp": filing.cp, "mv": filing.mv, "rm": filing.rm, "rmdir": filing.rmdir, "mkdir": filing.mkdir, "ln": filing.ln, "touch": filing.touch,
    "chmod": filing.chmod, "chown": machine.succeeds, "chgrp": machine.succeeds, "ls": filing.ls, "find": filing.find, "mktemp": filing.mktemp,
    "sync": machine.succeeds, "rsync": machine.rsync, "tar": machine.tar, "sbcast": machine.succeeds, "mkfifo": machine.succeeds,
    # the machine
    "date": machine.date, "hostname": machine.asks(), "uname": machine.asks(), "id": machine.identity, "whoami": machine.whoami, "pwd": machine.pwd,
    "nproc": machine.nproc, "sleep": machine.sleep, "true": machine.true, "false": machine.false, "which": machine.which,
    "curl": machine.curl, "wget": machine.curl, "findmnt": machine.findmnt, "hf": machine.download, "huggingface-cli": machine.download,
    "nvidia-smi": machine.unknown_output, "amd-smi": machine.unknown_output, "rocm-smi": machine.unknown_output, "rocminfo": machine.unknown_output,
    "ps": machine.unknown_output, "pgrep": machine.silent, "lsof": machine.unknown_output, "ss": machine.unknown_output,
    "netstat": machine.unknown_output, "ip": machine.unknown_output, "ifconfig": machine.unknown_output, "lscpu": machine.unknown_output,
    "free": machine.unknown_output, "uptime": machine.unknown_output, "ibv_devinfo": machine.unknown_output, "getent": machine.unknown_output,
    "kill": machine.succeeds, "pkill": machine.silent, "killall": machine.silent, "fuser": machine.silent, "modprobe": machine.succeeds,
    "sysctl": machine.succeeds, "mount": machine.silent, "umount": machine.silent, "mountpoint": machine.silent, "ping": machine.silent,
    "nc": machine.silent, "make": machine.succeeds, "cmake": machine.succeeds, "uv": machine.uv, "pip": python.pip, "pip3": python.pip,
    "python": python.python, "python3": python.python, "apt": machine.succeeds, "apt-get": machine.succeeds, "yum": machine.succeeds,
    "dnf": machine.succeeds, "unsquashfs": machine.unsquashfs, "enroot": machine.enroot, "stty": machine.succeeds, "clear": machine.succeeds,
    # commands that run commands
    "env": wrappers.env, "timeout": wrappers.timeout, "nohup": wrappers.plain, "stdbuf": wrappers.stdbuf, "nice": wrappers.nice,
    "ionice": wrappers.ionice, "sudo": wrappers.sudo, "time": wrappers.plain, "setsid": wrappers.setsid, "numactl": wrappers.numactl,
    "taskset": wrappers.taskset, "flock": wrappers.flock, "xargs": wrappers.xargs,
    # version control, schedulers, containers
    "git": git.git, "srtctl": scheduler.srtctl, "sbatch": scheduler.sbatch, "salloc": scheduler.salloc, "squeue": scheduler.squeue,
    "scancel": scheduler.scancel, "scontrol": scheduler.scontrol, "sinfo": scheduler.asked, "sacct": scheduler.asked, "srun": scheduler.srun,
    "docker": containers.docker, "podman": containers.docker,
}

COMMANDS: CommandTable = MappingProxyType({name: _safe(command) for name, command in _TABLE.items()})
