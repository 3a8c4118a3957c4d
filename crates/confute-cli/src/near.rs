//! Suggestions for unknown names ("did you mean").

/// Describes an unknown name, with similar names, or all of them if they are few and none is similar.
pub(crate) fn unknown<'a>(kind: &str, name: &str, names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.collect();
    let near = nearest(name, &names);
    if !near.is_empty() {
        return format!("no such {kind}; did you mean {}?", near.join(" or "));
    }
    if names.len() <= 10 {
        return format!("no such {kind}; there are {}", names.join(", "));
    }
    format!("no such {kind}, and none with a similar name")
}

/// Returns at most three names that differ in few letters or contain the given one.
fn nearest<'a>(name: &str, names: &[&'a str]) -> Vec<&'a str> {
    let mut near: Vec<(usize, &str)> = names
        .iter()
        .filter_map(|candidate| {
            let tail = candidate.rsplit('/').next().unwrap_or(candidate);
            let distance = distance(name, candidate).min(distance(name, tail));
            let alike = name.len() >= 3 && candidate.contains(name);
            let close = distance <= 1 + candidate.len().min(name.len()) / 4;
            (close || alike).then_some((if close { distance } else { usize::MAX }, *candidate))
        })
        .collect();
    near.sort_unstable();
    near.into_iter().take(3).map(|(_, name)| name).collect()
}

/// Returns the edit distance of two words (Levenshtein).
fn distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (i, l) in left.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, r) in right.iter().enumerate() {
            let replaced = diagonal + usize::from(l != *r);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names() {
        let names = ["kv/put-lasts", "kv/read-sees-latest", "register/write-lasts"];
        assert_eq!(nearest("kv/put-last", &names), ["kv/put-lasts"]);
        assert_eq!(nearest("put-lasts", &names), ["kv/put-lasts"]);
        assert_eq!(nearest("latest", &names), ["kv/read-sees-latest"]);
        assert!(nearest("zebra", &names).is_empty());
        assert_eq!((distance("kitten", "sitting"), distance("", "ab")), (3, 2));
    }
}
