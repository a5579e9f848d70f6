//! The rows of `service`, through the real worker: what is counted, overload, a server that stalls.

#![expect(clippy::print_stdout, reason = "figures are printed beside their truth")]

mod common;

use common::{Worker, allowed_cpus, fail, left_out, one_cpu, succeed, workload};
use coretwin_base::machine::cpu_set::CpuSet;
use coretwin_base::study::job::{Job, Outcome};
use coretwin_base::study::latency::Latency;
use coretwin_workloads::service::arrivals::{Arrivals, Pattern};
use coretwin_workloads::service::mix::{self, MIXES, Requests};
use std::time::Duration;

fn latency(outcome: &Outcome) -> &Latency {
    outcome.latency.as_ref().expect("a record")
}

#[test]
fn every_mix_is_answered_in_both_loops_and_counted_on_both_sides() {
    for mix in MIXES {
        for row in ["latency:rate=150,", "throughput:"] {
            let text = format!(
                "service/{row}mix={},seconds=0.4,warmup=0.1,connections=3,workers=2,memory_kib=64",
                mix.name
            );
            let outcome = succeed(&workload(&text));
            assert_eq!((outcome.threads, outcome.checks.get("totals_server")), (2, Some(&true)));
            let told = latency(&outcome);
            // A schedule has its requests on any machine; a closed loop what the machine answers.
            let least = if row == "throughput:" { 1 } else { 10 };
            assert!(told.sent >= least && told.completed == told.sent, "{text}: {told:?}");
            assert_eq!((told.failed, told.unanswered()), (0, 0));
            assert!(told.server_cpu_s.is_some_and(|cpu_s| cpu_s > 0.0), "{text}");
            // A closed loop has no schedule to be late for.
            assert_eq!(told.generator.is_some(), told.offered_per_s.is_some());
            assert!(outcome.user_s + outcome.system_s >= told.server_cpu_s.unwrap_or(0.0));
        }
    }
}

#[test]
fn arrivals_keep_their_rate_whatever_their_pattern() {
    for arrivals in ["constant", "poisson", "bursty"] {
        let text = format!(
            "service/latency:rate=2000,seconds=1,warmup=0.1,arrivals={arrivals},memory_kib=64"
        );
        let told = latency(&succeed(&workload(&text))).clone();
        let within = if arrivals == "bursty" { 1000 } else { 200 };
        assert!(told.sent.abs_diff(2000) <= within, "{arrivals}: {told:?}");
        assert_eq!(told.offered_per_s, Some(2000.0));
        assert!(told.p50_s.is_some() && told.p99_s.is_none(), "2000 samples have 20 beyond p99");
    }
}

/// 500 requests a second are what one worker can do that takes 2 ms each.
#[test]
fn what_is_offered_beyond_capacity_is_a_result() {
    let outcome = succeed(&workload(
        "service/latency:mix=spin-fixed,service_us=2000,rate=2500,workers=1,seconds=2,warmup=0.2",
    ));
    let told = latency(&outcome);
    assert!(told.completed < told.sent && told.unanswered() > 0, "{told:?}");
    assert!(told.throughput_per_s < 520.0, "{told:?}");
    // It grows until the end of the run: what was not answered counts with its age.
    assert!(told.p50_s.is_some_and(|p50| p50 > 4.2), "{told:?}");
    assert!(told.max_s.is_some_and(|max| max < 8.0), "{told:?}");
    assert!(!outcome.checks.contains_key("totals_server"));
}

#[test]
fn the_generator_is_beside_the_arm_where_there_is_a_spare_cpu() {
    let all = allowed_cpus();
    let short = "service/latency:rate=500,seconds=0.5,warmup=0.1,memory_kib=64";
    let shared = succeed(&Job { cpus: one_cpu(), ..workload(short) });
    let own =
        |outcome: &Outcome| latency(outcome).generator.as_ref().map(|generator| generator.own_cpu);
    assert_eq!(own(&shared), Some(false));
    assert!(shared.notes["generator"].contains("shared"));
    let spare_cpus: CpuSet = all.difference(&one_cpu());
    if spare_cpus.is_empty() {
        return left_out("a generator on a CPU of its own needs a second CPU");
    }
    let outcome = succeed(&Job { cpus: one_cpu(), spare_cpus, ..workload(short) });
    assert_eq!(own(&outcome), Some(true));
    // The generator's CPU, on which it spins, is not the work's.
    assert!(outcome.user_s + outcome.system_s < 0.4, "{outcome:?}");
    assert!(outcome.cpus_ran.is_subset(&one_cpu()), "{}", outcome.cpus_ran);
}

/// Where waiting took whole milliseconds, rounded up, half of the requests left half of one late.
#[test]
fn a_generator_that_sleeps_wakes_when_a_request_is_due() {
    let median_s = |_| {
        let outcome = succeed(&workload(
            "service/latency:rate=730,arrivals=constant,mix=spin-fixed,service_us=1,seconds=1,warmup=0.1",
        ));
        latency(&outcome).p50_s.expect("enough samples")
    };
    // The least, for others run too.
    let least_s = (0..3).map(median_s).fold(f64::MAX, f64::min);
    println!("median latency of a generator that sleeps: {:.0} µs", least_s * 1e6);
    assert!(least_s < 350e-6, "{least_s}");
}

/// The process of a worker that has a role.
fn with_role(worker: &Worker, role: &str) -> Option<i32> {
    let pid = worker.pid();
    let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).ok()?;
    children.split_whitespace().find_map(|child| {
        let line = std::fs::read_to_string(format!("/proc/{child}/cmdline")).ok()?;
        line.contains(role).then(|| child.parse().ok())?
    })
}

/// Stops a process of a run of three seconds for 200 ms.
fn stalled(text: &str, role: &str) -> Latency {
    let worker = Worker::start(&workload(text));
    common::eventually("a generator", || with_role(&worker, "service-generator").is_some());
    let process = with_role(&worker, role).expect("a process");
    std::thread::sleep(Duration::from_millis(1500));
    let signal = |name: &str| {
        let mut kill = std::process::Command::new("kill");
        assert!(kill.args([name, &process.to_string()]).status().expect("kill").success());
    };
    signal("-STOP");
    std::thread::sleep(Duration::from_millis(200));
    signal("-CONT");
    let outcome = worker.outcome();
    assert_eq!(outcome.failure, None);
    outcome.latency.expect("a record")
}

#[test]
fn an_open_loop_shows_a_whole_stall_and_a_closed_one_a_slow_request() {
    let ms = |value_s: Option<f64>| value_s.map_or("-".to_owned(), |s| format!("{:.2}", s * 1e3));
    let told = ["latency:rate=4000,", "throughput:"].map(|row| {
        let told = stalled(&format!(
            "service/{row}mix=spin-fixed,service_us=50,workers=1,connections=1,seconds=3,warmup=0.5"
        ), "service-server");
        let (p95, p99) = (ms(told.p95_s), ms(told.p99_s));
        println!(
            "{row} {} requests: p50 {} ms, p95 {p95} ms, p99 {p99} ms, most {} ms",
            told.sent,
            ms(told.p50_s),
            ms(told.max_s)
        );
        told
    });
    let [open, closed] = &told;
    // A fifteenth of the requests was due in the stall, each with what was left of it.
    assert!(open.max_s.is_some_and(|max| max > 0.19), "{open:?}");
    assert!(open.p99_s.is_some_and(|p99| p99 > 0.1), "{open:?}");
    assert!(closed.max_s.is_some_and(|max| max > 0.19), "{closed:?}");
    // A busy machine answers too few for a 99th percentile.
    let most = closed.p99_s.or(closed.p95_s);
    assert!(most.is_some_and(|most| most < 0.1), "{closed:?}");
}

#[test]
fn a_generator_that_stalls_is_late_and_its_requests_count_from_when_they_were_due() {
    let told = stalled(
        "service/latency:rate=4000,mix=spin-fixed,service_us=50,workers=1,seconds=3,warmup=0.5",
        "service-generator",
    );
    let late = told.generator.clone().expect("a generator");
    assert!(late.is_late() && late.late_p99_s > 0.1 && late.late_max_s > 0.19, "{late:?}");
    assert!(told.p99_s.is_some_and(|p99| p99 > late.late_p99_s * 0.99), "{told:?}");
}

#[test]
fn what_cannot_be_is_refused_with_the_reason() {
    for (text, part) in [
        ("service/latency:mix=keyvalue", "'key-value' or 'page'"),
        ("service/latency:arrivals=uniform", "'poisson' or 'constant' or 'bursty'"),
        ("service/latency:rate=1000000,seconds=200", "more than 100 million requests"),
        ("service/throughput:rate=1", "no parameter of service/throughput 'rate'"),
        ("service/latency:mix=memcached", "it needs the command of a server"),
        ("service/latency:server=memcached -p {port}", "add mix=memcached"),
        ("service/latency:mix=memcached,server=memcached", "a command with {port}"),
        ("service/latency:mix=memcached,server='{port}", "a quotation mark"),
        ("service/latency:mix=memcached,server=/no/such -p {port}", "cannot run '/no/such'"),
        ("service/latency:mix=memcached,server=sh -c 'exit 3' {port}", "ended with status 3"),
        ("service/latency:rate=0.01,seconds=0.01,warmup=0", "no request was due in 0.01 s"),
    ] {
        fail(&workload(text), part);
    }
}

/// A server that speaks something else, in a shell so that nothing must be installed.
#[test]
fn a_server_of_another_protocol_is_told() {
    if !common::installed("python3") {
        return left_out("python3 is not installed");
    }
    let folder = tempfile::tempdir().expect("folder");
    let script = folder.path().join("server.py");
    std::fs::write(
        &script,
        "import socket, sys\n\
         s = socket.create_server(('127.0.0.1', int(sys.argv[1])))\n\
         while True:\n\
         \x20   c, _ = s.accept()\n\
         \x20   if c.recv(9): c.sendall(b'\\x1b[2JHTTP/1.1 400 Bad Request\\r\\n')\n",
    )
    .expect("script");
    let script = script.display();
    let outcome = fail(
        &workload(&format!(
            "service/latency:mix=memcached,connections=1,keys=10,server=python3 {script} {{port}}"
        )),
        "did not store a value",
    );
    assert!(outcome.failure.is_some_and(|why| !why.contains('\u{1b}')));
}

#[test]
fn memcached_is_asked_in_its_own_protocol() {
    // Debian's package starts a server on the machine, so the gate does not install it.
    let path = std::env::var_os("PATH").unwrap_or_default();
    if !std::env::split_paths(&path).any(|folder| folder.join("memcached").exists()) {
        return left_out("memcached is not installed (Debian: memcached)");
    }
    for row in ["latency:rate=1000,", "throughput:"] {
        let outcome = succeed(&workload(&format!(
            "service/{row}mix=memcached,seconds=1,warmup=0.2,keys=1000,value_bytes=200,\
             connections=8,server=memcached -u nobody -l 127.0.0.1 -p {{port}} -t {{threads}}"
        )));
        let told = latency(&outcome);
        println!("{row} {told:?}");
        assert!(told.sent > 500 && told.completed == told.sent && told.failed == 0, "{told:?}");
    }
}

/// Mean time in the system and its 99th percentile, in seconds, of requests whose times of arrival and
/// service are those of a run with this seed, first come, first served.
fn exact_s(mix: &str, rate: f64, service_us: f64, workers: usize, phases: [f64; 2]) -> [f64; 2] {
    let from_ns = (phases[0] * 1e9) as u64;
    let end_ns = from_ns + (phases[1] * 1e9) as u64;
    let mut requests = Requests::new(mix::find(mix).expect("a mix"), service_us, 1);
    let (mut free, mut all) = (vec![0_u64; workers], Vec::new());
    let arrivals = Arrivals::new(Pattern::Poisson, rate, 1).take_while(|due| *due < end_ns);
    for due in arrivals {
        let server = (0..workers).min_by_key(|server| free[*server]).unwrap_or(0);
        free[server] = free[server].max(due) + requests.draw().1;
        if due >= from_ns {
            all.push((free[server] - due) as f64 / 1e9);
        }
    }
    all.sort_by(f64::total_cmp);
    [all.iter().sum::<f64>() / all.len() as f64, all[all.len() * 99 / 100]]
}

/// The real server against the queue that it is; its overhead, what it takes longer at a low load, is added. There
/// is one connection, so that requests are answered in their order: among 32 they are not, which leaves the
/// mean and lengthens the tail (M/D/1 at 0.7: p99 20 % above the exact one, and 10 % with one). A request takes
/// 3 ms, since a virtual machine may be stopped by its host for some 5 ms once a second: at 1 ms a request
/// that alone lengthened the tail of M/D/1 by 14 %.
#[test]
#[ignore = "takes twelve minutes on a quiet machine with two CPUs"]
fn a_server_that_spins_known_times_is_the_queue_that_it_is() {
    const SERVICE_US: f64 = 3000.0;
    let cpus = allowed_cpus();
    let Some(last) = cpus.iter().next_back().filter(|_| cpus.len() > 1) else {
        return left_out("a generator on a CPU of its own needs a second CPU");
    };
    let spare_cpus: CpuSet = [last].into_iter().collect();
    let load = || std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    println!("load average before: {}", load().trim());
    let seen_s = |mix: &str, load: f64, workers: usize| {
        let rate = load * workers as f64 / (SERVICE_US / 1e6);
        // As many requests as the percentile takes.
        let seconds = 11_000.0 / rate;
        let text = format!(
            "service/latency:mix={mix},service_us={SERVICE_US},rate={rate},workers={workers},\
             seconds={seconds},warmup=1,connections=1"
        );
        let on: CpuSet = cpus.iter().take(workers).collect();
        let timeout_s = 2.0 * seconds;
        let job = Job { cpus: on, spare_cpus: spare_cpus.clone(), timeout_s, ..workload(&text) };
        let outcome = succeed(&job);
        let told = latency(&outcome);
        let late = told.generator.clone().expect("a generator").late_p99_s;
        let exact = exact_s(mix, rate, SERVICE_US, workers, [1.0, seconds]);
        ([told.mean_s, told.p99_s].map(|known| known.expect("known")), exact, late)
    };
    let (seen, exact, _) = seen_s("spin-fixed", 0.2, 1);
    let overhead_s = seen[0] - exact[0];
    println!("overhead of a request at a load of 20 %: {:.1} µs", overhead_s * 1e6);
    let mut off = Vec::new();
    for workers in 1..=2_usize.min(cpus.len() - 1) {
        for (name, mix) in
            [("M/M", "spin-exponential"), ("M/D", "spin-fixed"), ("M/H2", "spin-hyperexponential")]
        {
            for load in [0.3, 0.5, 0.7] {
                let (seen, exact, late_s) = seen_s(mix, load, workers);
                for (what, seen_s, exact_s) in
                    [("mean", seen[0], exact[0]), ("p99", seen[1], exact[1])]
                {
                    off.push(seen_s / (exact_s + overhead_s) - 1.0);
                    println!(
                        "{name}/{workers} at {load}, {what}: {:.0} µs seen, {:.0} µs exact for this \
                         seed, {:+.1} % with the overhead; sent late by {:.0} µs at p99",
                        seen_s * 1e6,
                        exact_s * 1e6,
                        100.0 * off[off.len() - 1],
                        late_s * 1e6
                    );
                }
            }
        }
    }
    println!("load average after: {}", load().trim());
    assert!(off.iter().all(|off| off.abs() < 0.1), "{off:?}");
}
