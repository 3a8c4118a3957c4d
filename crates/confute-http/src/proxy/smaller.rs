//! Simpler questions and answers: what a script is made smaller with.
//!
//! Methods and statuses stay, because what delimits an answer depends on both.

use std::sync::Arc;

use super::message::Field;
use super::protocol::{Answer, Ask, Question};
use crate::text;

/// Asks that want less, the simplest first.
pub(super) fn simpler(ask: &Ask) -> Vec<Ask> {
    let mut simpler: Vec<Ask> = match ask {
        Ask::Send(question) => questions(question).into_iter().map(Ask::Send).collect(),
        Ask::Answer(answer) => answers(answer).into_iter().map(Ask::Answer).collect(),
    };
    simpler.retain(|one| one != ask);
    simpler
}

fn questions(question: &Question) -> Vec<Question> {
    let bare = Question { fields: Vec::new(), trailers: Vec::new(), ..question.clone() };
    let mut simpler = vec![
        Question { body: None, chunked: false, ..bare.clone() },
        bare,
        Question { body: None, chunked: false, trailers: Vec::new(), ..question.clone() },
        Question { chunked: false, trailers: Vec::new(), ..question.clone() },
        Question { trailers: Vec::new(), ..question.clone() },
    ];
    let fewer = without_one(&question.fields).into_iter();
    simpler.extend(fewer.map(|fields| Question { fields, ..question.clone() }));
    let short = question.body.as_ref().and_then(|body| short(body));
    simpler.extend(short.map(|body| Question { body: Some(body), ..question.clone() }));
    if let Some((path, _)) = question.name.split_once('?') {
        simpler.push(Question { name: path.into(), ..question.clone() });
    }
    simpler
}

/// Where an answer breaks off nothing is changed: the place counts on the length of what is before.
fn answers(answer: &Answer) -> Vec<Answer> {
    if answer.cut.is_some() {
        return Vec::new();
    }
    let bare = Answer { fields: Vec::new(), trailers: Vec::new(), interim: Vec::new(), ..answer.clone() };
    let mut simpler = vec![
        Answer { body: "".into(), ..bare.clone() },
        bare,
        Answer { interim: Vec::new(), ..answer.clone() },
        Answer { trailers: Vec::new(), ..answer.clone() },
    ];
    let fewer = without_one(&answer.fields).into_iter();
    simpler.extend(fewer.map(|fields| Answer { fields, ..answer.clone() }));
    simpler.extend(short(&answer.body).map(|body| Answer { body, ..answer.clone() }));
    simpler
}

fn without_one(fields: &[Field]) -> Vec<Vec<Field>> {
    let without = |place| {
        let mut fewer = fields.to_vec();
        fewer.remove(place);
        fewer
    };
    (0..fields.len()).map(without).collect()
}

/// A letter in place of many.
fn short(body: &str) -> Option<Arc<str>> {
    (text::length(body) > 1).then(|| "a".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Everything that it can become.
    fn all(ask: Ask) -> Vec<Ask> {
        let (mut open, mut seen) = (vec![ask], Vec::new());
        while let Some(one) = open.pop() {
            assert!(seen.len() < 2000, "no end");
            if !seen.contains(&one) {
                open.extend(simpler(&one));
                seen.push(one);
            }
        }
        seen
    }

    #[test]
    fn every_one_is_simpler_and_it_ends() {
        let fields = vec![Field::new("A", "1"), Field::new("B", "2")];
        let question = Question {
            method: "PUT".into(),
            name: "x?y=z".into(),
            fields: fields.clone(),
            body: Some("<00001>".into()),
            chunked: true,
            trailers: vec![Field::new("C", "3")],
            mark: 7,
        };
        let bare = Question { method: "PUT".into(), name: "x".into(), mark: 7, ..Question::default() };
        let seen = all(Ask::Send(question));
        assert!(seen.contains(&Ask::Send(bare.clone())));
        assert!(seen.contains(&Ask::Send(Question { body: Some("a".into()), ..bare })));
        let answer =
            Answer { status: 200, fields, body: "much".into(), interim: vec![103], ..Answer::default() };
        assert!(
            all(Ask::Answer(answer.clone()))
                .contains(&Ask::Answer(Answer { status: 200, ..Answer::default() }))
        );
        assert!(simpler(&Ask::Answer(Answer { cut: Some(9), ..answer })).is_empty());
    }
}
