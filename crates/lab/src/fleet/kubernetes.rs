//! A Kubernetes cluster: an indexed Job, a pod a task, each alone on its node with whole CPUs.
//!
//! The plan comes to the pods as a ConfigMap. Bundles come back in the pods' logs; or stay in the
//! fleet's folder on a claim that many nodes may write to, where a study is gone on with even after
//! its pod was deleted.

mod objects;

use super::child::{asked_for, is_plain_name};
use super::engine::{Call, Engine, Known, numbered, seconds};
use super::task::unwritable;
use crate::error::Error;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use coretwin_base::caps;
use coretwin_base::fleet::plan::FleetPlan;
use coretwin_store::Extent;
use coretwin_store::fleet_bundle::FleetBundle;
use coretwin_store::fleet_folder::{BUNDLES, FleetFolder};
use objects::{Pod, Status};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Seek, Write};
use std::process::ChildStdout;

const KUBERNETES_FILE: &str = "kubernetes.yaml";
/// The live view as a DaemonSet, for those who want it.
const MONITOR_FILE: &str = "kubernetes-monitor.yaml";
/// Begins every line of a log that belongs to a bundle.
const LOG_MARK: &str = "coretwin-bundle:";
/// Bytes of a bundle in a line of a log.
const LOG_BYTES: usize = 6_000;

#[derive(Debug, Clone, clap::Args, Serialize, Deserialize)]
pub(super) struct Kubernetes {
    /// Image with the program
    #[arg(long, help_heading = "Kubernetes")]
    image: Option<String>,
    /// Namespace
    // None: that of the context.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[arg(long, help_heading = "Kubernetes")]
    namespace: Option<String>,
    /// Label that a node must have, as KEY=VALUE, repeatable
    #[serde(skip)]
    #[arg(long = "node-label", value_name = "KEY=VALUE", help_heading = "Kubernetes")]
    node_labels: Vec<String>,
    /// These labels by key.
    #[arg(skip)]
    node_selector: BTreeMap<String, String>,
    /// CPUs of a pod: whole ones, so that they are its own
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(2..=100_000), help_heading = "Kubernetes")]
    cpus: u32,
    /// Memory of a pod
    #[arg(long, default_value = "4Gi", help_heading = "Kubernetes")]
    memory: String,
    /// Keep the fleet's folder on this claim, which many nodes may write to [default: bundles come back
    /// in the pods' logs]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[arg(long, help_heading = "Kubernetes")]
    claim: Option<String>,
    /// Longest time of the whole Job
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[arg(long = "deadline", value_name = "TIME", value_parser = seconds, help_heading = "Kubernetes")]
    deadline_s: Option<u64>,
    /// Let pods switch SMT of their nodes; they are privileged then
    #[arg(long, help_heading = "Kubernetes")]
    allow_switch: bool,
}

impl Engine for Kubernetes {
    fn draw(&mut self, wanted: Option<usize>) -> Result<Vec<String>, String> {
        self.read()?;
        numbered("pod", wanted, "")
    }

    fn no_switch(&self) -> Option<&'static str> {
        (!self.allow_switch).then_some(
            "a pod does not switch SMT of its node; if it may, say --allow-switch, and the pods \
             are privileged",
        )
    }

    fn note(&self) -> Option<&'static str> {
        self.allow_switch
            .then_some("the pods are privileged and may switch SMT of their nodes, as you said")
    }

    fn task_here(&self, of: &[u32]) -> Result<u32, String> {
        let index = std::env::var("JOB_COMPLETION_INDEX").ok();
        let index = index.and_then(|index| index.parse::<usize>().ok());
        index.and_then(|index| of.get(index)).copied().ok_or_else(|| {
            "--task-of-index: JOB_COMPLETION_INDEX is not set, or not one of them".to_owned()
        })
    }

    fn files(&self, _: &FleetFolder, plan: &FleetPlan) -> Result<Vec<(String, String)>, Error> {
        let tasks: Vec<u32> = plan.tasks.iter().map(|task| task.number).collect();
        let job = objects::job(self, plan, &tasks, 0).map_err(wrong)?;
        Ok(vec![
            (KUBERNETES_FILE.to_owned(), objects::text(&job)),
            (MONITOR_FILE.to_owned(), objects::text(&[objects::monitor(self)])),
        ])
    }

    fn run(&self, call: &Call<'_>, tasks: &[u32]) -> Result<BTreeMap<u32, Known>, Error> {
        let (pods, mut known) = self.pods(call)?;
        let lives = |task: &u32| !matches!(known.get(task), None | Some(Known::Failed(_)));
        let free: Vec<u32> = tasks.iter().copied().filter(|task| !lives(task)).collect();
        if free.is_empty() {
            return Ok(known);
        }
        // A Job cannot be changed once it is there; what is missing gets one of its own.
        let tries = pods.iter().filter_map(Pod::tries).max().map_or(0, |last| last + 1);
        let name = if tries == 0 {
            KUBERNETES_FILE.to_owned()
        } else {
            let name = format!("kubernetes-{tries}.yaml");
            let job = objects::job(self, call.plan, &free, tries).map_err(wrong)?;
            call.fleet.write(&name, objects::text(&job).as_bytes()).map_err(unwritable)?;
            name
        };
        let file = call.fleet.path(&name).display().to_string();
        let said = self.kubectl(&["apply", "-f", &file])?;
        said.lines().for_each(|line| (call.say)(line));
        let about = "given to the cluster".to_owned();
        known.extend(free.into_iter().map(|task| (task, Known::Waiting(about.clone()))));
        Ok(known)
    }

    fn look(&self, call: &Call<'_>, tasks: &[u32]) -> Result<BTreeMap<u32, Known>, Error> {
        let (pods, mut known) = self.pods(call)?;
        for pod in &pods {
            let Some(task) = pod.task().filter(|task| tasks.contains(task)) else {
                continue;
            };
            let ended = pod.status.phase == "Succeeded";
            if ended && self.claim.is_none() {
                let name = pod.metadata.name.clone().unwrap_or_default();
                if let Err(why) = self.fetch(call, task, &name)? {
                    known.insert(task, Known::Failed(format!("pod {name}: {why}")));
                }
            }
        }
        known.retain(|task, _| tasks.contains(task));
        Ok(known)
    }
}

impl Kubernetes {
    fn read(&mut self) -> Result<(), String> {
        let image = self.image.as_ref();
        let image = image.ok_or("say which image has the program: --image IMAGE")?;
        for (option, text, what, is_good) in [
            ("--image", Some(image), "an image", is_image as fn(&str) -> bool),
            ("--namespace", self.namespace.as_ref(), "a namespace", is_dns_label),
            ("--claim", self.claim.as_ref(), "a claim", is_dns_name),
        ] {
            if let Some(text) = text.filter(|text| !is_good(text)) {
                return Err(format!("{option}: '{text}' is no name of {what}"));
            }
        }
        let label = |text: &String| {
            let (key, value) = text
                .split_once('=')
                .ok_or_else(|| format!("--node-label: '{text}' is not KEY=VALUE"))?;
            Ok::<_, String>((key.to_owned(), value.to_owned()))
        };
        self.node_selector = self.node_labels.iter().map(label).collect::<Result<_, _>>()?;
        Ok(())
    }

    fn pods(&self, call: &Call<'_>) -> Result<(Vec<Pod>, BTreeMap<u32, Known>), Error> {
        let label = format!("{}={}", objects::FLEET_LABEL, call.plan.short());
        let text = self.kubectl(&["get", "pods", "-o", "json", "-l", &label])?;
        let list: objects::PodList = serde_json::from_str(&text)
            .map_err(|error| Error::NotPossible(format!("kubectl get pods: {error}")))?;
        let mut pods = list.items;
        pods.sort_by_key(Pod::tries);
        let known = pods.iter().filter_map(|pod| Some((pod.task()?, judged(pod)?)));
        let known = known.collect();
        Ok((pods, known))
    }

    fn kubectl(&self, words: &[&str]) -> Result<String, Error> {
        let text = self.kubectl_for(words, |out| caps::ANSWER.read(out))?;
        Ok(String::from_utf8_lossy(&text).into_owned())
    }

    fn fetch(&self, call: &Call<'_>, task: u32, pod: &str) -> Result<Result<(), String>, Error> {
        let home = call.fleet.path(BUNDLES);
        let part = home.join(format!(".part-{task}"));
        let unwritable = |error: io::Error| {
            Error::NotPossible(format!("cannot write {}: {error}", part.display()))
        };
        fs::create_dir_all(&part).map_err(unwritable)?;
        let log = part.join("log");
        let mut file = File::create(&log).map_err(unwritable)?;
        let found = self.kubectl_for(&["logs", pod], |out| of_log(BufReader::new(out), &mut file));
        let kept = found.map(|name| {
            let fetched = part.join(name?);
            let plain = |error: io::Error| error.to_string();
            fs::rename(&log, &fetched).map_err(plain)?;
            FleetBundle::read(&fetched, Extent::Report).map_err(|error| error.to_string())?;
            fs::rename(&fetched, home.join(fetched.file_name().unwrap_or_default())).map_err(plain)
        });
        let _ = fs::remove_dir_all(&part);
        kept
    }

    fn kubectl_for<T>(
        &self,
        words: &[&str],
        take: impl FnOnce(&mut ChildStdout) -> io::Result<T>,
    ) -> Result<T, Error> {
        let namespace = self.namespace.as_ref().map(|name| format!("--namespace={name}"));
        let args: Vec<&str> =
            namespace.as_deref().into_iter().chain(words.iter().copied()).collect();
        match asked_for("kubectl", &args, take) {
            Ok(Some(said)) => Ok(said),
            Ok(None) => Err(Error::NotPossible(format!(
                "there is no kubectl here; where there is one, run: kubectl apply -f \
                 {KUBERNETES_FILE}, and when the Job is done fetch the bundles with kubectl logs"
            ))),
            Err(why) => Err(Error::NotPossible(format!("kubectl: {why}"))),
        }
    }
}

/// A name as Kubernetes has it for namespaces (RFC 1123, a label).
fn is_dns_label(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    (1..=63).contains(&text.len())
        && text.bytes().all(|byte| plain(byte) || byte == b'-')
        && text.bytes().next().is_some_and(plain)
        && text.bytes().next_back().is_some_and(plain)
}

fn is_dns_name(text: &str) -> bool {
    text.len() <= 253 && text.split('.').all(is_dns_label)
}

fn is_image(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-/:@".contains(&byte))
}

fn wrong(error: serde_json::Error) -> Error {
    Error::NotPossible(format!("cannot write the objects for Kubernetes: {error}"))
}

/// What a pod says of its task; `None` if it ended well, of which the bundle tells.
fn judged(pod: &Pod) -> Option<Known> {
    let name = pod.metadata.name.as_deref().unwrap_or("unnamed");
    let node = pod.spec.node_name.as_deref().unwrap_or("no node");
    let message = || {
        let Status { message, reason, conditions, .. } = &pod.status;
        let refused = conditions.iter().find(|one| one.status == "False");
        let said = message.as_deref().or(reason.as_deref());
        said.or(refused.and_then(|one| one.message.as_deref())).unwrap_or("its log says why")
    };
    Some(match pod.status.phase.as_str() {
        "Succeeded" => return None,
        "Running" => Known::Running(format!("pod {name} on {node}")),
        "Failed" => Known::Failed(format!("pod {name} on {node}: {}", message())),
        _ => Known::Waiting(format!("pod {name}: {}", message())),
    })
}

pub fn as_log(path: &std::path::Path) -> io::Result<String> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let bytes = caps::BUNDLE.read(File::open(path)?)?;
    let mut text = format!("{LOG_MARK} name {name}\n");
    for part in bytes.chunks(LOG_BYTES) {
        text += &format!("{LOG_MARK} part {}\n", STANDARD.encode(part));
    }
    Ok(text + &format!("{LOG_MARK} end {}\n", bytes.len()))
}

/// Writes the bytes of the last bundle in a log into a file; its name, or why there is none.
fn of_log(mut log: impl BufRead, file: &mut File) -> io::Result<Result<String, String>> {
    let (mut name, mut length, mut whole, mut line) = (String::new(), 0, false, Vec::new());
    while caps::LINE.line(&mut log, &mut line)? > 0 {
        let line = String::from_utf8_lossy(&line);
        match line.strip_prefix(LOG_MARK).and_then(|line| line.trim().split_once(' ')) {
            Some(("name", new)) => {
                (name, length, whole) = (new.to_owned(), 0, false);
                file.set_len(0)?;
                file.rewind()?;
            }
            Some(("part", part)) => {
                // Half a line is missing like a whole one: the length will not be right.
                let bytes = STANDARD.decode(part).unwrap_or_default();
                length += bytes.len() as u64;
                if length > caps::BUNDLE.bytes {
                    return Err(caps::BUNDLE.exceeded());
                }
                file.write_all(&bytes)?;
            }
            Some(("end", end)) => whole = end.parse() == Ok(length),
            _ => {}
        }
    }
    if !whole || !is_plain_name(&name) {
        let why = "its log holds no whole bundle; the node may have cut the log off";
        return Ok(Err(why.to_owned()));
    }
    Ok(Ok(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bundle_comes_back_out_of_a_log_between_other_lines() {
        let folder = tempfile::tempdir().expect("folder");
        let path = folder.path().join("m-1.tar.gz");
        let bytes: Vec<u8> = (0..20_000u32).map(|n| (n % 251) as u8).collect();
        fs::write(&path, &bytes).expect("write");
        let log = as_log(&path).expect("log");
        let mixed = log.replace('\n', "\n17:00 something else\n");
        let out = folder.path().join("out");
        let of_log = |log: &str| {
            let mut file = File::create(&out).expect("file");
            of_log(log.as_bytes(), &mut file).expect("written")
        };
        assert_eq!(of_log(&(log.clone() + &mixed)), Ok("m-1.tar.gz".to_owned()));
        assert_eq!(fs::read(&out).expect("bundle"), bytes);
        let cut = &log[..log.len() / 2];
        assert!(of_log(cut).expect_err("cut").contains("no whole bundle"));
        assert!(of_log(&log.replace("m-1", "../m")).is_err());
    }
}
