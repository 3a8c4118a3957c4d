//! The document as a whole: its version, its references, its operations, its security.

use std::collections::BTreeSet;

use serde_json::Value;

use super::Error;
use super::text::{Text, escape};

/// The methods that an item of `paths` may have.
const METHODS: [&str; 8] = ["get", "put", "post", "delete", "patch", "options", "head", "trace"];
/// Maximum number of references that lead to one part.
const MAX_HOPS: usize = 32;

/// A document that says it is OpenAPI 3.0 or 3.1.
#[derive(Debug)]
pub(super) struct Document {
    text: Text,
    /// `true` for 3.0, whose schemas are a dialect of their own.
    pub(super) is_30: bool,
}

/// A part of the document: its value, and its pointer after all references.
#[derive(Clone, Debug)]
pub(super) struct Part<'a> {
    pub(super) value: &'a Value,
    pub(super) pointer: String,
}

impl<'a> Part<'a> {
    pub(super) fn get(&self, key: &str) -> Option<Part<'a>> {
        let value = self.value.get(key)?;
        Some(Part { value, pointer: format!("{}/{}", self.pointer, escape(key)) })
    }

    /// Returns the members of an object, or nothing if it is none.
    pub(super) fn members(&self) -> impl Iterator<Item = (&'a str, Part<'a>)> + use<'a> {
        let pointer = self.pointer.clone();
        self.value.as_object().into_iter().flatten().map(move |(key, value)| {
            (key.as_str(), Part { value, pointer: format!("{pointer}/{}", escape(key)) })
        })
    }

    pub(super) fn text(&self, key: &str) -> Option<&'a str> {
        self.value.get(key)?.as_str()
    }

    pub(super) fn is_true(&self, key: &str) -> bool {
        self.value.get(key) == Some(&Value::Bool(true))
    }
}

/// One operation of the document.
#[derive(Clone, Debug)]
pub(super) struct Endpoint<'a> {
    /// Method in capitals.
    pub(super) method: String,
    /// Template of the path, as it is written.
    pub(super) path: String,
    pub(super) part: Part<'a>,
    /// The parameters of the operation and of its path, references followed.
    pub(super) parameters: Vec<Part<'a>>,
}

impl Endpoint<'_> {
    /// Returns method and path, for messages.
    pub(super) fn name(&self) -> String {
        format!("{} {}", self.method, self.path)
    }
}

impl Document {
    pub(super) fn new(text: Text) -> Result<Self, Error> {
        let not = |reason: &str, pointer: &str, next| {
            Err(Error::NotOpenApi { reason: reason.to_owned(), place: text.place(pointer), next })
        };
        let next = "name the file of an OpenAPI document, 3.0 or 3.1, in JSON or YAML";
        let Some(root) = text.value.as_object() else {
            return not("its top is no object", "", next);
        };
        if root.contains_key("swagger") {
            return not(
                "it is Swagger 2.0",
                "/swagger",
                "convert it to OpenAPI 3 (many converters exist, among them swagger2openapi of npm), or write the few paths to \
                 test in OpenAPI 3",
            );
        }
        let version = match root.get("openapi") {
            Some(Value::String(version)) => version.clone(),
            Some(Value::Number(version)) => version.to_string(),
            _ => return not("it has no field `openapi`", "", next),
        };
        let is_30 = version == "3" || version.starts_with("3.0");
        if !is_30 && !version.starts_with("3.") {
            return not(&format!("`openapi` is {version}, not 3.0 or 3.1"), "/openapi", next);
        }
        match root.get("paths") {
            Some(Value::Object(_)) => {}
            Some(_) => return not("`paths` is no object", "/paths", "correct the document"),
            None => return not("it has no `paths`", "", "add the paths of the service to the document"),
        }
        Ok(Self { text, is_30 })
    }

    pub(super) fn root(&self) -> &Value {
        &self.text.value
    }

    pub(super) fn place(&self, pointer: &str) -> String {
        self.text.place(pointer)
    }

    pub(super) fn part(&self, pointer: &str) -> Option<Part<'_>> {
        Some(Part { value: self.text.value.pointer(pointer)?, pointer: pointer.to_owned() })
    }

    pub(super) fn title(&self) -> String {
        self.part("/info").and_then(|info| info.text("title")).unwrap_or_default().to_owned()
    }

    /// Returns the part that a part refers to, or the part itself.
    pub(super) fn follow<'a>(&'a self, part: Part<'a>) -> Result<Part<'a>, Error> {
        let mut now = part;
        for _ in 0..MAX_HOPS {
            let Some(reference) = now.value.get("$ref").and_then(Value::as_str) else { return Ok(now) };
            let pointer = self.pointer_of(reference, &now.pointer)?;
            let value =
                self.text.value.pointer(&pointer).ok_or_else(|| self.lost(reference, &now.pointer))?;
            now = Part { value, pointer };
        }
        Err(Error::Reference {
            reference: now.text("$ref").unwrap_or_default().to_owned(),
            reason: "references lead in a circle",
            place: self.place(&now.pointer),
            next: "correct the document",
        })
    }

    /// Returns the pointer that a reference consists of.
    pub(super) fn pointer_of(&self, reference: &str, place: &str) -> Result<String, Error> {
        match reference.strip_prefix('#') {
            Some(pointer) if pointer.is_empty() || pointer.starts_with('/') => Ok(decode(pointer)),
            Some(_) => Err(Error::Reference {
                reference: reference.to_owned(),
                reason: "only pointers are followed, not names of anchors",
                place: self.place(place),
                next: "write the reference as a pointer, `#/components/schemas/NAME`",
            }),
            None => Err(Error::Reference {
                reference: reference.to_owned(),
                reason: "only references within the document are followed",
                place: self.place(place),
                next: "bundle the files of the document into one (`redocly bundle`, for instance)",
            }),
        }
    }

    /// Returns the error about a reference to a part that does not exist.
    pub(super) fn lost(&self, reference: &str, place: &str) -> Error {
        Error::Reference {
            reference: reference.to_owned(),
            reason: "there is no such part",
            place: self.place(place),
            next: "add the part, or correct the reference",
        }
    }

    /// Returns the path that precedes all templates, from the first server of the document.
    pub(super) fn base(&self, assumed: &mut Vec<String>) -> String {
        let Some(server) = self.part("/servers/0") else { return String::new() };
        let mut url = server.text("url").unwrap_or_default().to_owned();
        if let Some(variables) = server.get("variables") {
            for (name, variable) in variables.members() {
                url = url.replace(&format!("{{{name}}}"), variable.text("default").unwrap_or_default());
            }
        }
        let path = url
            .split_once("://")
            .map_or(url.as_str(), |(_, rest)| rest.find('/').map_or("", |at| &rest[at..]));
        let path = path.split(['?', '#']).next().unwrap_or_default().trim_matches('/');
        let segments: Vec<&str> = path.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
        if segments.is_empty() {
            return String::new();
        }
        let base = format!("/{}", segments.join("/"));
        assumed.push(format!("All paths begin with {base}, as the first of `servers` says."));
        base
    }

    /// Writes down which credentials the service requires.
    pub(super) fn security(&self, assumed: &mut Vec<String>) {
        let mut names = BTreeSet::new();
        let mut collect = |security: &Value| {
            let lists = security.as_array().into_iter().flatten();
            names.extend(lists.filter_map(Value::as_object).flat_map(|one| one.keys().cloned()));
        };
        self.root().get("security").into_iter().for_each(&mut collect);
        let paths = self.part("/paths");
        for (_, path) in paths.iter().flat_map(Part::members) {
            path.members()
                .filter_map(|(_, operation)| operation.value.get("security"))
                .for_each(&mut collect);
        }
        for name in names {
            let scheme = self.part(&format!("/components/securitySchemes/{}", escape(&name)));
            let text = |key| scheme.as_ref().and_then(|scheme| scheme.text(key)).unwrap_or_default();
            let advice = match (text("type"), text("in")) {
                ("apiKey", "header") => format!("-H '{}: …'", text("name")),
                ("apiKey", "cookie") => format!("-H 'Cookie: {}=…'", text("name")),
                ("apiKey", place) => {
                    format!("a parameter `{}` in the {place}, which cannot be given", text("name"))
                }
                ("http", _) if text("scheme").eq_ignore_ascii_case("basic") => {
                    "-H 'Authorization: Basic …'".to_owned()
                }
                _ => "-H 'Authorization: Bearer …'".to_owned(),
            };
            assumed.push(format!(
                "Some operations ask for the credentials `{name}`; they are given as {advice}."
            ));
        }
    }

    /// Returns all operations of the document.
    pub(super) fn endpoints(&self) -> Result<Vec<Endpoint<'_>>, Error> {
        let mut endpoints = Vec::new();
        let paths = self.part("/paths");
        for (path, item) in paths.iter().flat_map(Part::members) {
            if !path.starts_with('/') {
                if path.starts_with("x-") {
                    continue;
                }
                return Err(Error::Form {
                    reason: format!("the path `{path}` does not begin with a slash"),
                    place: self.place(&item.pointer),
                });
            }
            let item = self.follow(item)?;
            if !item.value.is_object() {
                let reason = format!("the item of the path `{path}` is no object");
                return Err(Error::Form { reason, place: self.place(&item.pointer) });
            }
            for (method, operation) in item.members().filter(|(method, _)| METHODS.contains(method)) {
                if !operation.value.is_object() {
                    let reason = format!("the operation `{method}` of the path `{path}` is no object");
                    return Err(Error::Form { reason, place: self.place(&operation.pointer) });
                }
                let parameters = self.parameters(&item, &operation)?;
                endpoints.push(Endpoint {
                    method: method.to_uppercase(),
                    path: path.to_owned(),
                    part: operation,
                    parameters,
                });
            }
        }
        Ok(endpoints)
    }

    /// Returns the parameters of an operation; those of its path come last, unless the operation has its own.
    fn parameters<'a>(&'a self, item: &Part<'a>, operation: &Part<'a>) -> Result<Vec<Part<'a>>, Error> {
        let mut parameters: Vec<Part<'a>> = Vec::new();
        for holder in [operation, item] {
            let Some(list) = holder.get("parameters") else { continue };
            for (index, value) in list.value.as_array().into_iter().flatten().enumerate() {
                let pointer = format!("{}/{index}", list.pointer);
                let parameter = self.follow(Part { value, pointer })?;
                let key = |part: &Part<'_>| {
                    (part.text("name").map(str::to_owned), part.text("in").map(str::to_owned))
                };
                if !parameters.iter().any(|other| key(other) == key(&parameter)) {
                    parameters.push(parameter);
                }
            }
        }
        Ok(parameters)
    }
}

/// Undoes the percent encoding of a reference.
fn decode(pointer: &str) -> String {
    if !pointer.contains('%') {
        return pointer.to_owned();
    }
    let bytes = pointer.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let hex = bytes.get(at + 1..at + 3).and_then(|two| std::str::from_utf8(two).ok());
        match hex.filter(|_| bytes[at] == b'%').and_then(|two| u8::from_str_radix(two, 16).ok()) {
            Some(byte) => {
                out.push(byte);
                at += 3;
            }
            None => {
                out.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}
