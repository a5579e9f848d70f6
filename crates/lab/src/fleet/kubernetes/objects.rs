//! The objects: a ConfigMap and a Job for the fleet, a DaemonSet for the live view.

use crate::fleet::identity::NODE_VARIABLE;
use crate::fleet::yaml;
use coretwin_base::fleet::plan::{FleetPlan, KubernetesOptions};
use coretwin_store::fleet_folder::FLEET;
use k8s_openapi::api::apps::v1::{DaemonSet, DaemonSetSpec};
use k8s_openapi::api::batch::v1::{Job, JobSpec};
use k8s_openapi::api::core::v1::{
    Affinity, ConfigMap, ConfigMapVolumeSource, Container, ContainerPort, EmptyDirVolumeSource,
    EnvVar, EnvVarSource, HostPathVolumeSource, ObjectFieldSelector,
    PersistentVolumeClaimVolumeSource, Pod, PodAffinityTerm, PodAntiAffinity, PodSpec,
    PodTemplateSpec, ResourceRequirements, SecurityContext, Volume, VolumeMount,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use serde::Serialize;
use std::collections::BTreeMap;

/// The label that the fleet's pods have, with the first digits of its digest.
pub(super) const FLEET_LABEL: &str = "coretwin-fleet";
const TRY_LABEL: &str = "coretwin-try";
const INDEX_LABEL: &str = "batch.kubernetes.io/job-completion-index";
/// Holds the tasks of a Job, in the order of its indexes.
const TASKS_VARIABLE: &str = "CORETWIN_TASKS";
/// How often the pods of a task may fail before it is given up.
const FAILURES_PER_TASK: i32 = 3;
const MONITOR: &str = "coretwin-top";
const MONITOR_PORT: i32 = 9741;

/// What `kubectl get pods -o json` prints.
#[derive(serde::Deserialize)]
pub(super) struct PodList {
    pub(super) items: Vec<Pod>,
}

/// ConfigMap and Job for these tasks; `tries` tells Jobs of one fleet apart.
pub(super) fn job(
    options: &KubernetesOptions,
    plan: &FleetPlan,
    tasks: &[u32],
    tries: u32,
) -> serde_json::Result<String> {
    let name = format!("coretwin-{}", plan.short());
    let labels = BTreeMap::from([
        (FLEET_LABEL.to_owned(), plan.short().to_owned()),
        (TRY_LABEL.to_owned(), tries.to_string()),
    ]);
    let meta = |name: &str| ObjectMeta {
        name: Some(name.to_owned()),
        namespace: options.namespace.clone(),
        labels: Some(labels.clone()),
        ..ObjectMeta::default()
    };
    let text = serde_json::to_string_pretty(plan)? + "\n";
    let config = ConfigMap {
        metadata: meta(&name),
        data: Some([(FLEET.to_owned(), text)].into()),
        immutable: Some(true),
        ..ConfigMap::default()
    };
    let count = tasks.len() as i32;
    let job = Job {
        metadata: meta(&format!("{name}-{tries}")),
        spec: Some(JobSpec {
            completion_mode: Some("Indexed".to_owned()),
            completions: Some(count),
            parallelism: Some(count),
            backoff_limit: Some(FAILURES_PER_TASK.saturating_mul(count)),
            active_deadline_seconds: options.deadline_s.map(|s| s as i64),
            template: PodTemplateSpec {
                metadata: Some(ObjectMeta { labels: Some(labels), ..ObjectMeta::default() }),
                spec: Some(pod(options, plan, tasks, &name)),
            },
            ..JobSpec::default()
        }),
        ..Job::default()
    };
    Ok(document(&config)? + &document(&job)?)
}

fn pod(options: &KubernetesOptions, plan: &FleetPlan, tasks: &[u32], config: &str) -> PodSpec {
    let fleet = BTreeMap::from([(FLEET_LABEL.to_owned(), plan.short().to_owned())]);
    let alone = PodAffinityTerm {
        label_selector: Some(LabelSelector { match_labels: Some(fleet), ..Default::default() }),
        topology_key: "kubernetes.io/hostname".to_owned(),
        ..PodAffinityTerm::default()
    };
    let mounts = [("plan", "/plan", true), ("fleet", "/fleet", false)];
    let mut volumes = vec![
        Volume {
            name: "plan".to_owned(),
            config_map: Some(ConfigMapVolumeSource {
                name: config.to_owned(),
                ..ConfigMapVolumeSource::default()
            }),
            ..Volume::default()
        },
        Volume {
            name: "fleet".to_owned(),
            empty_dir: options.claim.is_none().then(EmptyDirVolumeSource::default),
            persistent_volume_claim: options.claim.as_ref().map(|claim| {
                PersistentVolumeClaimVolumeSource { claim_name: claim.clone(), read_only: None }
            }),
            ..Volume::default()
        },
    ];
    let mut mounts: Vec<VolumeMount> =
        mounts.iter().map(|(name, path, read_only)| mount(name, path, *read_only)).collect();
    if options.allow_switch {
        // The switch, and what it saves for its undoing, are the node's own.
        for (name, path) in [("sys", "/sys"), ("undo", "/var/lib/coretwin"), ("run", "/run")] {
            volumes.push(host_path(name, path));
            mounts.push(mount(name, path, false));
        }
    }
    PodSpec {
        restart_policy: Some("OnFailure".to_owned()),
        // A study puts its machine back when it is told to end.
        termination_grace_period_seconds: Some(120),
        automount_service_account_token: Some(false),
        node_selector: Some(options.node_selector.clone()).filter(|labels| !labels.is_empty()),
        affinity: Some(Affinity {
            pod_anti_affinity: Some(PodAntiAffinity {
                required_during_scheduling_ignored_during_execution: Some(vec![alone]),
                ..PodAntiAffinity::default()
            }),
            ..Affinity::default()
        }),
        host_pid: options.allow_switch.then_some(true),
        containers: vec![Container {
            name: "study".to_owned(),
            image: Some(options.image.clone()),
            command: Some(command(options, plan)),
            env: Some(variables(tasks)),
            resources: Some(resources(options)),
            security_context: Some(SecurityContext {
                privileged: options.allow_switch.then_some(true),
                allow_privilege_escalation: (!options.allow_switch).then_some(false),
                ..SecurityContext::default()
            }),
            volume_mounts: Some(mounts),
            ..Container::default()
        }],
        volumes: Some(volumes),
        ..PodSpec::default()
    }
}

fn command(options: &KubernetesOptions, plan: &FleetPlan) -> Vec<String> {
    let words = [
        &plan.program,
        "fleet",
        "run",
        "/fleet",
        "--here",
        "--plan",
        "/plan/fleet.json",
        "--task-of-index",
        "$(CORETWIN_TASKS)",
    ];
    let mut words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
    if options.claim.is_none() {
        words.push("--print-bundle".to_owned());
    }
    words
}

fn variables(tasks: &[u32]) -> Vec<EnvVar> {
    let tasks: Vec<String> = tasks.iter().map(u32::to_string).collect();
    vec![
        EnvVar {
            name: NODE_VARIABLE.to_owned(),
            value_from: Some(EnvVarSource {
                field_ref: Some(ObjectFieldSelector {
                    field_path: "spec.nodeName".to_owned(),
                    api_version: None,
                }),
                ..EnvVarSource::default()
            }),
            ..EnvVar::default()
        },
        EnvVar {
            name: TASKS_VARIABLE.to_owned(),
            value: Some(tasks.join(",")),
            ..EnvVar::default()
        },
    ]
}

/// Requests equal limits, and CPUs are whole: Guaranteed, so that a node with the static policy of the
/// CPU manager gives CPUs that nobody else gets.
fn resources(options: &KubernetesOptions) -> ResourceRequirements {
    let all = BTreeMap::from([
        ("cpu".to_owned(), Quantity(options.cpus.to_string())),
        ("memory".to_owned(), Quantity(options.memory.clone())),
    ]);
    ResourceRequirements { requests: Some(all.clone()), limits: Some(all), claims: None }
}

fn mount(name: &str, path: &str, read_only: bool) -> VolumeMount {
    VolumeMount {
        name: name.to_owned(),
        mount_path: path.to_owned(),
        read_only: read_only.then_some(true),
        ..VolumeMount::default()
    }
}

fn host_path(name: &str, path: &str) -> Volume {
    Volume {
        name: name.to_owned(),
        host_path: Some(HostPathVolumeSource {
            path: path.to_owned(),
            type_: Some("DirectoryOrCreate".to_owned()),
        }),
        ..Volume::default()
    }
}

/// The live view on every node, for a monitor to read.
pub(super) fn monitor(options: &KubernetesOptions) -> serde_json::Result<String> {
    let labels = BTreeMap::from([("app".to_owned(), MONITOR.to_owned())]);
    let metadata = ObjectMeta {
        name: Some(MONITOR.to_owned()),
        namespace: options.namespace.clone(),
        labels: Some(labels.clone()),
        ..ObjectMeta::default()
    };
    let scraped = [
        ("prometheus.io/scrape", "true".to_owned()),
        ("prometheus.io/port", MONITOR_PORT.to_string()),
    ];
    let address = format!("0.0.0.0:{MONITOR_PORT}");
    let words = ["coretwin", "top", "--openmetrics", &address, "--allow-remote"];
    let small = BTreeMap::from([
        ("cpu".to_owned(), Quantity("100m".to_owned())),
        ("memory".to_owned(), Quantity("128Mi".to_owned())),
    ]);
    let set = DaemonSet {
        metadata,
        spec: Some(DaemonSetSpec {
            selector: LabelSelector { match_labels: Some(labels.clone()), ..Default::default() },
            template: PodTemplateSpec {
                metadata: Some(ObjectMeta {
                    labels: Some(labels),
                    annotations: Some(
                        scraped.into_iter().map(|(key, value)| (key.to_owned(), value)).collect(),
                    ),
                    ..ObjectMeta::default()
                }),
                spec: Some(PodSpec {
                    // It sees the node's tasks, and changes nothing of them.
                    host_pid: Some(true),
                    automount_service_account_token: Some(false),
                    node_selector: Some(options.node_selector.clone())
                        .filter(|labels| !labels.is_empty()),
                    containers: vec![Container {
                        name: "top".to_owned(),
                        image: Some(options.image.clone()),
                        command: Some(words.iter().map(|&word| word.to_owned()).collect()),
                        ports: Some(vec![ContainerPort {
                            name: Some("metrics".to_owned()),
                            container_port: MONITOR_PORT,
                            ..ContainerPort::default()
                        }]),
                        resources: Some(ResourceRequirements {
                            requests: Some(small),
                            ..ResourceRequirements::default()
                        }),
                        security_context: Some(SecurityContext {
                            allow_privilege_escalation: Some(false),
                            read_only_root_filesystem: Some(true),
                            ..SecurityContext::default()
                        }),
                        ..Container::default()
                    }],
                    ..PodSpec::default()
                }),
            },
            ..DaemonSetSpec::default()
        }),
        ..DaemonSet::default()
    };
    document(&set)
}

fn document<T: Serialize>(object: &T) -> serde_json::Result<String> {
    Ok(yaml::document(&serde_json::to_value(object)?))
}

/// The task of a pod: its index in the list of its Job.
pub(super) fn task_of(pod: &Pod) -> Option<u32> {
    let index: usize = pod.metadata.labels.as_ref()?.get(INDEX_LABEL)?.parse().ok()?;
    let variables = pod.spec.as_ref()?.containers.first()?.env.as_ref()?;
    let tasks = variables.iter().find(|variable| variable.name == TASKS_VARIABLE)?;
    tasks.value.as_ref()?.split(',').nth(index)?.parse().ok()
}

/// Which Job of the fleet a pod is of.
pub(super) fn try_of(pod: &Pod) -> Option<u32> {
    pod.metadata.labels.as_ref()?.get(TRY_LABEL)?.parse().ok()
}

/// What a pod does; empty if it is not said.
pub(super) fn phase(pod: &Pod) -> &str {
    pod.status.as_ref().and_then(|status| status.phase.as_deref()).unwrap_or_default()
}

#[cfg(test)]
mod tests;
