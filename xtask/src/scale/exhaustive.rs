//! `cargo xtask scale exhaustive`: all scripts of three requests in shards, counted on the way to the server.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use confute_testbed::embedded::{Config, Embedded};

use super::{fresh, programs};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Number of requests of a script
    #[arg(long, default_value = "3")]
    requests: u64,
    /// Number of shards
    #[arg(long, default_value = "8")]
    shards: u64,
}

/// The scripts that the server met: for each number the shards' runs that it belonged to.
type Met = Arc<Mutex<BTreeMap<u64, Vec<String>>>>;

pub(crate) fn run(args: &Args) -> Result<bool> {
    let (confute, _) = programs()?;
    let root = fresh("exhaustive")?;
    let server = Embedded::start(Config::default()).context("cannot start the server")?;
    let met = Met::default();
    let address = counting(server.addr(), &met)?;
    let start = Instant::now();
    let mut folders: Vec<PathBuf> = Vec::new();
    for index in 0..args.shards {
        let folder = root.join(index.to_string());
        let status = Command::new(&confute)
            .args([
                "http",
                &format!("http://{address}/"),
                "--exhaustive",
                &args.requests.to_string(),
                "--seed",
                "7",
                "-q",
            ])
            .args(["--shard", &format!("{index}/{}", args.shards), "--report-dir"])
            .arg(&folder)
            .status()?;
        ensure!(status.code() == Some(0), "shard {index} ended with {status}");
        folders.push(folder);
    }
    let merged = Command::new(&confute)
        .arg("merge")
        .args(&folders)
        .args(["-q", "--report-dir"])
        .arg(root.join("merged"))
        .output()?;
    print!("{}", String::from_utf8_lossy(&merged.stdout));
    ensure!(merged.status.code() == Some(0), "the merge ended with {}", merged.status);
    let summary: serde_json::Value =
        serde_json::from_slice(&std::fs::read(root.join("merged/summary.json"))?)?;
    let scripts = summary["exhaustive"]["scripts"].as_u64().context("the merged record has no scripts")?;
    let met = met.lock().unwrap_or_else(PoisonError::into_inner);
    let once = met.values().filter(|runs| runs.len() == 1).count() as u64;
    let complete = met.len() as u64 == scripts && (0..scripts).all(|number| met.contains_key(&number));
    println!(
        "{} of {scripts} scripts met on the way to the server, {once} of them once; {:.0} s in all",
        met.len(),
        start.elapsed().as_secs_f64()
    );
    Ok(complete && once == scripts)
}

/// Starts a relay to the server that notes the scripts of all requests. A script is met a second time if it is run under
/// another name, or again after its connection has ended.
fn counting(behind: SocketAddr, met: &Met) -> Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    let met = Arc::clone(met);
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let met = Arc::clone(&met);
            std::thread::spawn(move || relay(&client, behind, &met));
        }
    });
    Ok(address)
}

fn relay(client: &TcpStream, behind: SocketAddr, met: &Met) -> std::io::Result<()> {
    let server = TcpStream::connect(behind)?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let (mut from, mut to) = (server.try_clone()?, client.try_clone()?);
    let back = std::thread::spawn(move || {
        let mut bytes = [0; 8192];
        while let Ok(count @ 1..) = from.read(&mut bytes) {
            if to.write_all(&bytes[..count]).is_err() {
                break;
            }
        }
        let _ = to.shutdown(Shutdown::Write);
    });
    let mut bytes = [0; 8192];
    let (mut client, mut server) = (client, &server);
    let mut text = String::new();
    while let Ok(count @ 1..) = client.read(&mut bytes) {
        text.push_str(&String::from_utf8_lossy(&bytes[..count]));
        note(&mut text, met);
        if server.write_all(&bytes[..count]).is_err() {
            break;
        }
    }
    let _ = server.shutdown(Shutdown::Write);
    let _ = back.join();
    Ok(())
}

/// Notes the scripts in the request lines of a text, and keeps its unfinished last line.
fn note(text: &mut String, met: &Met) {
    let Some(end) = text.rfind('\n') else { return };
    for line in text[..end].lines() {
        // PUT /confute-7-s3-0123456789-1f-r0 HTTP/1.1
        let Some(path) = line.split(' ').nth(1).and_then(|path| path.strip_prefix("/confute-")) else {
            continue;
        };
        let parts: Vec<&str> = path.split('-').collect();
        let [seed, shard, run, number, _] = parts[..] else { continue };
        let Ok(number) = u64::from_str_radix(number, 16) else { continue };
        let run = format!("{seed}-{shard}-{run}");
        let mut met = met.lock().unwrap_or_else(PoisonError::into_inner);
        let runs = met.entry(number).or_default();
        if !runs.contains(&run) {
            runs.push(run);
        }
    }
    text.drain(..=end);
}
