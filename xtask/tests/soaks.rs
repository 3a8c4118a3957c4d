//! The short form of every soak.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a panic is a failing test, and the figures are worth a look"
)]

use std::process::Command;

fn soak(what: &str) {
    let output = Command::new(env!("CARGO_BIN_EXE_xtask")).args(["soak", what, "--short"]).output().unwrap();
    let told = |bytes| String::from_utf8_lossy(bytes).into_owned();
    let (out, err) = (told(&output.stdout), told(&output.stderr));
    println!("{out}{err}");
    assert!(output.status.success(), "{out}{err}");
}

#[test]
fn engine() {
    soak("engine");
}

#[test]
fn http() {
    soak("http");
}

#[test]
fn odd_servers() {
    soak("odd");
}

#[test]
fn memcached() {
    soak("memcached");
}

#[test]
fn redis() {
    soak("redis");
}
