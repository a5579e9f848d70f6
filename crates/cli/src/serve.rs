//! `coretwin serve`: a workload's server alone.

use crate::{out, signals};
use anyhow::Result;
use coretwin_workloads::serve::{ServeEvent, ServeOptions, Variant, serve_chat};
use std::net::{IpAddr, Ipv4Addr};
use std::process::ExitCode;

/// Options of the verb.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  coretwin serve chat &
  coretwin run chat:rooms=20,server=127.0.0.1:9999

The server takes one client after the other, until Ctrl-C. It listens on loopback unless told
otherwise: the protocol asks nobody who he is.")]
pub(crate) struct Args {
    /// Which server
    #[arg(value_parser = ["chat", "chat-futex", "chat-nodelay"])]
    workload: String,
    /// Address to listen on
    #[arg(long, default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    address: IpAddr,
    /// Port to listen on; 0: any free one
    #[arg(long, default_value_t = 9999)]
    port: u16,
    /// Users of a room; the client must be told the same
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(2..=1000))]
    users: u32,
    /// Size of a message in bytes; the client must be told the same
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(4..=65_536))]
    size: u32,
    /// End after one client
    #[arg(long)]
    once: bool,
}

/// Runs the verb.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let stop = signals::stop_flag()?;
    let options = ServeOptions {
        address: args.address,
        port: args.port,
        once: args.once,
        variant: match args.workload.as_str() {
            "chat-futex" => Variant::Futex,
            "chat-nodelay" => Variant::NoDelay,
            _ => Variant::Plain,
        },
        users: args.users,
        message_bytes: args.size,
    };
    serve_chat(&options, || stop.raised(), |event| out::news(&line(&event)))?;
    Ok(ExitCode::SUCCESS)
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
        ServeEvent::Failed(why) => format!("a client failed: {why}"),
    }
}
