//! The objects as they are written; and what is read of pods.

use super::*;
use crate::fleet::plan::{FleetRequest, draw};
use coretwin_base::fleet::plan::{EngineOptions, FleetSubject};
use expect_test::expect_file;

fn options() -> KubernetesOptions {
    KubernetesOptions {
        image: "registry.example/coretwin:1".to_owned(),
        namespace: Some("bench".to_owned()),
        node_selector: [("node-type".to_owned(), "zen4".to_owned())].into(),
        cpus: 8,
        memory: "4Gi".to_owned(),
        claim: None,
        deadline_s: Some(7200),
        allow_switch: false,
    }
}

fn plan(options: &KubernetesOptions) -> FleetPlan {
    let mut plan = draw(FleetRequest {
        engine: EngineOptions::Kubernetes(options.clone()),
        names: vec!["pod-0".to_owned(), "pod-1".to_owned()],
        machines: Vec::new(),
        program: "coretwin".to_owned(),
        subject: FleetSubject::Study(vec!["chat".to_owned()]),
        seed: 1,
    })
    .expect("a plan");
    plan.coretwin = "0".to_owned();
    plan.digest = "0123456789abcdef".repeat(4);
    plan
}

#[test]
fn the_job_is_guaranteed_and_each_pod_has_a_node() {
    let options = options();
    let text = job(&options, &plan(&options), &[0, 1], 0).expect("objects");
    expect_file!["snapshots/job.yml"].assert_eq(&text);
}

#[test]
fn only_who_says_so_gets_a_pod_that_may_switch() {
    let options =
        KubernetesOptions { allow_switch: true, claim: Some("shared".to_owned()), ..options() };
    let text = job(&options, &plan(&options), &[1], 2).expect("objects");
    expect_file!["snapshots/job-switch.yml"].assert_eq(&text);
}

#[test]
fn the_monitor_is_a_daemon_set() {
    expect_file!["snapshots/monitor.yml"].assert_eq(&monitor(&options()).expect("objects"));
}

#[test]
fn a_pod_tells_its_task() {
    let options = options();
    let plan = plan(&options);
    let pod = |index: &str| Pod {
        metadata: ObjectMeta {
            labels: Some(
                [(INDEX_LABEL, index), (TRY_LABEL, "3")]
                    .map(|(key, value)| (key.to_owned(), value.to_owned()))
                    .into(),
            ),
            ..ObjectMeta::default()
        },
        spec: Some(pod(&options, &plan, &[4, 7], "config")),
        status: None,
    };
    assert_eq!([task_of(&pod("1")), task_of(&pod("2"))], [Some(7), None]);
    assert_eq!(try_of(&pod("1")), Some(3));
}
