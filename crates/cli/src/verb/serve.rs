//! `coretwin serve`: a workload's server alone.

use crate::exit::{DONE, usage};
use crate::{out, signals};
use anyhow::Result;
use coretwin_base::schema::SCHEMA;
use coretwin_lab::launcher::worker_path;
use coretwin_workloads::chat::serve::{ChatOptions, Variant, serve_chat};
use coretwin_workloads::serve::ServeEvent;
use coretwin_workloads::tbench::protocol;
use coretwin_workloads::tbench::server::{TbenchOptions, serve_tbench};
use serde_json::json;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  coretwin serve chat &
  coretwin run chat:rooms=20,server=127.0.0.1:9999
  coretwin serve tbench &
  coretwin run tbench:clients=4,server=127.0.0.1:7003

The server of chat takes one client after the other, that of tbench all at once, until Ctrl-C. It \
listens on loopback unless told otherwise: the protocols ask nobody who he is. A client of chat has \
an hour for its run. tbench is that of \
dbench 4, whose clients are served too.")]
pub(crate) struct Args {
    /// Which server
    #[arg(value_parser = ["chat", "chat-futex", "chat-nodelay", "tbench", "tbench-threads"])]
    workload: String,
    /// Address to listen on
    #[arg(long, default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    address: IpAddr,
    /// Port to listen on; 0: any free one [default: 9999, of tbench 7003]
    #[arg(long)]
    port: Option<u16>,
    /// Users of a room of chat; the client must be told the same [default: 20]
    #[arg(long, value_parser = clap::value_parser!(u32).range(2..=1000))]
    users: Option<u32>,
    /// Size of a message of chat in bytes; the client must be told the same [default: 100]
    #[arg(long, value_parser = clap::value_parser!(u32).range(4..=65_536))]
    size: Option<u32>,
    /// Seconds that a client may be silent: of tbench at any time, of chat until its run begins
    /// [default: 60]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=3600))]
    patience: Option<u32>,
    /// End after one client; of tbench, when the last has gone
    #[arg(long)]
    once: bool,
    /// Print each event as a line of JSON
    #[arg(long)]
    json: bool,
}

impl Args {
    fn patience(&self) -> Duration {
        self.patience.map_or(ChatOptions::default().patience, |s| Duration::from_secs(s.into()))
    }

    /// Refuses what the server asked for would pass over.
    fn check(&self) -> Result<()> {
        let given = [("--users", self.users.is_some()), ("--size", self.size.is_some())];
        match given.iter().find(|(_, is_given)| *is_given && self.workload.starts_with("tbench")) {
            Some((option, _)) => {
                Err(usage(format!("{option} is an option of chat, not of {}", self.workload)))
            }
            None => Ok(()),
        }
    }
}

pub(crate) fn run(args: &Args) -> Result<u8> {
    args.check()?;
    if args.workload.starts_with("tbench") {
        return tbench(args);
    }
    let stop = signals::stop_flag()?;
    let options = ChatOptions {
        address: args.address,
        port: args.port.unwrap_or(ChatOptions::default().port),
        once: args.once,
        variant: match args.workload.as_str() {
            "chat-futex" => Variant::Futex,
            "chat-nodelay" => Variant::NoDelay,
            _ => Variant::Plain,
        },
        users: args.users.unwrap_or(ChatOptions::default().users),
        message_bytes: args.size.unwrap_or(ChatOptions::default().message_bytes),
        patience: args.patience(),
        ..ChatOptions::default()
    };
    serve_chat(&options, || stop.raised(), |event| tell(&event, args.json))?;
    Ok(DONE)
}

fn tbench(args: &Args) -> Result<u8> {
    let stop = signals::stop_flag()?;
    let options = TbenchOptions {
        address: SocketAddr::new(args.address, args.port.unwrap_or(protocol::PORT)),
        threads: args.workload == "tbench-threads",
        worker: worker_path().map_err(anyhow::Error::msg)?,
        patience: args.patience(),
        once: args.once,
    };
    serve_tbench(&options, || stop.raised(), |event| tell(&event, args.json))?;
    Ok(DONE)
}

fn tell(event: &ServeEvent, json: bool) {
    match json {
        // Whoever read the lines may have gone; clients are served all the same.
        true => drop(out::text(&format!("{}\n", record(event)))),
        false => out::news(&line(event)),
    }
}

fn record(event: &ServeEvent) -> serde_json::Value {
    match event {
        ServeEvent::Listening(address) => {
            json!({"schema": SCHEMA, "event": "listening", "address": address.to_string()})
        }
        ServeEvent::Started { rooms, messages } => {
            json!({"schema": SCHEMA, "event": "started", "rooms": rooms, "messages": messages})
        }
        ServeEvent::Served { received, sent, right } => json!({
            "schema": SCHEMA, "event": "served",
            "received": received, "sent": sent, "right": right,
        }),
        ServeEvent::Exchanged { exchanges, received_bytes, sent_bytes } => json!({
            "schema": SCHEMA, "event": "exchanged",
            "exchanges": exchanges, "received_bytes": received_bytes, "sent_bytes": sent_bytes,
        }),
        ServeEvent::Failed(why) => json!({"schema": SCHEMA, "event": "failed", "why": why}),
    }
}

fn line(event: &ServeEvent) -> String {
    match event {
        ServeEvent::Listening(address) => format!("listening on {address}; Ctrl-C ends"),
        ServeEvent::Started { rooms, messages } => {
            format!("a client wants {rooms} rooms with {messages} messages a user")
        }
        ServeEvent::Served { received, sent, right } => format!(
            "served: {received} messages received, {sent} sent{}",
            if *right { "" } else { "; these are NOT the right totals" }
        ),
        ServeEvent::Exchanged { exchanges, received_bytes, sent_bytes } => format!(
            "served: {exchanges} requests with {received_bytes} bytes, answered with {sent_bytes}"
        ),
        ServeEvent::Failed(why) => format!("a client failed: {why}"),
    }
}
