//! The flag `--shard`: the part of a campaign to run, given as numbers or taken from the engine that runs the shards.

use confute_record::Shard;

/// The value of `--shard`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ShardChoice {
    /// `I/N`.
    Fixed(Shard),
    /// `auto`, or `auto/N` where the engine does not tell the number of shards.
    Auto(Option<u64>),
}

/// Parses the value of the flag.
pub(crate) fn parse(text: &str) -> Result<ShardChoice, String> {
    match text.strip_prefix("auto") {
        Some("") => Ok(ShardChoice::Auto(None)),
        Some(count) => {
            let count = count.strip_prefix('/').and_then(|count| count.parse().ok());
            let count = count.ok_or("expected `auto` or `auto/N`")?;
            Shard::new(0, count).map(|_| ShardChoice::Auto(Some(count)))
        }
        None => text.parse().map(ShardChoice::Fixed),
    }
}

/// The variables by which an engine tells a process its place.
struct Engine {
    name: &'static str,
    index: &'static str,
    /// Variable with the number of processes, if the engine has one.
    count: Option<&'static str>,
    /// Number of the first process.
    first: u64,
}

const ENGINES: [Engine; 6] = [
    Engine { name: "Slurm", index: "SLURM_ARRAY_TASK_ID", count: Some("SLURM_ARRAY_TASK_COUNT"), first: 0 },
    Engine { name: "Kubernetes", index: "JOB_COMPLETION_INDEX", count: None, first: 0 },
    Engine { name: "GitLab CI", index: "CI_NODE_INDEX", count: Some("CI_NODE_TOTAL"), first: 1 },
    Engine { name: "CircleCI", index: "CIRCLE_NODE_INDEX", count: Some("CIRCLE_NODE_TOTAL"), first: 0 },
    Engine {
        name: "Buildkite",
        index: "BUILDKITE_PARALLEL_JOB",
        count: Some("BUILDKITE_PARALLEL_JOB_COUNT"),
        first: 0,
    },
    Engine { name: "GNU parallel", index: "PARALLEL_SEQ", count: None, first: 1 },
];

impl ShardChoice {
    /// Returns the shard. `variable` reads an environment variable.
    pub(crate) fn resolve(self, variable: &dyn Fn(&str) -> Option<String>) -> Result<Shard, String> {
        let wanted = match self {
            ShardChoice::Fixed(shard) => return Ok(shard),
            ShardChoice::Auto(count) => count,
        };
        let number = |name: &str| {
            let text = variable(name).filter(|text| !text.is_empty())?;
            Some(
                text.parse::<u64>()
                    .map_err(|_| format!("--shard auto: {name} is `{text}`, which is no number")),
            )
        };
        let mut found: Vec<(&Engine, u64)> = Vec::new();
        for engine in &ENGINES {
            if let Some(index) = number(engine.index) {
                found.push((engine, index?));
            }
        }
        let (engine, index) = match found[..] {
            [] => {
                let names = ENGINES.map(|engine| engine.index).join(", ");
                return Err(format!("--shard auto: none of {names} is set\n  give the shard as I/N"));
            }
            [only] => only,
            [one, other, ..] => {
                let (one, other) = (one.0.index, other.0.index);
                return Err(format!("--shard auto: both {one} and {other} are set\n  give the shard as I/N"));
            }
        };
        let name = engine.name;
        let told = engine.count.and_then(number).transpose()?;
        let count = wanted.or(told).ok_or_else(|| {
            format!("--shard auto: {name} does not tell how many shards there are\n  use `--shard auto/N`")
        })?;
        // A task that is submitted again alone is an array of one: it would run the whole campaign.
        if wanted.is_none() && name == "Slurm" {
            let (min, max) = (number("SLURM_ARRAY_TASK_MIN"), number("SLURM_ARRAY_TASK_MAX"));
            let (min, max) =
                (min.transpose()?.unwrap_or(0), max.transpose()?.unwrap_or(count - count.min(1)));
            if min != 0 || max.checked_add(1) != Some(count) {
                return Err(format!(
                    "--shard auto: the array has {count} tasks from {min} to {max}, and not all from 0\n  \
                     use `--array=0-{}`, or name the number of shards: `--shard auto/N`",
                    count.saturating_sub(1)
                ));
            }
        }
        let index = index.checked_sub(engine.first).ok_or_else(|| {
            format!("--shard auto: {} is {index}, but {name} counts from {}", engine.index, engine.first)
        })?;
        Shard::new(index, count).map_err(|why| format!("--shard auto: by the variables of {name}, {why}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn auto(text: &str, variables: &[(&str, &str)]) -> Result<(u64, u64), String> {
        let variable = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        parse(text)?.resolve(&variable).map(|shard| (shard.index, shard.of))
    }

    #[test]
    fn engines() {
        let slurm = [
            ("SLURM_ARRAY_TASK_ID", "3"),
            ("SLURM_ARRAY_TASK_COUNT", "16"),
            ("SLURM_ARRAY_TASK_MIN", "0"),
            ("SLURM_ARRAY_TASK_MAX", "15"),
        ];
        assert_eq!(auto("auto", &slurm), Ok((3, 16)));
        assert_eq!(auto("2/4", &slurm), Ok((2, 4)));
        assert_eq!(auto("auto/16", &[("JOB_COMPLETION_INDEX", "15")]), Ok((15, 16)));
        assert_eq!(auto("auto", &[("CI_NODE_INDEX", "1"), ("CI_NODE_TOTAL", "4")]), Ok((0, 4)));
        assert_eq!(auto("auto", &[("CIRCLE_NODE_INDEX", "1"), ("CIRCLE_NODE_TOTAL", "4")]), Ok((1, 4)));
        assert_eq!(auto("auto/4", &[("PARALLEL_SEQ", "4")]), Ok((3, 4)));
    }

    /// One task of an array that is submitted again: by its own numbers it would be the only one.
    #[test]
    fn a_task_alone_is_not_the_whole_campaign() {
        let alone = [
            ("SLURM_ARRAY_TASK_ID", "3"),
            ("SLURM_ARRAY_TASK_COUNT", "1"),
            ("SLURM_ARRAY_TASK_MIN", "3"),
            ("SLURM_ARRAY_TASK_MAX", "3"),
        ];
        assert!(auto("auto", &alone).unwrap_err().contains("auto/N"));
        assert_eq!(auto("auto/16", &alone), Ok((3, 16)));
    }

    #[test]
    fn what_is_unclear_is_an_error() {
        assert!(auto("auto", &[]).unwrap_err().contains("none of"));
        assert!(auto("auto", &[("JOB_COMPLETION_INDEX", "1")]).unwrap_err().contains("auto/N"));
        assert!(auto("auto/2", &[("JOB_COMPLETION_INDEX", "2")]).unwrap_err().contains("no shard 2"));
        assert!(auto("auto/2", &[("PARALLEL_SEQ", "0")]).unwrap_err().contains("counts from 1"));
        assert!(
            auto("auto/9", &[("PARALLEL_SEQ", "1"), ("CI_NODE_INDEX", "1")]).unwrap_err().contains("both")
        );
        for wrong in ["auto/", "auto/0", "auto/x", "automatic", "1"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
