//! The objects as they are written; and what is read of pods.

use super::*;
use crate::fleet::plan::draw;
use coretwin_base::fleet::plan::{EngineOptions, FleetSubject};
use expect_test::expect_file;
use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::ConfigMap;
use serde::Serialize;
use serde::de::DeserializeOwned;

fn options() -> Kubernetes {
    Kubernetes {
        image: Some("registry.example/coretwin:1".to_owned()),
        namespace: Some("bench".to_owned()),
        node_labels: Vec::new(),
        node_selector: [("node-type".to_owned(), "zen4".to_owned())].into(),
        cpus: 8,
        memory: "4Gi".to_owned(),
        claim: None,
        deadline_s: Some(7200),
        allow_switch: false,
    }
}

fn plan(options: &Kubernetes) -> FleetPlan {
    let engine = EngineOptions::of("kubernetes", options).expect("options");
    let names = vec!["pod-0".to_owned(), "pod-1".to_owned()];
    let study = FleetSubject::Study(vec!["chat".to_owned()]);
    let mut plan = draw(engine, names, &[], "coretwin".to_owned(), study, 1).expect("a plan");
    plan.coretwin = "0".to_owned();
    plan.digest = "0123456789abcdef".repeat(4);
    plan
}

#[test]
fn the_job_is_guaranteed_and_each_pod_has_a_node() {
    let options = options();
    let job = job(&options, &plan(&options), &[0, 1], 0).expect("objects");
    expect_file!["snapshots/job.yml"].assert_eq(&text(&job));
}

#[test]
fn only_who_says_so_gets_a_pod_that_may_switch() {
    let options = Kubernetes { allow_switch: true, claim: Some("shared".to_owned()), ..options() };
    let job = job(&options, &plan(&options), &[1], 2).expect("objects");
    expect_file!["snapshots/job-switch.yml"].assert_eq(&text(&job));
}

/// Kubernetes' own types leave out what they do not know.
fn only_known<Object: Serialize + DeserializeOwned>(object: &Value) {
    let known: Object = serde_json::from_value(object.clone()).expect("an object");
    assert_eq!(serde_json::to_value(&known).expect("JSON"), *object);
}

#[test]
fn no_object_has_a_field_that_kubernetes_does_not_know() {
    let more = Kubernetes { allow_switch: true, claim: Some("shared".to_owned()), ..options() };
    for options in [options(), more] {
        let [config, job] = job(&options, &plan(&options), &[0, 1], 0).expect("objects");
        only_known::<ConfigMap>(&config);
        only_known::<Job>(&job);
        only_known::<DaemonSet>(&monitor(&options));
    }
}

#[test]
fn the_monitor_is_a_daemon_set() {
    expect_file!["snapshots/monitor.yml"].assert_eq(&text(&[monitor(&options())]));
}

#[test]
fn a_pod_tells_its_task() {
    let options = options();
    let plan = plan(&options);
    let pod = |index: &str| -> Pod {
        let labels = json!({ INDEX_LABEL: index, TRY_LABEL: "3" });
        let spec = pod(&options, &plan, &[4, 7], "config");
        serde_json::from_value(json!({ "metadata": { "labels": labels }, "spec": spec }))
            .expect("a pod")
    };
    assert_eq!([pod("1").task(), pod("2").task()], [Some(7), None]);
    assert_eq!(pod("1").tries(), Some(3));
}
