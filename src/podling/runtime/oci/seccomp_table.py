"""The system calls that ``runtime/default`` allows, by subject, and those that need a capability.

It lists allowed calls: new calls of a kernel are refused until this list has them. Left out
on purpose, with or without capabilities: loading kernels, the kernel's keyrings, io_uring (its requests
would pass by this very filter), userfaultfd, NUMA page moves between processes, and calls that only
historic kernels had.
"""

from __future__ import annotations

_FILES = """
access chmod chown chown32 close close_range copy_file_range creat dup dup2 dup3 faccessat faccessat2
fadvise64 fadvise64_64 fallocate fchdir fchmod fchmodat fchmodat2 fchown fchown32 fchownat fcntl fcntl64
fdatasync fgetxattr flistxattr flock fremovexattr fsetxattr fstat fstat64 fstatat64 fstatfs fstatfs64 fsync
ftruncate ftruncate64 futimesat getcwd getdents getdents64 getxattr getxattrat ioctl lchown lchown32
lgetxattr link linkat listxattr listxattrat llistxattr _llseek lremovexattr lseek lsetxattr lstat lstat64
mkdir mkdirat mknod mknodat name_to_handle_at newfstatat open openat openat2 pipe pipe2 pread64 preadv
preadv2 pwrite64 pwritev pwritev2 read readahead readlink readlinkat readv removexattr removexattrat rename
renameat renameat2 rmdir sendfile sendfile64 setxattr setxattrat splice stat stat64 statfs statfs64 statx
symlink symlinkat sync sync_file_range sync_file_range2 syncfs tee truncate truncate64 umask unlink unlinkat
utime utimensat utimensat_time64 utimes vmsplice write writev chdir file_getattr file_setattr
"""
_WAITING_FOR_FILES = """
epoll_create epoll_create1 epoll_ctl epoll_ctl_old epoll_pwait epoll_pwait2 epoll_wait epoll_wait_old
eventfd eventfd2 fanotify_mark inotify_add_watch inotify_init inotify_init1 inotify_rm_watch io_cancel
io_destroy io_getevents io_pgetevents io_pgetevents_time64 io_setup io_submit _newselect poll ppoll
ppoll_time64 pselect6 pselect6_time64 select signalfd signalfd4 timerfd_create timerfd_gettime
timerfd_gettime64 timerfd_settime timerfd_settime64 cachestat
"""
_MEMORY = """
brk madvise map_shadow_stack membarrier memfd_create memfd_secret mincore mlock mlock2 mlockall mmap mmap2
mprotect mremap mseal msync munlock munlockall munmap pkey_alloc pkey_free pkey_mprotect process_mrelease
remap_file_pages
"""
_PROCESSES = """
alarm capget capset execve execveat exit exit_group fork futex futex_requeue futex_time64 futex_wait
futex_waitv futex_wake get_robust_list get_thread_area getcpu getegid getegid32 geteuid geteuid32 getgid
getgid32 getgroups getgroups32 getitimer getpgid getpgrp getpid getppid getpriority getresgid getresgid32
getresuid getresuid32 getrlimit getrusage getsid gettid getuid getuid32 ioprio_get ioprio_set kill
landlock_add_rule landlock_create_ruleset landlock_restrict_self lsm_get_self_attr lsm_list_modules
lsm_set_self_attr nanosleep pause pidfd_open pidfd_send_signal prctl prlimit64 process_vm_readv
process_vm_writev ptrace restart_syscall rseq rt_sigaction rt_sigpending rt_sigprocmask rt_sigqueueinfo
rt_sigreturn rt_sigsuspend rt_sigtimedwait rt_sigtimedwait_time64 rt_tgsigqueueinfo sched_getaffinity
sched_getattr sched_get_priority_max sched_get_priority_min sched_getparam sched_getscheduler
sched_rr_get_interval sched_rr_get_interval_time64 sched_setaffinity sched_setattr sched_setparam
sched_setscheduler sched_yield seccomp set_robust_list set_thread_area set_tid_address setfsgid setfsgid32
setfsuid setfsuid32 setgid setgid32 setgroups setgroups32 setitimer setpgid setpriority setregid setregid32
setresgid setresgid32 setresuid setresuid32 setreuid setreuid32 setrlimit setsid setuid setuid32 sigaltstack
signal sigprocmask sigreturn sigaction sigpending sigsuspend tgkill tkill ugetrlimit uretprobe vfork wait4
waitid waitpid rseq_slice_yield
"""
_SOCKETS = """
accept accept4 bind connect getpeername getsockname getsockopt listen recv recvfrom recvmmsg recvmmsg_time64
recvmsg send sendmmsg sendmsg sendto setsockopt shutdown socketcall socketpair
"""
_MESSAGES_AND_SHARED_MEMORY = """
ipc mq_getsetattr mq_notify mq_open mq_timedreceive mq_timedreceive_time64 mq_timedsend mq_timedsend_time64
mq_unlink msgctl msgget msgrcv msgsnd semctl semget semop semtimedop semtimedop_time64 shmat shmctl shmdt
shmget
"""
_CLOCKS_AND_SYSTEM = """
adjtimex clock_adjtime clock_adjtime64 clock_getres clock_getres_time64 clock_gettime clock_gettime64
clock_nanosleep clock_nanosleep_time64 getrandom gettimeofday riscv_hwprobe statmount listmount sysinfo time
timer_create timer_delete timer_getoverrun timer_gettime timer_gettime64 timer_settime timer_settime64 times
uname
"""

ALLOWED: tuple[str, ...] = tuple(
    sorted(
        (
            _FILES
            + _WAITING_FOR_FILES
            + _MEMORY
            + _PROCESSES
            + _SOCKETS
            + _MESSAGES_AND_SHARED_MEMORY
            + _CLOCKS_AND_SYSTEM
        ).split()
    )
)
"""Allowed in every container, with any arguments."""

BY_CAPABILITY: dict[str, tuple[str, ...]] = {
    "CAP_DAC_READ_SEARCH": ("open_by_handle_at",),
    "CAP_SYS_ADMIN": (
        *("bpf", "clone", "clone3", "fanotify_init", "fsconfig", "fsmount", "fsopen", "fspick"),
        *("lookup_dcookie", "mount", "mount_setattr", "move_mount", "open_tree", "perf_event_open"),
        *("quotactl", "quotactl_fd", "setdomainname", "sethostname", "setns", "syslog", "umount", "umount2"),
        "unshare",
    ),
    "CAP_SYS_BOOT": ("reboot",),
    "CAP_SYS_CHROOT": ("chroot",),
    "CAP_SYS_MODULE": ("delete_module", "finit_module", "init_module"),
    "CAP_SYS_PACCT": ("acct",),
    "CAP_SYS_PTRACE": ("kcmp", "pidfd_getfd", "process_madvise"),
    "CAP_SYS_RAWIO": ("ioperm", "iopl"),
    "CAP_SYS_TIME": ("clock_settime", "clock_settime64", "settimeofday", "stime"),
    "CAP_SYS_TTY_CONFIG": ("vhangup",),
    "CAP_SYS_NICE": ("get_mempolicy", "mbind", "set_mempolicy", "set_mempolicy_home_node"),
    "CAP_SYSLOG": ("syslog",),
    "CAP_BPF": ("bpf",),
    "CAP_PERFMON": ("perf_event_open",),
}
"""Allowed in addition to containers that have the capability."""

BY_ARCHITECTURE: dict[str, tuple[str, ...]] = {
    "amd64": ("arch_prctl", "modify_ldt"),
    "386": ("modify_ldt",),
    "arm64": ("arm_fadvise64_64", "arm_sync_file_range", "breakpoint", "cacheflush", "set_tls"),
    "arm": ("arm_fadvise64_64", "arm_sync_file_range", "breakpoint", "cacheflush", "set_tls"),
    "riscv64": ("riscv_flush_icache",),
    "s390x": ("s390_pci_mmio_read", "s390_pci_mmio_write", "s390_runtime_instr"),
}

ARCHITECTURES: dict[str, tuple[str, ...]] = {
    "amd64": ("SCMP_ARCH_X86_64", "SCMP_ARCH_X86", "SCMP_ARCH_X32"),
    "arm64": ("SCMP_ARCH_AARCH64", "SCMP_ARCH_ARM"),
    "arm": ("SCMP_ARCH_ARM",),
    "386": ("SCMP_ARCH_X86",),
    "ppc64le": ("SCMP_ARCH_PPC64LE",),
    "riscv64": ("SCMP_ARCH_RISCV64",),
    "s390x": ("SCMP_ARCH_S390X", "SCMP_ARCH_S390"),
}
"""libseccomp's names of what each machine can run."""

PERSONALITIES = (0x0, 0x0008, 0x20000, 0x20008, 0xFFFFFFFF)
"""Linux, 16-bit emulation, and reading the current one; the others weaken address randomisation."""

NAMESPACE_FLAGS = 0x7E020000
"""The flags of clone(2) that make namespaces: new mounts, cgroup, UTS, IPC, user, PID and network."""

AF_VSOCK = 40
"""Sockets to the hypervisor, which know no network namespaces."""
