//! The identity of a campaign: the parameters that all its shards share.

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::{Value, json};

use crate::{PlanRecord, RuleRecord, RunRecord, Shard};

/// Knowledge about a campaign from its runs.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Campaign {
    /// The parameters of its smallest run, for reports.
    pub(super) model: String,
    pub(super) premise: String,
    pub(super) rules: Vec<RuleRecord>,
    pub(super) plan: PlanRecord,
    pub(super) settings: Value,
    /// The coverage goals, in the order of the model.
    pub(super) branches: Vec<String>,
    /// Number of requests, and of all scripts, of an exhaustive run.
    pub(super) bound: Option<(u64, u64)>,
    /// Rules that some run tested.
    pub(super) tested: BTreeSet<String>,
    /// Rules that some run relaxed by its end.
    pub(super) relaxed: BTreeSet<String>,
    /// Remarks about the servers.
    pub(super) remarks: BTreeSet<String>,
}

impl Campaign {
    /// Returns the campaign of a run, and its identity as JSON. Addresses are no part of it, because every shard may start a
    /// server of its own. Runs that are no shards may have any seed.
    pub(super) fn of(record: &RunRecord) -> (String, Self) {
        let plan = &record.plan;
        let bound = record.bound.map(|bound| (bound.requests, bound.of.unwrap_or(bound.scripts)));
        let mut settings = record.settings.clone();
        without_addresses(&mut settings);
        let mut branches: Vec<String> = record.branches.iter().map(|(name, _)| name.clone()).collect();
        // A journal lists the goals that were reached, in no order.
        branches.sort();
        let split = plan.shard.filter(|shard| *shard != Shard::WHOLE);
        let key = json!({
            "model": record.model,
            "settings": settings,
            "rules": record.rules.iter().map(|rule| &rule.name).collect::<Vec<_>>(),
            "level": plan.level.name(),
            "by experiment": plan.by_experiment,
            "allowed": plan.allowed,
            "connections": plan.connections,
            "requests of a script": bound.map(|bound| bound.0),
            "shards": split.map(|shard| shard.of),
            "seed": split.map(|_| plan.seed),
            "cases": split.and(plan.cases),
        });
        let own = Self {
            model: record.model.clone(),
            premise: record.premise.clone(),
            rules: record.rules.clone(),
            plan: PlanRecord { shard: None, ..plan.clone() },
            settings: record.settings.clone(),
            branches,
            bound,
            tested: record.figures.rules.clone(),
            relaxed: record.relaxed.iter().cloned().collect(),
            remarks: record.remarks.iter().cloned().collect(),
        };
        (key.to_string(), own)
    }

    /// Adds what another run of the same campaign knows. Of descriptions that may differ between runs the smallest is kept.
    pub(super) fn join(&mut self, other: Self) {
        let Self { premise, rules, plan, settings, branches, tested, relaxed, remarks, .. } = other;
        smaller(&mut self.premise, premise);
        smaller(&mut self.rules, rules);
        smaller(&mut self.plan, plan);
        smaller(&mut self.settings, settings);
        self.branches.extend(branches);
        self.branches.sort();
        self.branches.dedup();
        self.tested.extend(tested);
        self.relaxed.extend(relaxed);
        self.remarks.extend(remarks);
    }
}

/// Keeps the smaller of two descriptions, compared as text.
fn smaller<T: PartialEq + Serialize>(mine: &mut T, other: T) {
    let text = |one: &T| serde_json::to_string(one).unwrap_or_default();
    if *mine != other && text(&other) < text(mine) {
        *mine = other;
    }
}

/// Replaces every text that ends in the port of an address.
fn without_addresses(settings: &mut Value) {
    match settings {
        Value::String(text) => {
            let port = text.rsplit_once(':').map(|(_, port)| port.trim_end_matches('/'));
            if port.is_some_and(|port| !port.is_empty() && port.chars().all(|c| c.is_ascii_digit())) {
                "HOST:PORT".clone_into(text);
            }
        }
        Value::Array(list) => list.iter_mut().for_each(without_addresses),
        Value::Object(fields) => fields.values_mut().for_each(without_addresses),
        _ => {}
    }
}

/// Describes in which parameters one identity differs from another.
pub(super) fn difference(this: &str, that: &str) -> String {
    let parse = |text: &str| serde_json::from_str::<serde_json::Map<String, Value>>(text).unwrap_or_default();
    let (this, that) = (parse(this), parse(that));
    let differing = this.iter().filter(|(name, value)| that.get(*name) != Some(value));
    let told = differing.map(|(name, value)| match (name.as_str(), value, that.get(name)) {
        ("rules" | "settings", ..) => format!("other {name}"),
        (_, value, Some(other)) => format!("{name} {value} instead of {other}"),
        (_, value, None) => format!("{name} {value}"),
    });
    told.collect::<Vec<_>>().join(", ").replace("null", "none")
}
