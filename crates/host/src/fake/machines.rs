//! The named fake machines.

use super::{Cores, Fake, Form, Numbering};

/// `/proc/cpuinfo` of the article's machine, as its Listing 1 prints it: the flags run over three
/// lines, and `siblings` and `cpu cores` are missing (kernel 2.4.19).
pub(crate) const LISTING_1: &str = "\
processor 	: 0
vendor_id 	: GenuineIntel
cpu family 	: 15
model 	: 1
model name 	: Intel(R) Genuine CPU 1.60GHz
stepping 	: 1
cpu MHz 	: 1600.382
cache size 	: 256 KB
. . .
fpu         	: yes
fpu_exception: yes
cpuid level 	: 2
wp          	: yes
flags       	: fpu vme de pse tsc msr pae mce cx8 apic sep mtrr
pge mca cmov pat pse36 clflush dts acpi mmx fxsr sse sse2 ss ht
tm
bogomips    	: 3191.60
processor   	: 1
vendor_id   	: GenuineIntel
cpu family  	: 15
model       	: 1
model name  	: Intel(R) Genuine CPU 1.60GHz
stepping    	: 1
cpu MHz     	: 1600.382
cache size  	: 256 KB
. . .
fpu         	: yes
fpu_exception: yes
cpuid level 	: 2
wp          	: yes
flags       	: fpu vme de pse tsc msr pae mce cx8 apic sep mtrr
pge mca cmov pat pse36 clflush dts acpi mmx fxsr sse sse2 ss ht
tm
bogomips    	: 3198.15
";

pub(super) const USUAL: [(&str, &str); 17] = [
    ("proc/loadavg", "0.42 0.30 0.20 1/400 4242\n"),
    ("proc/cmdline", "BOOT_IMAGE=/vmlinuz root=/dev/sda1 ro quiet\n"),
    ("proc/sys/kernel/osrelease", "6.8.0-fake\n"),
    ("proc/sys/kernel/version", "#1 SMP PREEMPT_DYNAMIC\n"),
    ("proc/sys/kernel/random/boot_id", "5bd1e1b4-0000-4000-8000-fa5e00000001\n"),
    ("proc/sys/kernel/sem", "32000\t1024000000\t500\t32000\n"),
    ("proc/sys/kernel/threads-max", "500000\n"),
    ("proc/sys/kernel/pid_max", "4194304\n"),
    ("proc/sys/vm/max_map_count", "65530\n"),
    ("proc/sys/net/core/somaxconn", "4096\n"),
    ("proc/sys/net/ipv4/ip_local_port_range", "32768\t60999\n"),
    (
        "proc/self/limits",
        "Limit                     Soft Limit           Hard Limit           Units     \n\
         Max processes             unlimited            unlimited            processes \n\
         Max open files            1024                 1048576              files     \n",
    ),
    (
        "proc/self/mountinfo",
        "22 28 0:20 / /sys rw,nosuid,nodev,noexec,relatime - sysfs sysfs rw\n\
         30 22 0:26 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime - cgroup2 cgroup2 rw\n",
    ),
    ("proc/self/cgroup", "0::/\n"),
    ("sys/block/sda/queue/scheduler", "none [mq-deadline] kyber\n"),
    (
        "usr/lib/x86_64-linux-gnu/libc.so.6",
        "GNU C Library (Debian GLIBC 2.36-9) stable release version 2.36.\n",
    ),
    ("sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n"),
];

const fn cores(count: u32, threads: u32, mhz: u32) -> Cores {
    Cores { count, threads, mhz, capacity: 0 }
}

/// What the machines below differ from: four cores of two CPUs on bare metal.
const PLAIN: Fake = Fake {
    name: "",
    about: "",
    packages: 1,
    nodes: 1,
    caches: 1,
    cache_kib: 8192,
    cores: &[cores(4, 2, 3600)],
    numbering: Numbering::Halves,
    offline: "",
    control: Some("on"),
    form: Form::X86,
    model: "Intel(R) Xeon(R) E3-1230",
    files: &[],
    absent: &[],
};

const KVM: (&str, &str) = ("sys/class/dmi/id/sys_vendor", "QEMU\n");

pub const FAKES: [Fake; 21] = [
    Fake {
        name: "article-xeon",
        about: "the article's Xeon MP under a later kernel: Listing 1 and a sysfs",
        cores: &[cores(1, 2, 0)],
        cache_kib: 1024,
        files: &[("proc/cpuinfo", LISTING_1)],
        ..PLAIN
    },
    Fake {
        name: "listing-1",
        about: "the article's Xeon MP under its own kernel: Listing 1 alone",
        cores: &[cores(1, 2, 0)],
        files: &[("proc/cpuinfo", LISTING_1)],
        absent: &["sys"],
        ..PLAIN
    },
    Fake {
        name: "server-halves",
        about: "two packages, siblings numbered 0 and N/2",
        packages: 2,
        cores: &[cores(8, 2, 3900)],
        cache_kib: 22_528,
        model: "Intel(R) Xeon(R) Gold 5217",
        ..PLAIN
    },
    Fake {
        name: "vm-adjacent",
        about: "a virtual machine that shows siblings, numbered 0 and 1",
        numbering: Numbering::Adjacent,
        cores: &[cores(4, 2, 0)],
        form: Form::X86Guest,
        model: "Intel Xeon Processor (Skylake, IBRS)",
        files: &[KVM],
        ..PLAIN
    },
    Fake {
        name: "hybrid",
        about: "eight P cores with two CPUs, sixteen E cores with one",
        cores: &[cores(8, 2, 5800), cores(16, 1, 4300)],
        numbering: Numbering::Adjacent,
        cache_kib: 36_864,
        model: "13th Gen Intel(R) Core(TM) i9-13900K",
        files: &[("sys/devices/cpu_core/cpus", "0-15\n"), ("sys/devices/cpu_atom/cpus", "16-31\n")],
        ..PLAIN
    },
    Fake {
        name: "power-smt8",
        about: "POWER10, two packages, eight CPUs on each core",
        packages: 2,
        cores: &[cores(4, 8, 3800)],
        numbering: Numbering::Adjacent,
        form: Form::Power,
        model: "POWER10, altivec supported",
        ..PLAIN
    },
    Fake {
        name: "power-smt4-sparse",
        about: "POWER9 with SMT4: each core's numbers start at a multiple of eight",
        cores: &[cores(4, 4, 3800)],
        numbering: Numbering::Strided(8),
        control: Some("4"),
        form: Form::Power,
        model: "POWER9, altivec supported",
        ..PLAIN
    },
    Fake {
        name: "amd-many-caches",
        about: "one package with four last-level caches",
        caches: 4,
        cores: &[cores(4, 2, 3400)],
        cache_kib: 16_384,
        model: "AMD EPYC 7302P",
        ..PLAIN
    },
    Fake {
        name: "amd-192",
        about: "two packages, two nodes in each, twelve caches, 192 CPUs",
        packages: 2,
        nodes: 2,
        caches: 3,
        cores: &[cores(8, 2, 0)],
        cache_kib: 32_768,
        model: "AMD EPYC 9454",
        ..PLAIN
    },
    Fake {
        name: "vm-no-smt",
        about: "a virtual machine that shows one CPU per core, with the flag ht",
        cores: &[cores(2, 1, 0)],
        control: Some("notsupported"),
        form: Form::X86Guest,
        model: "AMD EPYC",
        files: &[(
            "sys/devices/system/clocksource/clocksource0/available_clocksource",
            "kvm-clock tsc acpi_pm\n",
        )],
        ..PLAIN
    },
    Fake {
        name: "container-half-core",
        about: "a container with a core and a half: CPU 2 without its sibling 6",
        files: &[
            ("proc/self/status", "Uid:\t0\t0\t0\t0\nCpus_allowed_list:\t1-2,5\n"),
            ("proc/self/cgroup", "0::/\n"),
            ("sys/fs/cgroup/cpuset.cpus.effective", "1-2,5\n"),
            ("sys/fs/cgroup/cpu.max", "250000 100000\n"),
            (
                "proc/self/mountinfo",
                "22 28 0:20 / /sys ro,nosuid,nodev,noexec - sysfs sysfs ro\n\
                 30 22 0:26 /../kubepods/pod7 /sys/fs/cgroup ro - cgroup2 cgroup rw\n",
            ),
        ],
        ..PLAIN
    },
    Fake {
        name: "cpuset-v1-taskset",
        about: "a version 1 cpuset, and an affinity that is narrower still; not root",
        files: &[
            ("proc/self/status", "Uid:\t1000\t1000\t1000\t1000\nCpus_allowed_list:\t0,4\n"),
            ("proc/self/cgroup", "3:cpuset:/ci/job\n2:cpu,cpuacct:/ci\n0::/\n"),
            ("sys/fs/cgroup/cpuset/ci/job/cpuset.cpus", "0-1,4-5\n"),
            ("sys/fs/cgroup/cpu,cpuacct/ci/cpu.cfs_quota_us", "-1\n"),
            ("sys/fs/cgroup/cpu,cpuacct/ci/cpu.cfs_period_us", "100000\n"),
            (
                "proc/self/mountinfo",
                "31 22 0:27 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n\
                 32 22 0:28 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n",
            ),
        ],
        ..PLAIN
    },
    Fake {
        name: "offline-by-hand",
        about: "SMT on, one CPU of two cores offline by hand",
        offline: "3,5",
        ..PLAIN
    },
    Fake {
        name: "smt-off",
        about: "SMT switched off: the second half of the CPUs is offline",
        offline: "4-7",
        control: Some("off"),
        ..PLAIN
    },
    Fake {
        name: "forced-off-adjacent",
        about: "SMT forced off by a mitigation, siblings numbered 0 and 1",
        numbering: Numbering::Adjacent,
        offline: "1,3,5,7",
        control: Some("forceoff"),
        files: &[("proc/cmdline", "root=/dev/sda1 l1tf=full,force nosmt=force quiet\n")],
        ..PLAIN
    },
    Fake {
        name: "offline-unknown",
        about: "SMT on, but every second sibling offline by hand, so nothing tells the pairs",
        offline: "4-7",
        ..PLAIN
    },
    Fake {
        name: "no-smt-folder",
        about: "a kernel before 4.19: no smt/, only the old name of the sibling lists",
        control: None,
        absent: &[
            "sys/devices/system/cpu/cpu0/topology/core_cpus_list",
            "sys/devices/system/cpu/cpu1/topology/core_cpus_list",
            "sys/devices/system/cpu/cpu2/topology/core_cpus_list",
            "sys/devices/system/cpu/cpu3/topology/core_cpus_list",
            "sys/devices/system/cpu/cpu4/topology/core_cpus_list",
            "sys/devices/system/cpu/cpu5/topology/core_cpus_list",
            "sys/devices/system/cpu/cpu6/topology/core_cpus_list",
            "sys/devices/system/cpu/cpu7/topology/core_cpus_list",
            "sys/devices/system/cpu/vulnerabilities",
        ],
        ..PLAIN
    },
    Fake {
        name: "no-sysfs",
        about: "a container without /sys: only /proc/cpuinfo tells",
        absent: &["sys"],
        ..PLAIN
    },
    Fake {
        name: "rewritten-cpuinfo",
        about: "a container whose /proc/cpuinfo shows fewer CPUs than sysfs (lxcfs)",
        files: &[(
            "proc/cpuinfo",
            "processor\t: 0\nmodel name\t: Intel(R) Xeon(R) E3-1230\nsiblings\t: 8\n\
             cpu cores\t: 4\nflags\t\t: fpu ht\n\n\
             processor\t: 1\nmodel name\t: Intel(R) Xeon(R) E3-1230\nsiblings\t: 8\n\
             cpu cores\t: 4\nflags\t\t: fpu ht\n",
        )],
        ..PLAIN
    },
    Fake {
        name: "contradicting",
        about: "sysfs shows siblings, /proc/cpuinfo counts as many cores as CPUs",
        files: &[(
            "proc/cpuinfo",
            "processor\t: 0\nsiblings\t: 4\ncpu cores\t: 4\nflags\t\t: fpu ht\n\n\
             processor\t: 1\n\nprocessor\t: 2\n\nprocessor\t: 3\n",
        )],
        cores: &[cores(2, 2, 3600)],
        ..PLAIN
    },
    Fake {
        name: "arm-big-little",
        about: "Arm with cores of two strengths, a kernel that cannot switch",
        cores: &[
            Cores { count: 4, threads: 1, mhz: 1800, capacity: 446 },
            Cores { count: 2, threads: 1, mhz: 2400, capacity: 1024 },
        ],
        numbering: Numbering::Adjacent,
        control: Some("notimplemented"),
        form: Form::Arm,
        ..PLAIN
    },
];
