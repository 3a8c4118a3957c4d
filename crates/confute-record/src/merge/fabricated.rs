//! Made-up records for tests and measurements of merging.

use std::time::Duration;

use confute::lang::Level;
use confute::trace::{Event, WireConn};
use serde_json::json;

use crate::{
    CaseRecord, Conclusion, DiagnosisRecord, Door, Figures, Log, MessageRecord, Occurrence, PlanRecord,
    RecordHead, RefutationRecord, RuleRecord, RunNotes, RunRecord, Shard, ShrunkRecord, Standing, Tally,
    Violation,
};

/// Returns a record without violations, of this run and shard.
pub fn record(id: &str, shard: Option<Shard>, seed: u64) -> RunRecord {
    let rule = |name: &str| RuleRecord {
        name: name.to_owned(),
        level: Level::Must,
        summary: format!("What {name} requires."),
        clause: None,
        more: None,
    };
    let cases = 10;
    let figures = Figures { requests: 30, answers: 30, ..Figures::default() };
    RunRecord {
        head: RecordHead::new(id.to_owned(), Door::default()),
        model: "made-up".to_owned(),
        server: "127.0.0.1:1".to_owned(),
        settings: json!({}),
        premise: "nobody else writes".to_owned(),
        rules: (0..12).map(|number| rule(&format!("rule/{number}"))).collect(),
        plan: PlanRecord {
            seed,
            level: Level::Store,
            by_experiment: false,
            allowed: Vec::new(),
            connections: 16,
            workers: 1,
            cases: Some(1000),
            max_time: None,
            shard,
        },
        conclusion: Conclusion::Unrefuted,
        violations: Vec::new(),
        troubles: Vec::new(),
        tally: Tally { cases, unrefuted: cases, ..Tally::default() },
        figures,
        elapsed: Duration::from_secs(1),
        relaxed: Vec::new(),
        branches: vec![("goal".to_owned(), 3), ("other goal".to_owned(), 0)],
        remarks: Vec::new(),
        bound: None,
        notes: RunNotes::default(),
        log: Log::default(),
        merged: None,
    }
}

/// Returns a violation that any one of these rules explains, shown by a case of this many requests.
pub fn violation(number: usize, rules: &[usize], requests: usize, cases: &[u64]) -> Violation {
    let message = |text: String| MessageRecord {
        brief: text.clone(),
        json: json!({ "text": text }),
        text,
        answers: 1,
        completes: true,
    };
    let mut trace = Vec::new();
    for request in 0..requests {
        trace.push(Event::Sent(WireConn(0), message(format!("PUT …r{request}"))));
        trace.push(Event::Received(WireConn(0), message(format!("204, number {request}"))));
    }
    let diagnosis = |rule: &usize| DiagnosisRecord {
        rules: vec![format!("rule/{rule}")],
        deviations: 1,
        level: Level::Must,
    };
    let diagnoses: Vec<DiagnosisRecord> = rules.iter().map(diagnosis).collect();
    let refutation = RefutationRecord {
        event: trace.len().saturating_sub(1),
        seen: "204".to_owned(),
        expected: Vec::new(),
        hypotheses: 1,
        more: false,
    };
    let name = format!("confute-{number}-{}", cases.first().unwrap_or(&0));
    let micros = vec![0; trace.len()];
    let found = CaseRecord {
        name,
        steps: requests,
        trace,
        micros,
        refutation,
        diagnoses: diagnoses.clone(),
        raw: Vec::new(),
    };
    let shrunk = ShrunkRecord {
        case: found.clone(),
        requests: (requests, requests),
        runs: 3,
        again: (3, 3),
        unfinished: false,
    };
    Violation {
        number,
        standing: Standing::Refutes,
        diagnoses,
        incomplete: false,
        level: Some(Level::Must),
        times: cases.len() as u64,
        occurrences: cases
            .iter()
            .map(|case| Occurrence { run: None, case: Some(*case), seed: case * 7 + 1 })
            .collect(),
        seed: cases.first().unwrap_or(&0) * 7 + 1,
        relaxed: Vec::new(),
        found,
        shrunk: Some(Ok(shrunk)),
        excerpt: None,
        experiment: None,
        proof: None,
        open: Vec::new(),
        command: None,
        files: Vec::new(),
        remarks: Vec::new(),
    }
}
