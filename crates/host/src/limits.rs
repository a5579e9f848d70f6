//! Limits of the system that would stop a workload, found before it runs, with what to type.

use crate::{cgroup::Cgroups, root::Root, user};
use coretwin_base::machine::limits::{Limit, Need, Unmet};

/// Largest value of a SysV semaphore (SEMVMX, include/uapi/linux/sem.h).
const SEMAPHORE_VALUE_MAX: u64 = 32_767;

/// The needs that this machine does not meet, in the order asked. A limit whose file is missing is
/// not checked: what cannot be read is not known to be too low.
pub fn unmet(root: &Root, needs: &[Need]) -> Vec<Unmet> {
    needs
        .iter()
        .filter_map(|need| {
            let free = free(root, need.limit)?;
            (free.amount < need.amount).then(|| Unmet {
                limit: need.limit,
                needed: need.amount,
                value: free.amount,
                remedy: remedy(root, need, &free),
            })
        })
        .collect()
}

struct Free {
    amount: u64,
    /// What is in use, which a new limit must hold as well.
    used: u64,
    /// The file that sets it, where there are several.
    place: String,
}

impl Free {
    fn of(limit: u64, used: u64, place: &str) -> Self {
        Self { amount: limit.saturating_sub(used), used, place: place.to_owned() }
    }
}

fn free(root: &Root, limit: Limit) -> Option<Free> {
    let number = |path: &str| root.number::<u64>(path);
    let unused = |limit| Some(Free::of(limit, 0, ""));
    match limit {
        Limit::OpenFiles => unused(resource(root, "Max open files")?.1),
        Limit::UserTasks => user_tasks(root),
        Limit::Threads => {
            let used = tasks(root);
            let limits = ["kernel.threads-max", "kernel.pid_max"];
            let read = |name: &str| {
                let value = number(&format!("proc/sys/{}", name.replace('.', "/")))?;
                Some(Free::of(value, used, name))
            };
            limits.into_iter().filter_map(read).min_by_key(|free| free.amount)
        }
        Limit::CgroupTasks => cgroup_tasks(root),
        Limit::MemoryMaps => unused(number("proc/sys/vm/max_map_count")?),
        Limit::MemoryKib => memory_kib(root),
        Limit::SemaphoreSets => {
            Some(Free::of(semaphore_limits(root)?[3], semaphores_used(root).0, ""))
        }
        Limit::SemaphoresPerSet => unused(semaphore_limits(root)?[0]),
        Limit::SemaphoresTotal => {
            Some(Free::of(semaphore_limits(root)?[1], semaphores_used(root).1, ""))
        }
        Limit::SemaphoreValue => unused(SEMAPHORE_VALUE_MAX),
        Limit::ListenBacklog => unused(number("proc/sys/net/core/somaxconn")?),
        Limit::EphemeralPorts => {
            let (low, high) = ports(root)?;
            unused((high + 1).saturating_sub(low))
        }
    }
}

fn remedy(root: &Root, need: &Need, free: &Free) -> String {
    let enough = need.amount.saturating_add(free.used);
    match need.limit {
        Limit::OpenFiles => format!(
            "as root: prlimit --pid $$ --nofile={enough}:{enough}, or in /etc/security/limits.conf \
             'YOU hard nofile {enough}' and log in again"
        ),
        Limit::UserTasks => format!(
            "ulimit -u {enough}; if that is refused, in /etc/security/limits.conf 'YOU hard nproc \
             {enough}' and log in again"
        ),
        Limit::Threads => format!("sudo sysctl -w {}={}", free.place, enough.saturating_add(1000)),
        Limit::CgroupTasks => format!(
            "as root: echo {enough} > {}/pids.max (a container: --pids-limit {enough}; a systemd \
             slice: TasksMax={enough})",
            free.place
        ),
        Limit::MemoryMaps => format!("sudo sysctl -w vm.max_map_count={enough}"),
        Limit::MemoryKib => {
            let raise = match free.place.as_str() {
                "" => String::new(),
                place => format!(", or raise the memory limit of the cgroup {place}"),
            };
            format!(
                "ask for less (size_kib, processes, footprint_kib), or end other programs{raise}"
            )
        }
        Limit::SemaphoreSets | Limit::SemaphoresPerSet | Limit::SemaphoresTotal => {
            let mut fields = semaphore_limits(root).unwrap_or_default();
            let field = match need.limit {
                Limit::SemaphoresPerSet => 0,
                Limit::SemaphoresTotal => 1,
                _ => 3,
            };
            fields[field] = enough;
            let [per_set, total, operations, sets] = fields;
            let stale = match free.used {
                0 => String::new(),
                n => format!("; {n} are in use: ipcs -s lists them, ipcrm -s removes stale ones"),
            };
            format!("sudo sysctl -w kernel.sem='{per_set} {total} {operations} {sets}'{stale}")
        }
        Limit::SemaphoreValue => {
            "the kernel cannot be told otherwise; ask for less (fewer rooms)".to_owned()
        }
        Limit::ListenBacklog => format!("sudo sysctl -w net.core.somaxconn={enough}"),
        Limit::EphemeralPorts => {
            let high = 65_535_u64;
            let low = (high + 1).saturating_sub(enough).max(1024);
            if high + 1 - low < enough {
                "one address has no more ports; ask for less (fewer rooms or copies)".to_owned()
            } else {
                let low = low.min(ports(root).map_or(low, |(low, _)| low));
                format!("sudo sysctl -w net.ipv4.ip_local_port_range='{low} {high}'")
            }
        }
    }
}

/// Soft and hard limit of a line of `/proc/self/limits`; `unlimited` is the largest number.
fn resource(root: &Root, name: &str) -> Option<(u64, u64)> {
    let text = root.text("proc/self/limits").ok()?;
    let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
    let mut values = rest.split_whitespace().map(|word| match word {
        "unlimited" => Some(u64::MAX),
        number => number.parse().ok(),
    });
    Some((values.next()??, values.next()??))
}

/// RLIMIT_NPROC counts the tasks of the real user, wherever they run. Root is exempt
/// (setrlimit(2)), but a user that root works for is not.
fn user_tasks(root: &Root) -> Option<Free> {
    let (soft, _) = resource(root, "Max processes")?;
    let user = match user::invoking_user(root).ok()? {
        Some(invoking) => invoking.uid,
        None => user::effective_user(root)?,
    };
    if soft == u64::MAX || user == 0 {
        return Some(Free::of(u64::MAX, 0, ""));
    }
    let used = root
        .numbered("proc", "")
        .into_iter()
        .filter_map(|process| threads_of(&root.text(&format!("proc/{process}/status")).ok()?, user))
        .sum();
    Some(Free::of(soft, used, ""))
}

fn threads_of(status: &str, user: u32) -> Option<u64> {
    let field = |name: &str| {
        status.lines().find_map(|line| line.strip_prefix(name)?.split_whitespace().next())
    };
    let owner: u32 = field("Uid:")?.parse().ok()?;
    if owner == user { field("Threads:")?.parse().ok() } else { None }
}

/// Tasks of the whole machine, from `0.20 0.18 0.12 1/80 11206` (proc(5), loadavg).
fn tasks(root: &Root) -> u64 {
    let text = root.text("proc/loadavg").unwrap_or_default();
    let running_of_all = text.split_whitespace().nth(3).unwrap_or_default();
    running_of_all.split_once('/').and_then(|(_, all)| all.parse().ok()).unwrap_or(0)
}

/// The tightest `pids.max` of our group and those above it.
fn cgroup_tasks(root: &Root) -> Option<Free> {
    let cgroups = Cgroups::read(root);
    cgroups
        .values(root, "pids", "pids.max", "pids.max")
        .filter_map(|(folder, text)| {
            let used = root.number(&format!("{folder}/pids.current")).unwrap_or(0);
            // "max" is no number: no limit here.
            Some(Free::of(text.parse().ok()?, used, &folder))
        })
        .min_by_key(|free| free.amount)
        .or_else(|| Some(Free::of(u64::MAX, 0, "")))
}

/// What the machine has available, or the tightest group has left, in KiB. The page cache of a group
/// counts as free, as `MemAvailable` counts the machine's.
fn memory_kib(root: &Root) -> Option<Free> {
    let meminfo = root.text("proc/meminfo").ok()?;
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let available: u64 = line.split_whitespace().next()?.parse().ok()?;
    let machine = Free::of(available, 0, "");
    let cgroups = Cgroups::read(root);
    let groups = cgroups.values(root, "memory", "memory.limit_in_bytes", "memory.max").filter_map(
        |(folder, text)| {
            let usage = ["memory.current", "memory.usage_in_bytes"];
            let number = |file: &&str| root.number::<u64>(&format!("{folder}/{file}"));
            let used = usage.iter().find_map(number).unwrap_or(0);
            let stat = root.text(&format!("{folder}/memory.stat")).unwrap_or_default();
            let cached = stat.lines().find_map(|line| {
                line.strip_prefix("file ").or(line.strip_prefix("cache "))?.parse::<u64>().ok()
            });
            let used = used.saturating_sub(cached.unwrap_or(0));
            // "max" is no number: no limit here.
            Some(Free::of(text.parse::<u64>().ok()? >> 10, used >> 10, &folder))
        },
    );
    groups.chain([machine]).min_by_key(|free| free.amount)
}

/// SEMMSL, SEMMNS, SEMOPM, SEMMNI.
fn semaphore_limits(root: &Root) -> Option<[u64; 4]> {
    let text = root.fact("proc/sys/kernel/sem")?;
    let mut fields = text.split_whitespace().map(|word| word.parse().ok());
    Some([fields.next()??, fields.next()??, fields.next()??, fields.next()??])
}

/// Sets in use and semaphores in them, from `/proc/sysvipc/sem`.
fn semaphores_used(root: &Root) -> (u64, u64) {
    let text = root.text("proc/sysvipc/sem").unwrap_or_default();
    let sizes =
        text.lines().skip(1).filter_map(|line| line.split_whitespace().nth(3)?.parse::<u64>().ok());
    sizes.fold((0, 0), |(sets, all), size| (sets + 1, all.saturating_add(size)))
}

fn ports(root: &Root) -> Option<(u64, u64)> {
    let text = root.fact("proc/sys/net/ipv4/ip_local_port_range")?;
    let mut fields = text.split_whitespace().map(|word| word.parse::<u16>().ok());
    Some((u64::from(fields.next()??), u64::from(fields.next()??)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::of_files;
    use proptest::prelude::*;

    fn one(files: &[(&str, &str)], limit: Limit, amount: u64) -> Option<String> {
        let (_folder, root) = of_files(files);
        unmet(&root, &[Need { limit, amount }]).pop().map(|unmet| unmet.to_string())
    }

    #[test]
    fn open_files_count_by_the_hard_limit() {
        let limits = [(
            "proc/self/limits",
            "Limit   Soft Limit  Hard Limit  Units\nMax open files   1024   4096   files\n",
        )];
        assert_eq!(one(&limits, Limit::OpenFiles, 4096), None);
        let error = one(&limits, Limit::OpenFiles, 5000).expect("unmet");
        assert!(error.contains("5000 needed, 4096 available"), "{error}");
        assert!(error.contains("--nofile=5000:5000"), "{error}");
    }

    #[test]
    fn semaphores_in_use_are_not_available() {
        let used = [
            ("proc/sys/kernel/sem", "250\t100\t32\t4\n"),
            ("proc/sysvipc/sem", "key semid perms nsems\n0 1 600 20\n0 2 600 21\n0 3 600 1\n"),
        ];
        assert_eq!(one(&used, Limit::SemaphoreSets, 1), None);
        let error = one(&used, Limit::SemaphoreSets, 41).expect("unmet");
        assert!(error.contains("41 needed, 1 available"), "{error}");
        assert!(error.contains("kernel.sem='250 100 32 44'; 3 are in use"), "{error}");
        let error = one(&used, Limit::SemaphoresTotal, 60).expect("unmet");
        assert!(error.contains("58 available") && error.contains("'250 102 32 4'"), "{error}");
        let error = one(&used, Limit::SemaphoresPerSet, 300).expect("unmet");
        assert!(error.contains("kernel.sem='300 100 32 4'"), "{error}");
    }

    #[test]
    fn tasks_of_the_machine_the_cgroup_and_the_user() {
        let files = [
            ("proc/sys/kernel/threads-max", "5000\n"),
            ("proc/sys/kernel/pid_max", "4000\n"),
            ("proc/loadavg", "0.20 0.18 0.12 1/900 11206\n"),
            ("proc/self/mountinfo", "30 22 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"),
            ("proc/self/cgroup", "0::/a/b\n"),
            ("sys/fs/cgroup/a/b/pids.max", "max\n"),
            ("sys/fs/cgroup/a/pids.max", "2000\n"),
            ("sys/fs/cgroup/a/pids.current", "300\n"),
            ("proc/self/status", "Uid:\t1000\t1000\t1000\t1000\n"),
            ("proc/self/limits", "Max processes   1000   2000   processes\n"),
            ("proc/12/status", "Uid:\t1000\t1000\nThreads:\t7\n"),
            ("proc/13/status", "Uid:\t0\t0\nThreads:\t70\n"),
        ];
        let error = one(&files, Limit::Threads, 4000).expect("unmet");
        assert!(error.contains("3100 available; sudo sysctl -w kernel.pid_max=5900"), "{error}");
        let error = one(&files, Limit::CgroupTasks, 1701).expect("unmet");
        assert!(error.contains("1700 available"), "{error}");
        assert!(error.contains("echo 2001 > /sys/fs/cgroup/a/pids.max"), "{error}");
        assert_eq!(one(&files, Limit::UserTasks, 993), None);
        assert!(one(&files, Limit::UserTasks, 994).expect("unmet").contains("ulimit -u 1001"));
    }

    #[test]
    fn network_and_fixed_limits() {
        let files = [
            ("proc/sys/net/core/somaxconn", "128\n"),
            ("proc/sys/net/ipv4/ip_local_port_range", "32768\t60999\n"),
        ];
        assert!(one(&files, Limit::ListenBacklog, 1000).expect("u").contains("somaxconn=1000"));
        assert_eq!(one(&files, Limit::EphemeralPorts, 28_232), None);
        let error = one(&files, Limit::EphemeralPorts, 40_000).expect("unmet");
        assert!(error.contains("ip_local_port_range='25536 65535'"), "{error}");
        let error = one(&files, Limit::EphemeralPorts, 70_000).expect("unmet");
        assert!(error.contains("no more ports"), "{error}");
        assert!(one(&[], Limit::SemaphoreValue, 32_768).expect("u").contains("fewer rooms"));
        assert_eq!(one(&[("proc/sys/vm/max_map_count", "x")], Limit::MemoryMaps, 1 << 40), None);
    }

    #[test]
    fn memory_of_the_machine_and_the_cgroup() {
        let mut files = vec![("proc/meminfo", "MemTotal: 9000 kB\nMemAvailable:    4000 kB\n")];
        assert_eq!(one(&files, Limit::MemoryKib, 4000), None);
        let error = one(&files, Limit::MemoryKib, 4001).expect("unmet");
        assert!(error.contains("4001 needed, 4000 available; ask for less"), "{error}");
        files.extend([
            ("proc/self/mountinfo", "30 22 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"),
            ("proc/self/cgroup", "0::/a/b\n"),
            ("sys/fs/cgroup/a/b/memory.max", "max\n"),
            ("sys/fs/cgroup/a/memory.max", "3072000\n"),
            ("sys/fs/cgroup/a/memory.current", "2048000\n"),
            ("sys/fs/cgroup/a/memory.stat", "anon 1024000\nfile 1024000\n"),
        ]);
        // 3000 KiB, of which 1000 are in use by other than the page cache.
        assert_eq!(one(&files, Limit::MemoryKib, 2000), None);
        let error = one(&files, Limit::MemoryKib, 2001).expect("unmet");
        assert!(error.contains("raise the memory limit of the cgroup /sys/fs/cgroup/a"), "{error}");
        assert_eq!(one(&[], Limit::MemoryKib, u64::MAX), None, "nothing is known");
    }

    proptest! {
        // Each case writes files.
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn never_panics(text in "(Max open files|[0-9 \\n\\t]|\\PC)*", amount: u64) {
            let paths = ["proc/self/limits", "proc/sys/kernel/sem", "proc/sysvipc/sem"];
            let (_folder, root) = of_files(&paths.map(|path| (path, text.as_str())));
            let limits = [Limit::OpenFiles, Limit::SemaphoreSets, Limit::SemaphoresTotal];
            let _ = unmet(&root, &limits.map(|limit| Need { limit, amount }));
        }
    }
}
