//! The built-in scenarios: every policy does what each says it must, and files that cannot be are
//! refused by line.

use coretwin_sim::kernel::scenario::expect::{MEASURES, measure};
use coretwin_sim::kernel::scenario::{Scenario, rt_app, sweep, table};
use coretwin_sim::kernel::{Cause, Failure, Options, Outcome, run};
use coretwin_sim::policies::{POLICIES, Settings};

fn outcome(scenario: &Scenario, policy: &str, seed: u64) -> Result<Outcome, Box<Failure>> {
    let layout = scenario.layout().expect("its own machine");
    let speeds = scenario.uniform(scenario.slowdown).expect("its own speeds");
    let work = scenario.work_on(&layout);
    let machine = scenario.machine(layout, speeds);
    let mut options = Options::new(Settings::parse(policy).expect("a policy"));
    (options.seed, options.checked) = (seed, true);
    (options.until_ns, options.warmup_ns) = (scenario.until_ns, scenario.warmup_ns);
    run(&machine, &work, &options)
}

#[test]
fn every_policy_does_what_every_scenario_says_it_must() {
    let mut broken = Vec::new();
    for scenario in Scenario::all() {
        let mut policies: Vec<&str> = POLICIES.iter().map(|entry| entry.name).collect();
        policies.extend(scenario.policies().iter().filter(|text| text.contains('[')));
        for policy in policies {
            let is_about = |policies: &Option<Vec<String>>| {
                policies.as_ref().is_none_or(|policies| policies.iter().any(|one| one == policy))
            };
            let says = scenario.expectations.iter().any(|one| is_about(&one.policies));
            assert!(says, "{} says nothing of {policy}", scenario.name);
            for seed in 1..=3 {
                let found = outcome(&scenario, policy, seed);
                let found = found.unwrap_or_else(|failure| panic!("{}: {failure}", scenario.name));
                let lines = scenario.broken(&found);
                let place = format!("{} under {policy}, seed {seed}", scenario.name);
                broken.extend(lines.iter().map(|line| format!("{place}: {line}")));
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn an_expectation_can_be_broken() {
    let mut scenario = Scenario::named("two-on-siblings").expect("built in");
    let found = outcome(&scenario, "linux-2.5.32", 1).expect("a run");
    assert!(scenario.broken(&found).is_empty());
    for expectation in &mut scenario.expectations {
        expectation.ranges.iter_mut().for_each(|(_, low, high)| (*low, *high) = (1e9, 1e10));
    }
    let broken = scenario.broken(&found);
    let clash =
        measure("clash_percent").and_then(|clash| clash.of(&found, None)).expect("a number");
    let line = format!("clash_percent is {clash:.3}, not 1000000000 to 10000000000");
    assert!(broken.contains(&line), "{broken:?}");
}

#[test]
fn the_table_names_its_files_and_measures_are_named_once() {
    for (entry, scenario) in table::ALL.iter().zip(Scenario::all()) {
        assert_eq!(scenario.name, entry.name);
        assert!(!scenario.about.is_empty() && !scenario.expectations.is_empty());
        assert!(scenario.work.starts.len() <= 64);
    }
    let mut keys: Vec<&str> = MEASURES.iter().map(|measure| measure.key).collect();
    keys.sort_unstable();
    keys.dedup();
    assert_eq!(keys.len(), MEASURES.len());
}

/// A scenario of one program with these steps, and these lines beside it.
fn text(steps: &str, more: &str) -> String {
    format!(
        "name = 't'\ntitle = 't'\nabout = 't'\ntopology = '2x2'\nslowdown = 1.5\nuntil_ms = 10\n\
         profile = 'gzip'\n[[program]]\nname = 'p'\nsteps = [{steps}]\n[[task]]\nprogram = 'p'\n{more}"
    )
}

fn refusal(text: &str) -> String {
    Scenario::read("t.toml", text).map(|_| ()).expect_err(text).to_string()
}

#[test]
fn scenarios_that_cannot_be_are_refused_with_line_and_key() {
    let busy = "{ compute_us = 5 }";
    assert!(Scenario::read("t.toml", &text(busy, "")).is_ok());
    let steps = |steps: &str| refusal(&text(steps, ""));
    let more = |more: &str| refusal(&text(busy, more));
    for (message, parts) in [
        (steps("{ compute_su = 5 }"), ["t.toml:10", "did you mean 'compute_us'"]),
        (steps("{ compute_us = -1 }"), ["compute_us", "a number from 0 to"]),
        (steps("{ compute_us = [9, 2] }"), ["t.toml:10", "goes from 9 down to 2"]),
        (steps("{ compute_us = 5, profile = 'gzp' }"), ["profile", "did you mean 'gzip'"]),
        (steps("{ compute_us = 5, lock = 'a', sleep_us = 2 }"), ["t.toml:10", "has 'compute_us'"]),
        (steps("{ lock = 'a' }"), ["lock", "there is no lock 'a'"]),
        (steps("{ forever = true, steps = [{ done = 'x' }] }"), ["t.toml:10", "zero length"]),
        (steps("{ repeat = 0, steps = [{ compute_us = 5 }] }"), ["repeat", "is 0"]),
        (steps("{ steps = [{ compute_us = 5 }] }"), ["steps", "either repeat = N or forever"]),
        (steps("{ fork = 'q' }"), ["fork", "there is no program 'q'"]),
        (steps("{ cpus = '3-' }"), ["cpus", "no list of CPUs"]),
        (steps("{ yield = false }"), ["yield", "is false"]),
        (steps(""), ["steps", "has no step"]),
        (more("colour = 3\n"), ["t.toml:13", "is unknown"]),
        (more("count = 0\n"), ["count", "from 1 to"]),
        (more("nice = 20\n"), ["nice", "from -20 to 19"]),
        (more("class = 'fifo'\n"), ["t.toml", "has no 'priority'"]),
        (more("[[event]]\nat_ms = 1\n"), ["event[0]", "says nothing that happens"]),
        (more("[[expect]]\npolicies = ['linux-2.6']\n"), ["expect[0]", "there is no policy"]),
        (more("[[expect]]\nclash_percent = [3]\n"), ["clash_percent", "least and the most"]),
        (
            more("[[expect]]\nclash_percnt = [0, 1]\n"),
            ["clash_percnt", "did you mean 'clash_percent'"],
        ),
        (more("[[expect]]\n"), ["expect[0]", "expects nothing"]),
        (refusal(&text(busy, "").replace("2x2", "0x2")), ["t.toml:4", "1 to 4096 CPUs"]),
        (refusal(&text(busy, "").replace("2x2", "9000x1")), ["topology", "not 9000"]),
        (refusal(&text(busy, "").replace("2x2", "two")), ["topology", "no topology"]),
        (refusal("name = \n"), ["line 1", "is not TOML"]),
    ] {
        assert!(parts.iter().all(|part| message.contains(part)), "{message}\n{parts:?}");
    }
}

#[test]
fn deadlocks_and_tasks_without_end_are_reported() {
    let locks = text("{ lock = 'a' }, { compute_us = 50 }, { lock = 'b' }", "count = 1\n[[task]]\nprogram = 'q'\n")
        .replace("[[program]]", "locks = ['a', 'b']\n[[program]]\nname = 'q'\nsteps = [{ lock = 'b' }, { compute_us = 50 }, { lock = 'a' }]\n[[program]]");
    let scenario = Scenario::read("t.toml", &locks).unwrap_or_else(|error| panic!("{error}"));
    let failure = outcome(&scenario, "fair", 1).map(|_| ()).expect_err("a deadlock");
    assert_eq!(failure.cause, Cause::Deadlock);
    assert!(failure.to_string().contains("held by"), "{failure}");
    let bomb = text("{ forever = true, steps = [{ fork = 'p' }, { compute_us = 1 }] }", "");
    let scenario = Scenario::read("t.toml", &bomb).unwrap_or_else(|error| panic!("{error}"));
    let layout = scenario.layout().expect("a machine");
    let machine = scenario.machine(layout, scenario.uniform(1500).expect("speeds"));
    let mut options = Options::new(Settings::parse("fair").expect("a policy"));
    (options.tasks_max, options.until_ns) = (500, 10_000_000_000);
    let failure = run(&machine, &scenario.work, &options).map(|_| ()).expect_err("a bomb");
    assert_eq!(failure.cause, Cause::TooManyTasks);
}

#[test]
fn sweeps_that_cannot_be_are_refused() {
    assert_eq!(sweep::read("ablation", sweep::ABLATION).expect("built in").name, "ablation");
    let refused = |from: &str, to: &str, part: &str| {
        let text = sweep::ABLATION.replace(from, to);
        let message = sweep::read("s.toml", &text).map(|_| ()).expect_err(part).to_string();
        assert!(message.contains("s.toml:") && message.contains(part), "{message}");
    };
    refused("\"1x1\"", "\"1y1\"", "is no topology");
    refused("\"1x1\"", "\"2x2\"", "holds '2x2' twice");
    refused("[wakeup=off]", "[wakup=off]", "did you mean 'wakeup'");
    refused("\"half-loaded\"", "\"half-loded\"", "did you mean 'half-loaded'");
    refused("\"clash_percent\"", "\"clash\"", "did you mean 'clash_percent'");
    refused("seeds = 10", "seeds = 0", "from 1 to 1000");
    refused("seeds = 10", "seed = 10", "did you mean 'seeds'");
    refused("slowdown = 1.6", "preset = 'zen44'", "did you mean 'zen4'");
    refused("slowdown = 1.6", "", "either preset");
    refused("slowdown = 1.6", "slowdwn = 1.6", "did you mean 'slowdown'");
    refused("reference = \"linux-2.5.32-a9\"", "reference = \"fair\"", "not among the policies");
}

fn rt(tasks: &str) -> Result<Scenario, coretwin_sim::Error> {
    rt_app::read("w.json", &format!("{{\n\"tasks\": {{\n{tasks}\n}} }}"), "gzip")
}

#[test]
fn work_of_rt_app_runs_as_it_says() {
    // A producer that runs 1 ms in every 10 and resumes a consumer; two spinners at a barrier.
    let scenario = rt_app::read(
        "w.json",
        r#"{ /* comments are fine */
            "global": { "duration": 1, "default_policy": "SCHED_OTHER", "logdir": "./" },
            "tasks": {
                "producer": { "loop": 20, "run": 1000, "resume": "consumer",
                              "timer": { "ref": "unique", "period": 10000 } },
                "consumer": { "loop": 20, "suspend": "consumer", "run0": 500, "run1": 500 },
                "pair": { "instance": 2, "loop": 1, "cpus": [2, 3], "priority": 5, "phases": {
                    "warm": { "loop": 3, "lock": "m", "run": 2000, "unlock": "m" },
                    "meet": { "barrier": "both", "mem": 1000, "iorun": 4096, "yield": "" } } },
            } }"#,
        "gzip",
    );
    let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((scenario.until_ns, scenario.work.starts[2].nice), (1_000_000_000, 5));
    for entry in POLICIES {
        let found = outcome(&scenario, entry.name, 1);
        let found = found.unwrap_or_else(|failure| panic!("{}: {failure}", entry.name));
        assert!(found.finished, "{}", entry.name);
        // 20 rounds of the producer, 20 of the consumer, 1 of each of the pair.
        assert_eq!(found.operations[0].count, 42, "{}", entry.name);
        assert!((195_000_000..260_000_000).contains(&found.simulated_ns), "{}", found.simulated_ns);
    }
}

#[test]
fn files_of_rt_app_that_cannot_be_are_refused_with_their_line() {
    for (tasks, part) in [
        ("\"a\": { \"slep\": 5 }", "w.json:3: tasks.a.slep: is unknown; did you mean 'sleep'?"),
        ("\"a\": {\n\"run\": -5 }", "w.json:4: tasks.a.run: is -5; it must be a number from 0"),
        ("\"a\": { \"run\": 0 }", "a loop of zero length"),
        ("\"a\": { \"loop\": 0, \"run\": 5 }", "tasks.a.loop: is 0"),
        ("\"a\": { \"loop\": 0.5, \"run\": 5 }", "tasks.a.loop: is 0.5; it must be whole"),
        ("\"a\": { \"instance\": 1e9, \"run\": 5 }", "tasks.a.instance: is 1000000000"),
        ("\"a\": { \"instance\": 0, \"run\": 5 }", "no task has an instance"),
        ("\"a\": { \"run\": 5, \"fork\": \"b\" }", "there is no task 'b'"),
        ("\"a\": { \"run\": 5, \"policy\": \"SCHED_DEADLINE\" }", "SCHED_DEADLINE is not modelled"),
        ("\"a\": { \"runtime\": 5 }", "runtime is not modelled"),
        ("\"a\": { \"run\": 5, \"broad\": \"c\" }", "broad is not modelled"),
        ("\"a\": { \"wait\": { \"ref\": \"c\" } }", "has no 'mutex'"),
        ("\"a\": { \"run\": 1, \"timer\": { \"ref\": \"x\" } }", "has no 'period'"),
        ("\"a\": { \"run\": 1, \"cpus\": [] }", "names no CPU"),
        ("\"a\": { \"phases\": { \"p\": { } } }", "has no event"),
        ("\"a\": { \"run\": 1 }, \"a\": { \"run\": 2 }", "stands there twice"),
        ("\"a\": [1]", "tasks.a: must be an object, not a list"),
    ] {
        let message = rt(tasks).map(|_| ()).expect_err(tasks).to_string();
        assert!(message.contains(part), "{message}");
    }
    let stuck = rt("\"a\": { \"loop\": 1, \"suspend\": \"a\" }").expect("it can be read");
    let failure = outcome(&stuck, "fair", 1).map(|_| ()).expect_err("nobody resumes it");
    assert_eq!(failure.cause, Cause::Deadlock);
}
