"""A Slurm cluster on this machine: two virtual nodes of eight fake GPUs, private ports, keys and folders; nothing outside of one folder is
touched."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

PROGRAMS = ("slurmctld", "slurmd", "munged", "sbatch", "scontrol", "squeue", "scancel", "sinfo", "srun")
NODES = ("vm0", "vm1")

_CONFIG = """\
ClusterName=local
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
AuthType=auth/munge
AuthInfo=socket={folder}/munge/munge.socket,cred_expire=5
CredType=cred/munge
SlurmUser=root
SlurmdUser=root
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool/%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/log/slurmctld.log
SlurmdLogFile={folder}/log/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
ReturnToService=2
MpiDefault=none
SwitchType=switch/none
SlurmctldTimeout=30
SlurmdTimeout={node_timeout}
InactiveLimit=0
KillWait=3
MinJobAge={min_job_age}
MaxArraySize=2001
SchedulerParameters=sched_interval=1,sched_min_interval=100000,batch_sched_delay=0,bf_interval=1,requeue_delay=1
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
GresTypes=gpu
NodeName=vm[0-1] NodeHostname={host} NodeAddr=127.0.0.1 Port=[{ports[2]}-{ports[3]}] CPUs=16 Boards=1 SocketsPerBoard=1 \\
 CoresPerSocket=16 ThreadsPerCore=1 RealMemory=8000 Gres=gpu:8 State=UNKNOWN
PartitionName=debug Nodes=ALL Default=YES MaxTime=INFINITE State=UP PriorityTier=1
PartitionName=urgent Nodes=ALL MaxTime=INFINITE State=UP PriorityTier=9 PreemptMode=OFF
"""


def missing() -> str | None:
    """Why there can be no cluster here; ``None`` where there can."""
    absent = [name for name in PROGRAMS if _which(name) is None]
    if absent:
        return f"Slurm is not installed: {', '.join(absent)} not found (Debian: slurm-wlm, munge)"
    if os.getuid() != 0:
        return "a cluster of the test's own needs root"
    return None


def _which(name: str) -> str | None:
    return shutil.which(name) or shutil.which(name, path="/usr/sbin:/sbin")


class Cluster:
    """Started by ``start``; ``environment`` makes the Slurm client use it."""

    def __init__(self, folder: Path, *, node_timeout: int = 5, min_job_age: int = 600) -> None:
        self.folder = folder
        self.environment = {"SLURM_CONF": str(folder / "slurm.conf")}
        self._options = {"node_timeout": node_timeout, "min_job_age": min_job_age}

    def start(self) -> None:
        folder = self.folder
        for name in ("state", "spool/vm0", "spool/vm1", "log", "munge"):
            (folder / name).mkdir(parents=True)
        folder.chmod(0o755)  # munge must be able to get to its socket
        config = _CONFIG.format(host=socket.gethostname().partition(".")[0], folder=folder, ports=_ports(), **self._options)
        (folder / "slurm.conf").write_text(config)
        devices = "tty[0-7]" if Path("/dev/tty7").exists() else "null"
        (folder / "gres.conf").write_text(f"NodeName=vm[0-1] Name=gpu File=/dev/{devices}\n")
        key = folder / "munge" / "munge.key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o400)
        (folder / "munge").chmod(0o711)
        subprocess.run(["chown", "-R", "munge:munge", str(folder / "munge")], check=True)
        places = {name: str(folder / "munge" / f"munged.{name}") for name in ("pid", "log", "seed")}
        munged = [
            str(_which("munged")), "--force", f"--key-file={key}", f"--socket={folder}/munge/munge.socket", f"--pid-file={places['pid']}",
            f"--log-file={places['log']}", f"--seed-file={places['seed']}",
        ]  # fmt: skip
        self._call(["su", "-s", "/bin/sh", "munge", "-c", " ".join(munged)])
        self.start_controller()
        for node in NODES:
            self.start_node(node)
        self.wait_for(lambda: self.run("sinfo", "-h", "-N", "-p", "debug", "-o", "%T").split().count("idle") >= len(NODES), "idle nodes")

    def start_controller(self) -> None:
        self._call([str(_which("slurmctld")), "-f", str(self.folder / "slurm.conf")])

    def start_node(self, node: str) -> None:
        self._call([str(_which("slurmd")), "-f", str(self.folder / "slurm.conf"), "-N", node])

    def stop_node(self, node: str) -> None:
        """End a node as a power cut would: its daemon, and every process of its jobs."""
        pid = _pid(self.folder / f"slurmd-{node}.pid")
        if pid is not None:
            os.kill(pid, signal.SIGKILL)
        for process in _processes():
            if f"SLURMD_NODENAME={node}\0" in _environment_of(process) + "\0":
                with suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)

    def clear(self) -> None:
        """End what a test left behind, so that the next one has the cluster for itself."""
        left = self.run("squeue", "-h", "-o", "%A", check=False).split()
        if left:
            self.run("scancel", *sorted(set(left)), check=False)
            self.wait_for(lambda: not self.run("squeue", "-h", check=False).strip(), "empty queue")

    def stop(self) -> None:
        self.run("scancel", "--full", "-u", "root", check=False)
        self.run("scancel", "-u", "root", check=False)
        time.sleep(0.2)
        for name in ("slurmd-vm1.pid", "slurmd-vm0.pid", "slurmctld.pid", "munge/munged.pid"):
            pid = _pid(self.folder / name)
            if pid is None:
                continue
            os.kill(pid, signal.SIGTERM)
            until = time.monotonic() + 5
            while Path(f"/proc/{pid}").exists() and time.monotonic() < until:
                time.sleep(0.05)
            if Path(f"/proc/{pid}").exists():
                os.kill(pid, signal.SIGKILL)

    def run(self, *argv: str, check: bool = True) -> str:
        done = subprocess.run(argv, env={**os.environ, **self.environment}, capture_output=True, text=True, timeout=60)
        assert not check or done.returncode == 0, done.stderr
        return done.stdout

    def wait_for(self, condition, what: str, seconds: float = 30.0) -> None:  # type: ignore[no-untyped-def]
        until = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < until, f"no {what} within {seconds:g} s\n" + self.run("sinfo", "-N", "-l", check=False)
            time.sleep(0.1)

    def _call(self, argv: Sequence[str]) -> None:
        done = subprocess.run(
            argv, env={**os.environ, **self.environment}, capture_output=True, text=True, timeout=60, start_new_session=True
        )
        assert done.returncode == 0, f"{argv[0]}: {done.stderr}"


def _ports() -> list[int]:
    """Four free ports, the last two side by side."""
    while True:
        sockets = [socket.socket() for _ in range(4)]
        try:
            for one in sockets[:3]:
                one.bind(("127.0.0.1", 0))
            found = [one.getsockname()[1] for one in sockets[:3]]
            sockets[3].bind(("127.0.0.1", found[2] + 1))
            return [*found, found[2] + 1]
        except (OSError, OverflowError):
            continue
        finally:
            for one in sockets:
                one.close()


def _pid(path: Path) -> int | None:
    try:
        pid = int(path.read_text())
    except (OSError, ValueError):
        return None
    return pid if Path(f"/proc/{pid}").exists() else None


def _processes() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit() and int(entry.name) != os.getpid()]


def _environment_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes().decode("utf-8", "replace")
    except OSError:
        return ""
