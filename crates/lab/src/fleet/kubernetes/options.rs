//! What the user says of a Kubernetes cluster.

use crate::fleet::engine::seconds;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A Kubernetes cluster.
#[derive(Debug, Clone, clap::Args, Serialize, Deserialize)]
pub(in crate::fleet) struct Kubernetes {
    /// Image with the program
    #[arg(long, help_heading = "Kubernetes")]
    pub(super) image: Option<String>,
    /// Namespace
    // None: that of the context.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[arg(long, help_heading = "Kubernetes")]
    pub(super) namespace: Option<String>,
    /// Label that a node must have, as KEY=VALUE, repeatable
    #[serde(skip)]
    #[arg(long = "node-label", value_name = "KEY=VALUE", help_heading = "Kubernetes")]
    pub(super) node_labels: Vec<String>,
    /// These labels by key.
    #[arg(skip)]
    pub(super) node_selector: BTreeMap<String, String>,
    /// CPUs of a pod: whole ones, so that they are its own
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(2..=100_000), help_heading = "Kubernetes")]
    pub(super) cpus: u32,
    /// Memory of a pod
    #[arg(long, default_value = "4Gi", help_heading = "Kubernetes")]
    pub(super) memory: String,
    /// Keep the fleet's folder on this claim, which many nodes may write to [default: bundles come back
    /// in the pods' logs]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[arg(long, help_heading = "Kubernetes")]
    pub(super) claim: Option<String>,
    /// Longest time of the whole Job
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[arg(long = "deadline", value_name = "TIME", value_parser = seconds, help_heading = "Kubernetes")]
    pub(super) deadline_s: Option<u64>,
    /// Let pods switch SMT of their nodes; they are privileged then
    #[arg(long, help_heading = "Kubernetes")]
    pub(super) allow_switch: bool,
}

impl Kubernetes {
    /// Reads the labels, and checks the names.
    ///
    /// # Errors
    /// Naming the option.
    pub(super) fn read(&mut self) -> Result<(), String> {
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
}

/// A name as Kubernetes has it for namespaces (RFC 1123, a label).
fn is_dns_label(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    (1..=63).contains(&text.len())
        && text.bytes().all(|byte| plain(byte) || byte == b'-')
        && text.bytes().next().is_some_and(plain)
        && text.bytes().next_back().is_some_and(plain)
}

/// The same for claims: labels with points between them.
fn is_dns_name(text: &str) -> bool {
    text.len() <= 253 && text.split('.').all(is_dns_label)
}

fn is_image(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-/:@".contains(&byte))
}
