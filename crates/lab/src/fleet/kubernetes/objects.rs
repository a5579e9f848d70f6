//! The objects that are handed to the cluster (a ConfigMap and a Job for the fleet, a DaemonSet for the live
//! view), and what is read of its pods. In an object a field without a value is left out.

use super::Kubernetes;
use crate::fleet::identity::NODE_VARIABLE;
use crate::fleet::yaml;
use coretwin_base::fleet::plan::FleetPlan;
use coretwin_store::fleet_folder::FLEET;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The label that the fleet's pods have, with the first digits of its digest.
pub(super) const FLEET_LABEL: &str = "coretwin-fleet";
const TRY_LABEL: &str = "coretwin-try";
const INDEX_LABEL: &str = "batch.kubernetes.io/job-completion-index";
/// Holds the tasks of a Job, in the order of its indexes.
const TASKS_VARIABLE: &str = "CORETWIN_TASKS";
/// How often the pods of a task may fail before it is given up.
const FAILURES_PER_TASK: usize = 3;
const MONITOR: &str = "coretwin-top";
const MONITOR_PORT: u16 = 9741;

pub(super) fn job(
    options: &Kubernetes,
    plan: &FleetPlan,
    tasks: &[u32],
    tries: u32,
) -> serde_json::Result<[Value; 2]> {
    let name = format!("coretwin-{}", plan.short());
    let labels = json!({ FLEET_LABEL: plan.short(), TRY_LABEL: tries.to_string() });
    let metadata =
        |name: &str| json!({ "name": name, "namespace": options.namespace, "labels": labels });
    let config = json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata(&name),
        "data": { FLEET: serde_json::to_string_pretty(plan)? + "\n" },
        "immutable": true,
    });
    let job = json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": metadata(&format!("{name}-{tries}")),
        "spec": {
            "completionMode": "Indexed",
            "completions": tasks.len(),
            "parallelism": tasks.len(),
            "backoffLimit": FAILURES_PER_TASK * tasks.len(),
            "activeDeadlineSeconds": options.deadline_s,
            "template": {
                "metadata": { "labels": labels },
                "spec": pod(options, plan, tasks, &name),
            },
        },
    });
    Ok([config, job].map(filled))
}

fn pod(options: &Kubernetes, plan: &FleetPlan, tasks: &[u32], config: &str) -> Value {
    let tasks: Vec<String> = tasks.iter().map(u32::to_string).collect();
    let alone = json!({
        "labelSelector": { "matchLabels": { FLEET_LABEL: plan.short() } },
        "topologyKey": "kubernetes.io/hostname",
    });
    // Requests equal limits, and CPUs are whole: Guaranteed, so that a node with the static policy of the
    // CPU manager gives CPUs that nobody else gets.
    let resources = json!({ "cpu": options.cpus.to_string(), "memory": options.memory });
    let mut mounts = vec![
        json!({ "name": "plan", "mountPath": "/plan", "readOnly": true }),
        json!({ "name": "fleet", "mountPath": "/fleet" }),
    ];
    let mut volumes = vec![
        json!({ "name": "plan", "configMap": { "name": config } }),
        match &options.claim {
            Some(claim) => {
                json!({ "name": "fleet", "persistentVolumeClaim": { "claimName": claim } })
            }
            None => json!({ "name": "fleet", "emptyDir": {} }),
        },
    ];
    if options.allow_switch {
        // The switch, and what it saves for its undoing, are the node's own.
        for (name, path) in [("sys", "/sys"), ("undo", "/var/lib/coretwin"), ("run", "/run")] {
            let folder = json!({ "path": path, "type": "DirectoryOrCreate" });
            volumes.push(json!({ "name": name, "hostPath": folder }));
            mounts.push(json!({ "name": name, "mountPath": path }));
        }
    }
    json!({
        "restartPolicy": "OnFailure",
        // A study puts its machine back when it is told to end.
        "terminationGracePeriodSeconds": 120,
        "automountServiceAccountToken": false,
        "nodeSelector": node_selector(options),
        "affinity": {
            "podAntiAffinity": { "requiredDuringSchedulingIgnoredDuringExecution": [alone] },
        },
        "hostPID": options.allow_switch.then_some(true),
        "containers": [{
            "name": "study",
            "image": options.image,
            "command": command(options, plan),
            "env": [
                { "name": NODE_VARIABLE, "valueFrom": { "fieldRef": { "fieldPath": "spec.nodeName" } } },
                { "name": TASKS_VARIABLE, "value": tasks.join(",") },
            ],
            "resources": { "requests": resources, "limits": resources },
            "securityContext": {
                "privileged": options.allow_switch.then_some(true),
                "allowPrivilegeEscalation": (!options.allow_switch).then_some(false),
            },
            "volumeMounts": mounts,
        }],
        "volumes": volumes,
    })
}

fn node_selector(options: &Kubernetes) -> Option<&BTreeMap<String, String>> {
    Some(&options.node_selector).filter(|labels| !labels.is_empty())
}

fn command<'a>(options: &Kubernetes, plan: &'a FleetPlan) -> Vec<&'a str> {
    let mut words = vec![plan.program.as_str(), "fleet", "run", "/fleet", "--here"];
    words.extend(["--plan", "/plan/fleet.json", "--task-of-index", "$(CORETWIN_TASKS)"]);
    words.extend(options.claim.is_none().then_some("--print-bundle"));
    words
}

pub(super) fn monitor(options: &Kubernetes) -> Value {
    let labels = json!({ "app": MONITOR });
    let address = format!("0.0.0.0:{MONITOR_PORT}");
    filled(json!({
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": { "name": MONITOR, "namespace": options.namespace, "labels": labels },
        "spec": {
            "selector": { "matchLabels": labels },
            "template": {
                "metadata": {
                    "labels": labels,
                    "annotations": {
                        "prometheus.io/scrape": "true",
                        "prometheus.io/port": MONITOR_PORT.to_string(),
                    },
                },
                "spec": {
                    // It sees the node's tasks, and changes nothing of them.
                    "hostPID": true,
                    "automountServiceAccountToken": false,
                    "nodeSelector": node_selector(options),
                    "containers": [{
                        "name": "top",
                        "image": options.image,
                        "command": ["coretwin", "top", "--openmetrics", address, "--allow-remote"],
                        "ports": [{ "name": "metrics", "containerPort": MONITOR_PORT }],
                        "resources": { "requests": { "cpu": "100m", "memory": "128Mi" } },
                        "securityContext": {
                            "allowPrivilegeEscalation": false,
                            "readOnlyRootFilesystem": true,
                        },
                    }],
                },
            },
        },
    }))
}

fn filled(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let known = fields.into_iter().filter(|(_, field)| !field.is_null());
            known.map(|(name, field)| (name, filled(field))).collect()
        }
        Value::Array(items) => items.into_iter().map(filled).collect(),
        plain => plain,
    }
}

pub(super) fn text(objects: &[Value]) -> String {
    objects.iter().map(yaml::document).collect()
}

#[derive(Deserialize)]
pub(super) struct PodList {
    pub(super) items: Vec<Pod>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Pod {
    pub(super) metadata: Metadata,
    pub(super) spec: Spec,
    pub(super) status: Status,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Metadata {
    pub(super) name: Option<String>,
    labels: BTreeMap<String, String>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Spec {
    pub(super) node_name: Option<String>,
    containers: Vec<Container>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Container {
    env: Vec<Variable>,
}

#[derive(Deserialize)]
struct Variable {
    name: String,
    value: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Status {
    /// What the pod does; empty if it is not said.
    pub(super) phase: String,
    pub(super) message: Option<String>,
    pub(super) reason: Option<String>,
    pub(super) conditions: Vec<Condition>,
}

#[derive(Deserialize)]
pub(super) struct Condition {
    pub(super) status: String,
    pub(super) message: Option<String>,
}

impl Pod {
    pub(super) fn task(&self) -> Option<u32> {
        let index: usize = self.metadata.labels.get(INDEX_LABEL)?.parse().ok()?;
        let mut variables = self.spec.containers.first()?.env.iter();
        let tasks = variables.find(|variable| variable.name == TASKS_VARIABLE)?;
        tasks.value.as_ref()?.split(',').nth(index)?.parse().ok()
    }

    pub(super) fn tries(&self) -> Option<u32> {
        self.metadata.labels.get(TRY_LABEL)?.parse().ok()
    }
}

#[cfg(test)]
mod tests;
