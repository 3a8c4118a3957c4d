//! `cargo xtask scale slurm`: a campaign under Slurm on this machine, with docs/scale/slurm.sh as it is.
//!
//! Debian's `slurm-wlm` is needed. Its daemons are started with a configuration of their own, on loopback, and ended by
//! their process ids.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use confute_record::journal::{self, JOURNAL};
use confute_testbed::free_port;

use super::{Server, blamed, fresh, programs};
use crate::root;

/// Bugs of the server. Races with the first are explained by further rules, which a shard may name that has not met it yet.
const BUGS: &str = "if-match-ignored-on-put,allow-missing,range-on-head,length-with-204,options-conditional";
/// Most time for the jobs.
const LONG: Duration = Duration::from_mins(20);

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Number of cases
    #[arg(long, default_value = "320")]
    cases: u64,
    /// Number of tasks
    #[arg(long, default_value = "16")]
    shards: u64,
    /// Bugs of the server, separated by commas: see `cargo run -p confute-testbed --example embedded -- --help`
    #[arg(long, default_value = BUGS, value_delimiter = ',')]
    bugs: Vec<String>,
    /// Seed of the campaign
    #[arg(long, default_value = "7")]
    seed: u64,
}

pub(crate) fn run(args: &Args) -> Result<bool> {
    let (confute, embedded) = programs()?;
    let place = fresh("slurm")?;
    let start = Instant::now();
    let cluster = Cluster::start(&place)?;
    println!("the daemons of Slurm are ready after {:.1} s", start.elapsed().as_secs_f64());
    let work = Work {
        args,
        place: &place,
        cluster: &cluster,
        confute: &confute,
        server: format!("{} $PORT {}", embedded.display(), args.bugs.join(" ")),
    };

    // The undisturbed campaign, merged by a dependent job.
    let start = Instant::now();
    let calm = place.join("calm");
    let array = work.submit(&calm, &["slurm.sh"])?;
    let merge = work.submit(&calm, &[&format!("--dependency=afterany:{array}"), "slurm-merge.sh"])?;
    work.wait(&merge)?;
    println!("undisturbed: {} tasks and the merge took {:.0} s", args.shards, start.elapsed().as_secs_f64());
    let one = work.single(&embedded)?;
    let merged = blamed(&calm.join("results/merged"))?;
    println!("bugs:       {}\nsingle run: {one:?}\nmerged:     {merged:?}", args.bugs.join(" "));
    for explained in explained(&calm.join("results/merged"))? {
        println!("not listed: {explained}");
    }

    // The same campaign, with one task killed and one requeued.
    let rough = place.join("rough");
    let array = work.submit(&rough, &["slurm.sh"])?;
    let (killed, requeued) = (3_u64, 6_u64);
    work.kill(&rough, killed)?;
    work.requeue(&rough, &array, requeued)?;
    let merge = work.submit(&rough, &[&format!("--dependency=afterany:{array}"), "slurm-merge.sh"])?;
    work.wait(&merge)?;
    let log = fs::read_to_string(rough.join("confute-merge.log"))?;
    let named: Vec<&str> = log.lines().filter(|line| line.contains("interrupted: ")).collect();
    println!("after the kill: {named:?}");
    ensure!(
        log.contains(&format!("interrupted: shard {killed} of {}", args.shards)),
        "the merge does not name the killed task:\n{log}"
    );
    ensure!(
        !log.contains(&format!("shard {requeued} of {} (", args.shards)),
        "the requeued task is incomplete:\n{log}"
    );
    let before = journal::read(&rough.join(format!("results/{killed}")).join(JOURNAL))?.done.count();
    // The killed task alone, again: it goes on where it was.
    let again = work.submit(&rough, &[&format!("--array={killed}"), "slurm.sh"])?;
    let merge = work.submit(&rough, &[&format!("--dependency=afterany:{again}"), "slurm-merge.sh"])?;
    work.wait(&merge)?;
    let after = blamed(&rough.join("results/merged"))?;
    println!("completed:  {after:?}");
    for explained in explained(&rough.join("results/merged"))? {
        println!("not listed: {explained}");
    }
    let cases = |folder: &Path| -> Result<BTreeSet<u64>> {
        let mut all = BTreeSet::new();
        for shard in 0..args.shards {
            let progress = journal::read(&folder.join(format!("results/{shard}")).join(JOURNAL))?;
            let own: BTreeSet<u64> = (0..args.cases).filter(|case| progress.done.contains(*case)).collect();
            ensure!(
                own.iter().all(|case| case % args.shards == shard),
                "shard {shard} ran a case of another one"
            );
            all.extend(own);
        }
        Ok(all)
    };
    let (calm_cases, rough_cases) = (cases(&calm)?, cases(&rough)?);
    println!(
        "cases done: {} undisturbed, {} disturbed; {before} of the killed task were not run again",
        calm_cases.len(),
        rough_cases.len()
    );
    let complete = calm_cases.len() as u64 == args.cases && rough_cases == calm_cases;
    for (name, other) in [("merged", &merged), ("completed", &after)] {
        let told = match (one == *other, is_same(&one, other)) {
            (true, _) => "the same violations, named alike",
            (_, true) => "the same violations, some named after fewer of their alternatives",
            _ => "OTHER VIOLATIONS",
        };
        println!("{name} and single run: {told}");
    }
    Ok(is_same(&one, &merged) && is_same(&one, &after) && complete)
}

/// Returns `true` if the violations correspond to each other. Of alternatives that explain a violation, one run may have
/// excluded some that another could not exclude: then one list of alternatives contains the other.
fn is_same(these: &[String], those: &[String]) -> bool {
    let sets = |one: &String| one.split(" or ").map(str::to_owned).collect::<BTreeSet<_>>();
    let matches = |one: &String, list: &[String]| {
        let one = sets(one);
        list.iter().filter(|other| one.is_subset(&sets(other)) || one.is_superset(&sets(other))).count() == 1
    };
    these.len() == those.len()
        && these.iter().all(|one| matches(one, those))
        && those.iter().all(|one| matches(one, these))
}

/// Returns what a merged report does not list because other violations explain it.
fn explained(folder: &Path) -> Result<Vec<String>> {
    let summary: serde_json::Value = serde_json::from_slice(&fs::read(folder.join("summary.json"))?)?;
    let list = summary["merged"]["explained"].as_array().cloned().unwrap_or_default();
    Ok(list.iter().filter_map(|one| one.as_str().map(str::to_owned)).collect())
}

struct Work<'a> {
    args: &'a Args,
    place: &'a Path,
    cluster: &'a Cluster,
    confute: &'a Path,
    server: String,
}

impl Work<'_> {
    /// Runs the same cases without shards. Returns the violations that refute.
    fn single(&self, embedded: &Path) -> Result<Vec<String>> {
        let bugs: Vec<&str> = self.args.bugs.iter().map(|bug| &**bug).collect();
        let server = Server::start(embedded, &bugs)?;
        let folder = self.place.join("single");
        let (seed, cases) = (self.args.seed.to_string(), self.args.cases.to_string());
        let status = Command::new(self.confute)
            .args(["http", &server.url, "--seed", &seed, "--cases", &cases, "--max-time", "4h"])
            .args(["-q", "--report-dir"])
            .arg(&folder)
            .stdout(Stdio::null())
            .status()?;
        ensure!(status.code() == Some(1), "the single run ended with {status}");
        blamed(&folder)
    }

    /// Submits a script of docs/scale with these arguments. Returns the number of the job.
    fn submit(&self, folder: &Path, arguments: &[&str]) -> Result<String> {
        fs::create_dir_all(folder)?;
        let (script, flags) = arguments.split_last().context("a script")?;
        let output = self
            .cluster
            .command("sbatch")
            .current_dir(folder)
            .arg("--parsable")
            .args(flags)
            .arg(root()?.join("docs/scale").join(script))
            .env("CONFUTE", self.confute)
            .env("SERVER", &self.server)
            .env("CASES", self.args.cases.to_string())
            .env("SHARDS", self.args.shards.to_string())
            .env("SEED", self.args.seed.to_string())
            .env("RESULTS", folder.join("results"))
            .output()?;
        ensure!(output.status.success(), "sbatch: {}", String::from_utf8_lossy(&output.stderr));
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }

    /// Waits until a job has ended.
    fn wait(&self, job: &str) -> Result<()> {
        let end = Instant::now() + LONG;
        loop {
            let output = self.cluster.command("squeue").args(["-h", "-j", job, "-o", "%T"]).output()?;
            // Slurm forgets jobs that ended some time ago.
            if !output.status.success() || output.stdout.is_empty() {
                return Ok(());
            }
            if Instant::now() > end {
                let all = self.cluster.command("squeue").output()?;
                bail!("job {job} has not ended:\n{}", String::from_utf8_lossy(&all.stdout));
            }
            sleep(Duration::from_millis(300));
        }
    }

    /// Waits until a shard has done some of its cases.
    fn begun(&self, folder: &Path, shard: u64) -> Result<PathBuf> {
        let path = folder.join(format!("results/{shard}")).join(JOURNAL);
        let end = Instant::now() + LONG;
        while !journal::read(&path).is_ok_and(|progress| progress.done.count() >= 3) {
            ensure!(Instant::now() < end, "shard {shard} did not begin");
            sleep(Duration::from_millis(20));
        }
        Ok(path)
    }

    /// Kills the tester of a shard by its process id, with SIGKILL.
    fn kill(&self, folder: &Path, shard: u64) -> Result<()> {
        self.begun(folder, shard)?;
        let results = folder.join(format!("results/{shard}")).display().to_string();
        for entry in fs::read_dir("/proc")?.flatten() {
            let Some(id) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else {
                continue;
            };
            let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            let words: Vec<&[u8]> = line.split(|byte| *byte == 0).collect();
            if words.first() == Some(&self.confute.as_os_str().as_encoded_bytes())
                && words.contains(&results.as_bytes())
            {
                println!("SIGKILL to the tester of shard {shard}, process {id}");
                ensure!(
                    Command::new("kill").args(["-KILL", &id.to_string()]).status()?.success(),
                    "kill failed"
                );
                return Ok(());
            }
        }
        bail!("shard {shard} has no process in {}", self.place.display())
    }

    /// Has Slurm end a task and start it again.
    fn requeue(&self, folder: &Path, array: &str, shard: u64) -> Result<()> {
        self.begun(folder, shard)?;
        let output =
            self.cluster.command("scontrol").args(["requeue", &format!("{array}_{shard}")]).output()?;
        ensure!(output.status.success(), "scontrol requeue: {}", String::from_utf8_lossy(&output.stderr));
        println!("shard {shard} was requeued");
        Ok(())
    }
}

/// The daemons of Slurm, ended when dropped.
struct Cluster {
    daemons: Vec<Child>,
    configuration: PathBuf,
}

impl Cluster {
    fn start(place: &Path) -> Result<Self> {
        for name in ["state", "spool", "log"] {
            fs::create_dir_all(place.join(name))?;
        }
        let host = fs::read_to_string("/proc/sys/kernel/hostname")?.trim().to_owned();
        let (control, node) = (free_port()?.port(), free_port()?.port());
        let shown = place.display();
        let text = format!(
            "ClusterName=one\nSlurmctldHost={host}(127.0.0.1)\nSlurmUser=root\nSlurmdUser=root\nAuthType=auth/none\nCredType=cred/none\n\
             ProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\nSelectType=select/cons_tres\nSelectTypeParameters=CR_CPU\n\
             SchedulerType=sched/builtin\nSchedulerParameters=batch_sched_delay=0,sched_interval=1\nKillWait=2\nMinJobAge=2\n\
             StateSaveLocation={shown}/state\nSlurmdSpoolDir={shown}/spool\nSlurmctldPidFile={shown}/ctld.pid\nSlurmdPidFile={shown}/d.pid\n\
             SlurmctldLogFile={shown}/log/ctld.log\nSlurmdLogFile={shown}/log/d.log\nSlurmctldPort={control}\nSlurmdPort={node}\n\
             AccountingStorageType=accounting_storage/none\nJobAcctGatherType=jobacct_gather/none\nSwitchType=switch/none\nMpiDefault=none\n\
             ReturnToService=2\nNodeName={host} NodeAddr=127.0.0.1 CPUs=2 State=UNKNOWN\n\
             PartitionName=p Nodes={host} Default=YES MaxTime=INFINITE State=UP\n"
        );
        let configuration = place.join("slurm.conf");
        fs::write(&configuration, text)?;
        let mut cluster = Self { daemons: Vec::new(), configuration };
        for name in ["slurmctld", "slurmd"] {
            let daemon = cluster.command(name).arg("-D").stdout(Stdio::null()).stderr(Stdio::null()).spawn();
            cluster
                .daemons
                .push(daemon.with_context(|| format!("cannot start {name}: is slurm-wlm installed?"))?);
        }
        let end = Instant::now() + Duration::from_secs(30);
        loop {
            let output =
                cluster.command("sinfo").args(["-h", "-o", "%T"]).output().context("cannot run sinfo")?;
            if String::from_utf8_lossy(&output.stdout).trim() == "idle" {
                return Ok(cluster);
            }
            ensure!(Instant::now() < end, "Slurm is not ready: see {shown}/log");
            sleep(Duration::from_millis(200));
        }
    }

    /// Returns a command that talks to this cluster.
    fn command(&self, name: &str) -> Command {
        let mut command = Command::new(name);
        command.env("SLURM_CONF", &self.configuration);
        command
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for daemon in self.daemons.iter_mut().rev() {
            // SIGTERM, so that the daemons end what they started.
            let _ = Command::new("kill").arg(daemon.id().to_string()).status();
        }
        let end = Instant::now() + Duration::from_secs(10);
        for daemon in &mut self.daemons {
            while Instant::now() < end && !matches!(daemon.try_wait(), Ok(Some(_))) {
                sleep(Duration::from_millis(100));
            }
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
    }
}
