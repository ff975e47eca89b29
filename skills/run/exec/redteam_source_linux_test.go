package exec

// redProgram makes attempts, name=operand each, in a process of their own, and says
// "name done" or "name ERRNO".
const redProgram = `
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/fs.h>
#include <mqueue.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>
#define IS(n) (!strcmp(kind, n))
static long reads(const char *p) { char b[64]; int fd = open(p, O_RDONLY); return fd < 0 ? -1 : read(fd, b, 64); }
static long writes(const char *p, const char *s) { int fd = open(p, O_WRONLY); return fd < 0 ? -1 : write(fd, s, strlen(s)); }
static long nul(void) { errno = 0; return -1; }
static long files(const char *kind, const char *o) {
	char buf[4096]; long n = atol(o);
	if (IS("read")) return reads(o);
	if (IS("write")) return writes(o, "x");
	if (IS("stat")) { struct stat st; return stat(o, &st); }
	if (IS("chmod")) return chmod(o, 0777);
	if (IS("utime")) return utimensat(AT_FDCWD, o, 0, 0);
	if (IS("setxattr")) return setxattr(o, "user.x", "x", 1, 0);
	if (IS("listxattr")) return listxattr(o, buf, 4096);
	if (IS("truncate")) return truncate(o, 0);
	if (IS("unlink")) return unlink(o);
	if (IS("mkdir")) return mkdir(o, 0755);
	if (IS("chdir")) return chdir(o);
	if (IS("readlink")) return readlink(o, buf, 4096);
	if (IS("exec")) { char *a[] = {(char *)o, 0}; return execv(o, a); }
	if (IS("linkout")) return link(o, "stolen");
	if (IS("linktmp")) return link(o, "/tmp/stolen");
	if (IS("renameout")) { close(open("mine", O_CREAT | O_WRONLY, 0600)); return rename("mine", o); }
	if (IS("exchange")) { close(open("mine", O_CREAT | O_WRONLY, 0600)); return renameat2(AT_FDCWD, "mine", AT_FDCWD, o, RENAME_EXCHANGE); }
	if (IS("symread")) { unlink("sym"); if (symlink(o, "sym")) return -1; return reads("sym"); }
	if (IS("symwrite")) { unlink("symw"); if (symlink(o, "symw")) return -1; return writes("symw", "x"); }
	if (IS("bindout")) { struct sockaddr_un a = {AF_UNIX}; int fd = socket(AF_UNIX, SOCK_STREAM, 0); strcpy(a.sun_path, o);
		return fd < 0 ? -1 : bind(fd, (void *)&a, sizeof a); }
	if (IS("inotify")) return inotify_add_watch(inotify_init(), o, IN_ALL_EVENTS);
	if (IS("handle")) return syscall(SYS_open_by_handle_at, AT_FDCWD, buf, 0);
	if (IS("setflags")) { int fd = open(o, O_RDONLY), f = FS_NODUMP_FL; return fd < 0 ? -1 : ioctl(fd, FS_IOC_SETFLAGS, &f); }
	if (IS("fsxattr")) { struct fsxattr x; int fd = open(o, O_RDONLY); memset(&x, 0, sizeof x); x.fsx_xflags = FS_XFLAG_NODUMP;
		return fd < 0 ? -1 : ioctl(fd, FS_IOC_FSSETXATTR, &x); }
	if (IS("mknodchr")) return mknod(o, S_IFCHR | 0600, 0x101);
	if (IS("mknodblk")) return mknod(o, S_IFBLK | 0600, 0x800);
	if (IS("setuid-mknod")) return mknod(o, S_IFREG | 04755, 0);
	if (IS("setuid-mkdir")) { struct stat st; if (mkdir(o, 02755) || stat(o, &st)) return -1; return st.st_mode & 06000 ? 0 : nul(); }
	if (IS("filecap")) { close(open(o, O_CREAT | O_WRONLY, 0700));
		return setxattr(o, "security.capability", "\1\0\0\2\1\0\0\0\1\0\0\0\0\0\0\0\0\0\0\0", 20, 0); }
	if (IS("ino")) return n;
	errno = ENOTSUP; return -2;
}
static long processes(const char *kind, const char *o) {
	long n = atol(o); struct rlimit r = {1, 1}; struct sched_param sp = {0}; cpu_set_t set; char b[8];
		struct iovec v = {b, 8}, w = {(void *)0x400000, 8};
	if (IS("kill")) return kill(n, SIGTERM);
	if (IS("kill9")) return kill(n, SIGKILL);
	if (IS("stop")) return kill(n, SIGSTOP);
	if (IS("killall")) { signal(SIGUSR1, SIG_IGN); return kill(-n, SIGUSR1); }
	if (IS("queue")) { siginfo_t i; memset(&i, 0, sizeof i); i.si_code = -1; return syscall(SYS_rt_sigqueueinfo, n, SIGTERM, &i); }
	if (IS("pidfdkill")) { int fd = syscall(SYS_pidfd_open, n, 0); return fd < 0 ? -1 : syscall(SYS_pidfd_send_signal, fd, SIGTERM, 0, 0); }
	if (IS("pidfdgetfd")) { int fd = syscall(SYS_pidfd_open, n, 0); return fd < 0 ? -1 : syscall(SYS_pidfd_getfd, fd, 4, 0); }
	if (IS("ptrace")) return ptrace(PTRACE_ATTACH, n, 0, 0);
	if (IS("seize")) return ptrace(PTRACE_SEIZE, n, 0, 0);
	if (IS("vmread")) return process_vm_readv(n, &v, 1, &w, 1, 0);
	if (IS("vmwrite")) return process_vm_writev(n, &v, 1, &w, 1, 0);
	if (IS("prlimit")) return prlimit(n, RLIMIT_CPU, &r, 0);
	if (IS("prlimitself")) { struct rlimit have; return prlimit(0, RLIMIT_CORE, 0, &have); }
	if (IS("raiselimit")) { struct rlimit up = {1 << 30, 1 << 30}; return setrlimit(RLIMIT_NOFILE, &up); }
	if (IS("nice")) return setpriority(PRIO_PROCESS, n, 19);
	if (IS("niceuser")) return setpriority(PRIO_USER, 0, 19);
	if (IS("sched")) return sched_setscheduler(n, SCHED_IDLE, &sp);
	if (IS("affinity")) { CPU_ZERO(&set); CPU_SET(0, &set); return sched_setaffinity(n, sizeof set, &set); }
	if (IS("ioprio")) return syscall(SYS_ioprio_set, 1, n, 3 << 13);
	if (IS("fdwrite")) return write(n, "x\0\0\0\0", 5);
	if (IS("fdforge")) return send(n, "x\0\0\0\0", 5, 0);
	if (IS("subreaper")) { long r = prctl(PR_SET_CHILD_SUBREAPER, 1); return r; }
	errno = ENOTSUP; return -2;
}
static long powers(const char *kind, const char *o) {
	struct __user_cap_header_struct h = {_LINUX_CAPABILITY_VERSION_3, 0}; struct __user_cap_data_struct d[2]; struct timeval tv = {1, 0};
	memset(d, 255, sizeof d);
	if (IS("capset")) return syscall(SYS_capset, &h, d);
	if (IS("ambient")) return prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_SYS_ADMIN, 0, 0);
	if (IS("newprivs")) return prctl(PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0);
	if (IS("setuid")) return setresuid(1234, 1234, 1234);
	if (IS("setgroups")) { gid_t g = 0; return syscall(SYS_setgroups, 1, &g); }
	if (IS("remount")) return mount("", "/", "", MS_REMOUNT | MS_BIND, "");
	if (IS("bind")) return mount("/usr", "/tmp", "", MS_BIND, "");
	if (IS("tmpfs")) return mount("t", "/tmp", "tmpfs", 0, "");
	if (IS("proc")) return mount("p", "/tmp", "proc", 0, "");
	if (IS("overlay")) return mount("o", "/tmp", "overlay", 0, "lowerdir=/usr,upperdir=/tmp,workdir=/tmp");
	if (IS("umount")) return umount2("/tmp", MNT_DETACH);
	if (IS("pivot")) return syscall(SYS_pivot_root, "/tmp", "/tmp");
	if (IS("chroot")) return chroot("/tmp");
	if (IS("opentree")) return syscall(SYS_open_tree, AT_FDCWD, "/", 1);
	if (IS("fsopen")) return syscall(SYS_fsopen, "proc", 0);
	if (IS("mountsetattr")) return syscall(SYS_mount_setattr, AT_FDCWD, "/", 0, d, 32);
	if (IS("unshareuser")) return unshare(CLONE_NEWUSER);
	if (IS("unsharemnt")) return unshare(CLONE_NEWNS);
	if (IS("unsharenet")) return unshare(CLONE_NEWNET);
	if (IS("unsharefiles")) return unshare(CLONE_FILES);
	if (IS("cloneuser")) return syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);
	if (IS("clone3")) return syscall(SYS_clone3, d, sizeof d);
	if (IS("setns")) { int fd = open(o, O_RDONLY); return fd < 0 ? -1 : setns(fd, 0); }
	if (IS("setnspid")) { int fd = syscall(SYS_pidfd_open, atol(o), 0); return fd < 0 ? -1 : setns(fd, CLONE_NEWNS); }
	if (IS("addkey")) return syscall(SYS_add_key, "user", "x", "x", 1, -4);
	if (IS("keyctl")) return syscall(SYS_keyctl, 0, -3, 0);
	if (IS("requestkey")) return syscall(SYS_request_key, "user", "x", 0, -4);
	if (IS("iouring")) return syscall(SYS_io_uring_setup, 1, d);
	if (IS("bpf")) return syscall(SYS_bpf, 0, d, sizeof d);
	if (IS("userfaultfd")) return syscall(SYS_userfaultfd, 1);
	if (IS("perf")) return syscall(SYS_perf_event_open, d, 0, -1, -1, 0);
	if (IS("module")) return syscall(SYS_init_module, "", 0, "");
	if (IS("kexec")) return syscall(SYS_kexec_load, 0, 0, 0, 0);
	if (IS("swapon")) return syscall(SYS_swapon, "/dev/null", 0);
	if (IS("reboot")) return syscall(SYS_reboot, 0xfee1dead, 672274793, 0, 0);
	if (IS("hostname")) return sethostname("x", 1);
	if (IS("time")) return settimeofday(&tv, 0);
	if (IS("syslog")) return syscall(SYS_syslog, 10, 0, 0);
	if (IS("acct")) return acct("/tmp/acct");
	if (IS("fanotify")) return syscall(SYS_fanotify_init, 0, 0);
	if (IS("tiocsti")) return ioctl(0, 0x5412, "x");
	if (IS("openat2")) return syscall(SYS_openat2, AT_FDCWD, "/", d, 24);
	if (IS("nodev")) { int fd = open(o, O_RDWR); return fd; }
	errno = ENOTSUP; return -2;
}
static long tongues(const char *kind, const char *o) {
	char host[64]; int port = 0; struct sockaddr_in a = {AF_INET}; struct sockaddr_un u = {AF_UNIX}; int fd;
	if (sscanf(o, "%60[0-9.]:%d", host, &port) == 2) { inet_pton(AF_INET, host, &a.sin_addr); a.sin_port = htons(port); }
	if (IS("unix")) { strcpy(u.sun_path, o); fd = socket(AF_UNIX, SOCK_STREAM, 0); return fd < 0 ? -1 : connect(fd, (void *)&u, sizeof u); }
	if (IS("abstract")) { strcpy(u.sun_path + 1, o); fd = socket(AF_UNIX, SOCK_STREAM, 0);
		return fd < 0 ? -1 : connect(fd, (void *)&u, 3 + strlen(o)); }
	if (IS("tcp")) { fd = socket(AF_INET, SOCK_STREAM, 0); return fd < 0 ? -1 : connect(fd, (void *)&a, sizeof a); }
	if (IS("fastopen")) { fd = socket(AF_INET, SOCK_STREAM, 0); return fd < 0 ? -1 : sendto(fd, "x", 1, MSG_FASTOPEN, (void *)&a, sizeof a); }
	if (IS("mptcp")) { fd = socket(AF_INET, SOCK_STREAM, 262); return fd < 0 ? -1 : connect(fd, (void *)&a, sizeof a); }
	if (IS("sctp")) { fd = socket(AF_INET, SOCK_STREAM, 132); return fd < 0 ? -1 : connect(fd, (void *)&a, sizeof a); }
	if (IS("udp")) { fd = socket(AF_INET, SOCK_DGRAM, 0); if (fd < 0 || connect(fd, (void *)&a, sizeof a)) return -1;
		send(fd, "x", 1, 0); usleep(20000); return send(fd, "x", 1, 0); }
	if (IS("rawsock")) return socket(AF_INET, SOCK_RAW, 1);
	if (IS("packet")) return socket(AF_PACKET, SOCK_RAW, 0);
	if (IS("vsock")) return socket(40, SOCK_STREAM, 0);
	if (IS("alg")) return socket(38, SOCK_SEQPACKET, 0);
	if (IS("xdp")) return socket(44, SOCK_RAW, 0);
	if (IS("bluetooth")) return socket(31, SOCK_RAW, 0);
	if (IS("shm")) { int id = shmget(atoi(o), 0, 0); return id < 0 ? -1 : (shmat(id, 0, 0) == (void *)-1 ? -1 : 0); }
	if (IS("shmrm")) { int id = shmget(atoi(o), 0, 0); return id < 0 ? -1 : shmctl(id, IPC_RMID, 0); }
	if (IS("mq")) return mq_open(o, O_RDWR);
	errno = ENOTSUP; return -2;
}
int main(int argc, char **argv) {
	for (int i = 1; i < argc; i++) {
		char *o = strchr(argv[i], '='), kind[64]; *o++ = 0;
		snprintf(kind, sizeof kind, "%s", argv[i]); if (strchr(kind, ':')) *strchr(kind, ':') = 0;
		int fds[2]; if (pipe(fds)) return 9;
		if (!fork()) {
			alarm(3);
			long r = files(kind, o);
			if (r == -2) r = processes(kind, o);
			if (r == -2) r = powers(kind, o);
			if (r == -2) r = tongues(kind, o);
			char said[64]; int e = errno;
			snprintf(said, sizeof said, "%s", r >= 0 ? "done" : e ? strerrorname_np(e) : "nothing");
			if (write(fds[1], said, strlen(said) + 1) < 0) return 8;
			_exit(0);
		}
		close(fds[1]); char said[64] = "died"; if (read(fds[0], said, 64) < 0) return 7; close(fds[0]);
		printf("%s %s\n", argv[i], said); fflush(stdout);
		while (waitpid(-1, 0, WNOHANG) > 0) ;
	}
	return 0;
}
`
