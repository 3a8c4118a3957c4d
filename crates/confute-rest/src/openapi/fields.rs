//! The fields of a representation: where it is in a message, which field is the id, and who decides on the others.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::paths::singular;
use crate::plan::Owner;
use crate::schema::{flat, is_stable, merge, types};

/// Minimum length that a mark needs.
const MARK: u64 = 30;

/// A representation in a message: the self-contained schema of the whole, and the plain schema of the object.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    pub(super) root: Value,
    /// JSON pointer to the object in the message.
    pub(super) at: String,
    pub(super) plain: Map<String, Value>,
}

impl Shape {
    /// Returns the object at a place of a message, if its schema is known.
    pub(super) fn at(root: &Value, at: &str) -> Option<Self> {
        let mut plain = plain(root, root)?;
        for name in at.split('/').skip(1) {
            let part = plain.get("properties")?.get(name)?.clone();
            plain = self::plain(root, &part)?;
        }
        Some(Self { root: root.clone(), at: at.to_owned(), plain })
    }

    pub(super) fn properties(&self) -> impl Iterator<Item = (&String, &Value)> {
        self.plain.get("properties").and_then(Value::as_object).into_iter().flatten()
    }

    pub(super) fn property(&self, name: &str) -> Option<&Value> {
        self.plain.get("properties")?.get(name)
    }

    pub(super) fn requires(&self, name: &str) -> bool {
        let required = self.plain.get("required").and_then(Value::as_array);
        required.is_some_and(|names| names.iter().any(|one| one == name))
    }

    /// Returns `true` if the schema allows objects.
    pub(super) fn is_object(&self) -> bool {
        let types = types(&self.plain);
        types.is_empty() && !self.plain.contains_key("type") || types.iter().any(|one| one == "object")
    }

    /// Returns `true` if the schema names no property.
    pub(super) fn is_open(&self) -> bool {
        self.properties().next().is_none()
    }

    fn plain_property(&self, name: &str) -> Option<Map<String, Value>> {
        plain(&self.root, self.property(name)?)
    }

    /// Returns the places of this object and of the objects directly in it.
    pub(super) fn places(root: &Value) -> Vec<Shape> {
        let Some(whole) = Self::at(root, "") else { return Vec::new() };
        let mut places = vec![whole.clone()];
        for (name, _) in whole.properties() {
            // A pointer with escapes would name another property.
            if name.contains(['/', '~']) {
                continue;
            }
            if let Some(inner) = Self::at(root, &format!("/{name}"))
                && !inner.is_open()
            {
                places.push(inner);
            }
        }
        places
    }
}

/// Returns a plain schema, with the only alternative that is not null merged in.
pub(super) fn plain(root: &Value, schema: &Value) -> Option<Map<String, Value>> {
    let mut made = flat(root, schema)?;
    for key in ["oneOf", "anyOf"] {
        let branches = made.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
        let mut real = branches.iter().filter_map(|one| flat(root, one)).filter(|one| types(one) != ["null"]);
        if let (Some(only), None) = (real.next(), real.next()) {
            made.remove(key);
            made = merge(made, only);
        }
    }
    Some(made)
}

/// Returns the name of the id among the properties of an object, for a parameter of a path.
pub(super) fn id_name(shape: &Shape, parameter: &str, noun: &str) -> Option<String> {
    let simple = |name: &str| name.replace(['_', '-'], "").to_lowercase();
    let wanted = simple(parameter);
    let one = simple(&singular(noun));
    let names: Vec<&String> = shape.properties().map(|(name, _)| name).collect();
    let find = |wanted: &str| names.iter().find(|name| simple(name) == wanted).map(|name| (*name).clone());
    if let Some(name) = find(&wanted) {
        return Some(name);
    }
    // `{todo_id}` and `{todo}` stand for the `id` of a to-do; `{id}` for its `todo_id`.
    let is_general = ["id", "pk", "uuid", "key", "identifier"].contains(&wanted.as_str());
    let is_own =
        wanted == one || wanted.ends_with("id") || wanted.ends_with("key") || wanted.ends_with("uuid");
    if !is_general && !is_own {
        return None;
    }
    let candidates =
        ["id".to_owned(), format!("{one}id"), "uuid".to_owned(), "pk".to_owned(), "key".to_owned()];
    candidates.iter().find_map(|candidate| find(candidate))
}

/// Decides who owns each field. `read` is the representation that is returned, `sent` those that requests contain.
pub(super) fn owners(read: Option<&Shape>, sent: &[&Shape], id: Option<&str>) -> BTreeMap<String, Owner> {
    let mut owners = BTreeMap::new();
    let known = read.filter(|read| !read.is_open());
    for shape in sent {
        for (name, schema) in shape.properties() {
            let stable = is_stable(&shape.root, schema) && !is_hidden(shape, name);
            let owner = match known {
                Some(read) if stable && is_returned(read, shape, name) => Owner::Client,
                None if stable => Owner::Client,
                _ => Owner::Unknown,
            };
            // If two requests disagree, nobody knows.
            let before = owners.insert(name.clone(), owner);
            if before.is_some_and(|before| before != owner) {
                owners.insert(name.clone(), Owner::Unknown);
            }
        }
    }
    for (name, _) in known.into_iter().flat_map(Shape::properties) {
        owners.entry(name.clone()).or_insert(Owner::Server);
    }
    if let Some(id) = id {
        owners.insert(id.to_owned(), Owner::Server);
    }
    owners
}

fn is_hidden(shape: &Shape, name: &str) -> bool {
    let lower = name.to_lowercase();
    let plain = shape.plain_property(name).unwrap_or_default();
    lower.contains("password")
        || lower.contains("secret")
        || plain.get("format") == Some(&Value::from("password"))
}

/// Returns `true` if a field is returned in the same form as it is sent.
fn is_returned(read: &Shape, sent: &Shape, name: &str) -> bool {
    let (Some(out), Some(back)) = (sent.property(name), read.property(name)) else { return false };
    is_stable(&read.root, back) && is_alike(&sent.root, out, &read.root, back, 0)
}

fn is_alike(left_root: &Value, left: &Value, right_root: &Value, right: &Value, depth: usize) -> bool {
    const DEEP: usize = 8;
    let (Some(left), Some(right)) = (plain(left_root, left), plain(right_root, right)) else { return false };
    let real = |schema: &Map<String, Value>| {
        let mut all = types(schema);
        all.retain(|one| one != "null");
        all.sort();
        all
    };
    if real(&left) != real(&right) || left.get("format") != right.get("format") || depth > DEEP {
        return false;
    }
    let pair = |key: &str| match (left.get(key), right.get(key)) {
        (Some(left), Some(right)) => is_alike(left_root, left, right_root, right, depth + 1),
        (None, None) => true,
        _ => false,
    };
    let names = |schema: &Map<String, Value>| {
        let all = schema.get("properties").and_then(Value::as_object);
        all.map(|all| all.keys().cloned().collect::<Vec<_>>()).unwrap_or_default()
    };
    pair("items")
        && names(&left) == names(&right)
        && names(&left).iter().all(|name| {
            is_alike(left_root, &left["properties"][name], right_root, &right["properties"][name], depth + 1)
        })
}

/// Returns the field that marks the tester's own items: a text of the client's that can be anything.
pub(super) fn mark(owners: &BTreeMap<String, Owner>, sent: &[&Shape]) -> Option<String> {
    let first = sent.first()?;
    let fits = |name: &String| {
        owners.get(name) == Some(&Owner::Client)
            && sent.iter().all(|shape| {
                shape.plain_property(name).is_some_and(|plain| {
                    let is_text = types(&plain).first().is_some_and(|one| one == "string");
                    let bound = ["enum", "const", "pattern", "format", "oneOf", "anyOf", "not"];
                    let is_free = !bound.iter().any(|key| plain.contains_key(*key));
                    let is_long =
                        plain.get("maxLength").and_then(Value::as_u64).is_none_or(|most| most >= MARK);
                    is_text && is_free && is_long
                })
            })
    };
    let fitting: Vec<&String> = first.properties().map(|(name, _)| name).filter(|name| fits(name)).collect();
    let usual = ["title", "name", "text", "content", "description", "body", "summary", "subject", "label"];
    let known = |name: &&&String| usual.contains(&name.to_lowercase().as_str());
    let required = || fitting.iter().filter(|name| first.requires(name));
    let chosen = required().find(known).or_else(|| required().next());
    let chosen = chosen.or_else(|| fitting.iter().find(known)).or_else(|| fitting.first());
    chosen.map(|name| (*name).clone())
}
