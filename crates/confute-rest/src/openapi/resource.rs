//! Resources: which paths form one, and how each operation acts on it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::Error;
use super::document::{Document, Endpoint};
use super::fields::{Shape, id_name, mark, owners};
use super::list;
use super::operation::{Outline, outline, parameter_schema};
use super::paths::{Segment, Template, noun, rest};
use crate::plan::{BodyPlan, Id, JSON_PATCH, Maker, Operation, Owner, Resource, Validator};

/// Names of fields that number the versions of an item, in lower case without separators.
const VERSIONS: [&str; 5] = ["version", "revision", "lockversion", "rowversion", "rev"];

/// Paths that may form a resource.
struct Candidate<'a> {
    item: Template,
    collection: Option<Template>,
    on_item: BTreeMap<String, Endpoint<'a>>,
    on_collection: BTreeMap<String, Endpoint<'a>>,
}

/// Finds all resources of a document, parents before children.
pub(super) fn all(
    document: &Document,
    assumed: &mut Vec<String>,
    left_out: &mut Vec<String>,
) -> Result<Vec<Resource>, Error> {
    let endpoints = document.endpoints()?;
    let mut candidates = candidates(&endpoints);
    candidates.sort_by_key(|one| one.item.segments.len());
    let mut used: BTreeSet<String> = BTreeSet::new();
    let mut made: Vec<(Vec<Segment>, Resource)> = Vec::new();
    let mut first_failure = None;
    for candidate in &candidates {
        let (endpoints, path) = (candidate.names(), candidate.path());
        let mut found = Vec::new();
        let mut notes = Vec::new();
        match build(document, candidate, &made, &mut found, &mut notes) {
            Ok(Ok(resource)) => {
                made.push((candidate.item.segments.clone(), resource));
                assumed.append(&mut found);
            }
            Ok(Err(reason)) => notes.push(format!("{path}: {reason}.")),
            Err(error @ Error::Body { .. }) => {
                notes.push(format!("{path}: {}.", first_line(&error)));
                first_failure.get_or_insert(error);
            }
            Err(error) => return Err(error),
        }
        left_out.append(&mut notes);
        used.extend(endpoints);
    }
    for endpoint in endpoints.iter().filter(|one| !used.contains(&one.name())) {
        left_out.push(format!("{}: neither a collection nor an item of one.", endpoint.name()));
    }
    match first_failure {
        Some(error) if made.is_empty() => Err(error),
        _ => Ok(made.into_iter().map(|(_, resource)| resource).collect()),
    }
}

fn first_line(error: &Error) -> String {
    error.to_string().lines().next().unwrap_or_default().to_owned()
}

/// Pairs each item path with its collection.
fn candidates<'a>(endpoints: &[Endpoint<'a>]) -> Vec<Candidate<'a>> {
    let mut templates: Vec<Template> = Vec::new();
    let mut by_path: Vec<BTreeMap<String, Endpoint<'a>>> = Vec::new();
    for endpoint in endpoints {
        let template = Template::new(&endpoint.path);
        // `/todos` and `/todos/` are one path here: services that offer both mean the same.
        let at = templates.iter().position(|one| one.is_like(&template.segments));
        let at = at.unwrap_or_else(|| {
            templates.push(template);
            by_path.push(BTreeMap::new());
            templates.len() - 1
        });
        by_path[at].entry(endpoint.method.clone()).or_insert_with(|| endpoint.clone());
    }
    let mut candidates = Vec::new();
    for (template, on_item) in templates.iter().zip(&by_path) {
        let Some((segments, _)) = template.as_item() else { continue };
        let collection = templates.iter().position(|one| one.is_like(segments));
        candidates.push(Candidate {
            item: template.clone(),
            collection: collection.map(|at| templates[at].clone()),
            on_item: on_item.clone(),
            on_collection: collection.map(|at| by_path[at].clone()).unwrap_or_default(),
        });
    }
    candidates
}

impl Candidate<'_> {
    fn path(&self) -> String {
        format!("{}{}", rest(&self.item.segments), self.item.end())
    }

    /// Returns the operations that a resource can use. The others of its paths are of no kind known here.
    fn names(&self) -> Vec<String> {
        let item = ["GET", "PUT", "PATCH", "DELETE"].iter().filter_map(|method| self.on_item.get(*method));
        let collection = ["GET", "POST"].iter().filter_map(|method| self.on_collection.get(*method));
        item.chain(collection).map(Endpoint::name).collect()
    }
}

/// A resource under construction: its operations before it is known which field is its id.
struct Parts<'a> {
    post: Option<Outline<'a>>,
    get: Option<Outline<'a>>,
    put: Option<Outline<'a>>,
    patch: Option<Outline<'a>>,
    delete: Option<Outline<'a>>,
    list: Option<Outline<'a>>,
}

/// Builds a resource. The inner error is the reason why the paths form none.
fn build(
    document: &Document,
    candidate: &Candidate<'_>,
    made: &[(Vec<Segment>, Resource)],
    assumed: &mut Vec<String>,
    left_out: &mut Vec<String>,
) -> Result<Result<Resource, String>, Error> {
    let Some((collection, parameter)) = candidate.item.as_item() else {
        return Ok(Err("its last segment is no parameter".to_owned()));
    };
    let noun = noun(collection);
    let mut resource = match place(candidate, collection, parameter, &noun, made) {
        Ok(resource) => resource,
        Err(reason) => return Ok(Err(reason)),
    };
    let parts = match parts(document, candidate, left_out)? {
        Ok(parts) => parts,
        Err(reason) => return Ok(Err(reason)),
    };
    let Some(get) = &parts.get else { return Ok(Err("nothing reads an item (no GET)".to_owned())) };

    // The representation, and the id in it.
    let shapes = get.success.as_ref().map(Shape::places).unwrap_or_default();
    let found = shapes.iter().find_map(|shape| Some((shape.clone(), id_name(shape, parameter, &noun)?)));
    let read = found.as_ref().map(|(shape, _)| shape.clone()).or_else(|| wrapped(&shapes, &parts, &noun));
    let at = read.as_ref().map(|shape| shape.at.clone()).unwrap_or_default();
    let id = found.map(|(_, id)| id);
    resource.id.schema = id_schema(document, get)?;
    if let Err(reason) = creation(&parts, &mut resource, id, read.as_ref(), &at, parameter, assumed) {
        return Ok(Err(reason));
    }

    let is_object = |operation: &Operation| {
        let body = operation.body.as_ref();
        body.is_none_or(|body| Shape::at(&body.schema, &body.at).is_some_and(|shape| shape.is_object()))
    };
    if !resource.create.as_ref().is_none_or(is_object) || !read.as_ref().is_none_or(Shape::is_object) {
        return Ok(Err("an item is no JSON object".to_owned()));
    }

    // The bodies, the fields, the validator.
    let mut operations = [parts.put.clone(), parts.patch.clone()];
    for outline in operations.iter_mut().flatten() {
        body_at(&mut outline.operation, &at, &resource.id);
        outline.operation.answer = answer_at(outline, resource.id.field.as_deref(), &at);
    }
    for place in &mut operations {
        if let Some(outline) = place.take_if(|outline| !is_object(&outline.operation)) {
            left_out.push(format!("{}: its body is no JSON object.", outline.endpoint.name()));
        }
    }
    let [put, patch] = operations;
    if resource.create.as_ref().is_some_and(|create| create.method != "PUT") {
        resource.replace = put.map(|outline| outline.operation);
    } else if let Some(create) = &resource.create {
        resource.replace = Some(create.clone());
    }
    resource.patch = patch.map(|outline| outline.operation);
    if let Some(body) = resource.patch.as_mut().and_then(|patch| patch.body.as_mut())
        && body.media == JSON_PATCH
    {
        match resource.create.as_ref().and_then(|create| create.body.as_ref()).map(changes) {
            Some(changes) => *body = changes,
            None => resource.patch = None,
        }
    }
    resource.read = Some(Operation { answer: Some(at.clone()), body: None, ..get.operation.clone() });
    resource.delete =
        parts.delete.as_ref().map(|outline| Operation { body: None, ..outline.operation.clone() });
    own(&mut resource, read.as_ref(), assumed);
    resource.validator = validator(&parts, &mut resource, assumed);
    if let Some(outline) = &parts.list {
        let id = resource.id.field.clone();
        match list::list(document, outline, id.as_deref(), &at, &noun, assumed)? {
            Ok(mut found) => {
                let is_own = |name: &String| resource.fields.get(name) == Some(&Owner::Client);
                found.filters.retain(is_own);
                resource.list = Some(found);
            }
            Err(reason) => left_out.push(format!("{}: {reason}.", outline.endpoint.name())),
        }
    }
    Ok(Ok(resource))
}

/// Returns the body of a JSON Patch: any fields of the item that a create makes.
fn changes(create: &BodyPlan) -> BodyPlan {
    let mut body = BodyPlan { media: JSON_PATCH.to_owned(), ..create.clone() };
    let pointer = body.at.replace('/', "/properties/");
    if let Some(Value::Object(item)) = body.schema.pointer_mut(&pointer) {
        item.remove("required");
        item.insert("minProperties".to_owned(), 1.into());
    }
    body
}

/// Decides on name, templates and parent.
fn place(
    candidate: &Candidate<'_>,
    collection: &[Segment],
    parameter: &str,
    noun: &str,
    made: &[(Vec<Segment>, Resource)],
) -> Result<Resource, String> {
    let bound = Template::last_parameter(collection);
    let mut resource = Resource::default();
    let mut path = rest(collection);
    if bound > 0 {
        let owner = &collection[..bound];
        let like =
            |segments: &[Segment]| Template { segments: segments.to_vec(), slash: false }.is_like(owner);
        let Some((_, parent)) = made.iter().find(|(segments, _)| like(segments)) else {
            return Err(format!("its parent {} is no resource that is tested", rest(owner)));
        };
        resource.parent = Some(parent.name.clone());
        path = format!("{}{}", parent.item.trim_end_matches('/'), rest(&collection[bound..]));
        resource.name = format!("{}.{noun}", parent.name);
    } else {
        noun.clone_into(&mut resource.name);
    }
    let mut name = resource.name.clone();
    let mut count = 1;
    while made.iter().any(|(_, other)| other.name == name) {
        count += 1;
        name = format!("{}{count}", resource.name);
    }
    resource.name = name;
    let taken = |name: &str| path.contains(&format!("{{{name}}}"));
    let mut own = parameter.to_owned();
    while taken(&own) {
        own = format!("{noun}_{own}");
    }
    resource.item = format!("{path}/{{{own}}}{}", candidate.item.end());
    let end = candidate.collection.as_ref().map_or("", Template::end);
    resource.collection = if path.is_empty() { "/".to_owned() } else { format!("{path}{end}") };
    Ok(resource)
}

/// Reads the operations. The inner error is the reason why nothing creates an item.
fn parts<'a>(
    document: &'a Document,
    candidate: &Candidate<'a>,
    left_out: &mut Vec<String>,
) -> Result<Result<Parts<'a>, String>, Error> {
    let has = |method: &str| candidate.on_item.contains_key(method);
    if !candidate.on_collection.contains_key("POST") && !has("PUT") {
        let collection = candidate.collection.as_ref().map_or("", |_| " on its collection");
        let missing = if collection.is_empty() { "no path of a collection" } else { "no POST" };
        return Ok(Err(format!("nothing creates an item ({missing}{collection}, no PUT on the item)")));
    }
    let mut read = |from: &BTreeMap<String, Endpoint<'a>>, method: &str| match from.get(method) {
        None => Ok(None),
        Some(endpoint) => match outline(document, endpoint, left_out) {
            Ok(Ok(outline)) => Ok(Some(outline)),
            Ok(Err(reason)) => {
                left_out.push(format!("{}: {reason}.", endpoint.name()));
                Ok(None)
            }
            // A body that cannot be made leaves out its operation, unless nothing else creates an item.
            Err(error @ Error::Body { .. })
                if method == "PATCH" || (method == "PUT" && candidate.on_collection.contains_key("POST")) =>
            {
                left_out.push(format!("{}.", first_line(&error)));
                Ok(None)
            }
            Err(error) => Err(error),
        },
    };
    let parts = Parts {
        post: read(&candidate.on_collection, "POST")?,
        get: read(&candidate.on_item, "GET")?,
        put: read(&candidate.on_item, "PUT")?,
        patch: read(&candidate.on_item, "PATCH")?,
        delete: read(&candidate.on_item, "DELETE")?,
        list: read(&candidate.on_collection, "GET")?,
    };
    if parts.post.is_none() && parts.put.is_none() {
        return Ok(Err("nothing that can be tested creates an item".to_owned()));
    }
    Ok(Ok(parts))
}

/// Returns the representation where its id is not known: the object with the noun's name or `data`, or the whole.
fn wrapped(shapes: &[Shape], parts: &Parts<'_>, noun: &str) -> Option<Shape> {
    let usual = [format!("/{}", super::paths::singular(noun)), "/data".to_owned(), "/item".to_owned()];
    let inner = shapes.iter().find(|shape| usual.contains(&shape.at));
    if let Some(inner) = inner {
        return Some(inner.clone());
    }
    // An object without properties may be a wrapper too, if requests have the same.
    let root = parts.get.as_ref()?.success.as_ref()?;
    let open = usual.iter().find_map(|at| Shape::at(root, at));
    open.or_else(|| shapes.first().cloned())
}

/// Returns the schema of the last parameter of an item's path.
fn id_schema(document: &Document, get: &Outline<'_>) -> Result<Value, Error> {
    let template = Template::new(&get.endpoint.path);
    let Some((_, name)) = template.as_item() else { return Ok(Value::Null) };
    let is_it =
        |one: &&super::document::Part<'_>| one.text("in") == Some("path") && one.text("name") == Some(name);
    match get.endpoint.parameters.iter().find(is_it) {
        Some(parameter) => Ok(parameter_schema(document, parameter)?.unwrap_or_default()),
        None => Ok(Value::Null),
    }
}

/// Decides who makes the id, and with which operation an item is created.
fn creation(
    parts: &Parts<'_>,
    resource: &mut Resource,
    id: Option<String>,
    read: Option<&Shape>,
    at: &str,
    parameter: &str,
    assumed: &mut Vec<String>,
) -> Result<(), String> {
    let Some(post) = &parts.post else {
        let put = parts.put.as_ref().ok_or("nothing creates an item")?;
        if !put.has_status("201") {
            assumed.push(format!("{} creates an item that is not there.", put.endpoint.name()));
        }
        resource.id =
            Id { made_by: Maker::Client, field: id, schema: resource.id.schema.take(), ..Id::default() };
        let mut create = put.operation.clone();
        body_at(&mut create, at, &resource.id);
        create.answer = answer_at(put, resource.id.field.as_deref(), at);
        resource.create = Some(create);
        return Ok(());
    };
    let name = post.endpoint.name();
    let location = post.headers.iter().any(|header| header == "location");
    let mut create = post.operation.clone();
    let sent = create.body.as_ref().and_then(|body| request_shape(&body.schema, at));
    // A field that a request must have, and that fills the path, is an id that the client makes.
    if let (Some(id), Some(sent)) = (&id, &sent)
        && sent.requires(id)
    {
        resource.id.made_by = Maker::Client;
        resource.id.field = Some(id.clone());
        body_at(&mut create, at, &resource.id);
        create.answer = answer_at(post, Some(id), at);
        resource.create = Some(create);
        assumed.push(format!("{name} creates an item under the id in the field `{id}` of its body."));
        return Ok(());
    }
    resource.id.made_by = Maker::Server;
    resource.id.location = location;
    resource.id.field.clone_from(&id);
    body_at(&mut create, at, &resource.id);
    create.answer = answer_at(post, id.as_deref(), at);
    let in_answer = match (&post.success, &id) {
        (Some(root), Some(id)) => Shape::places(root)
            .iter()
            .find(|shape| shape.property(id).is_some())
            .map(|shape| shape.at.clone()),
        _ => None,
    };
    match (in_answer, location) {
        (Some(place), _) => create.answer = Some(place),
        (None, true) => {}
        (None, false) => {
            let is_known = post
                .success
                .as_ref()
                .and_then(|root| Shape::at(root, at))
                .is_some_and(|shape| !shape.is_open());
            let read_is_known = read.is_some_and(|read| !read.is_open()) && id.is_none();
            if is_known || read_is_known || post.is_silent {
                return Err(format!(
                    "no id: the answer of {name} has no field for the parameter `{parameter}`, and no `Location`"
                ));
            }
            let field = id.clone().unwrap_or_else(|| "id".to_owned());
            assumed.push(format!(
                "The answer of {name} has the id in its field `{field}`: the document has no schema of it."
            ));
            resource.id.field = Some(field);
            create.answer = Some(at.to_owned());
        }
    }
    resource.create = Some(create);
    Ok(())
}

/// Returns the shape of the representation in a request: in the same wrapper as in an answer, or the whole.
fn request_shape(schema: &Value, at: &str) -> Option<Shape> {
    Shape::at(schema, at).or_else(|| Shape::at(schema, ""))
}

/// Notes where the representation is in a body, and takes an id that the server makes out of it.
fn body_at(operation: &mut Operation, at: &str, id: &Id) {
    let Some(body) = &mut operation.body else { return };
    if !at.is_empty() && Shape::at(&body.schema, at).is_some() {
        at.clone_into(&mut body.at);
    }
    let Some(field) = id.field.as_deref().filter(|_| id.made_by == Maker::Server) else { return };
    let is_optional = request_shape(&body.schema, at)
        .is_some_and(|shape| shape.property(field).is_some() && !shape.requires(field));
    if is_optional {
        without(&mut body.schema, field);
    }
}

/// Removes a property from all objects at the top of a schema and in its definitions that do not require it.
fn without(schema: &mut Value, field: &str) {
    let Value::Object(schema) = schema else { return };
    for (key, value) in schema.iter_mut() {
        match (key.as_str(), value) {
            ("properties", Value::Object(properties)) => {
                properties.remove(field);
                properties.values_mut().filter(|one| one.is_object()).for_each(|one| without(one, field));
            }
            ("$defs", Value::Object(definitions)) => {
                definitions.values_mut().for_each(|one| without(one, field));
            }
            ("allOf" | "anyOf" | "oneOf", Value::Array(parts)) => {
                parts.iter_mut().for_each(|one| without(one, field));
            }
            _ => {}
        }
    }
}

/// Returns the place of the representation in a successful answer, if it has one.
fn answer_at(outline: &Outline<'_>, id: Option<&str>, at: &str) -> Option<String> {
    let root = outline.success.as_ref()?;
    let shape = Shape::at(root, at)?;
    match id {
        Some(id) if shape.is_open() || shape.property(id).is_some() => Some(at.to_owned()),
        Some(_) => None,
        None => Some(at.to_owned()),
    }
}

/// Decides who owns the fields, and which of them is the mark.
fn own(resource: &mut Resource, read: Option<&Shape>, assumed: &mut Vec<String>) {
    let bodies = [resource.create.as_ref(), resource.replace.as_ref(), resource.patch.as_ref()];
    let shapes: Vec<Shape> = bodies
        .into_iter()
        .flatten()
        .filter_map(|operation| operation.body.as_ref())
        .filter_map(|body| Shape::at(&body.schema, &body.at))
        .collect();
    let sent: Vec<&Shape> = shapes.iter().collect();
    let made_by = resource.id.made_by;
    resource.fields = owners(read, &sent, resource.id.field.as_deref());
    if let (Maker::Client, Some(field)) = (made_by, &resource.id.field)
        && sent.iter().any(|shape| shape.property(field).is_some())
    {
        resource.fields.insert(field.clone(), Owner::Client);
    }
    let is_open =
        !sent.is_empty() && sent.iter().all(|shape| shape.is_open()) && read.is_none_or(Shape::is_open);
    if is_open && resource.fields.values().all(|owner| *owner == Owner::Server) {
        assumed.push(format!(
            "Items of `{}` may have any fields: they are made with a text `title` and a number `rank`, which come back as sent.",
            resource.name
        ));
        for operation in
            [&mut resource.create, &mut resource.replace, &mut resource.patch].into_iter().flatten()
        {
            if let Some(body) = &mut operation.body {
                invent(body, operation.method == "PATCH");
            }
        }
        resource.fields.insert("title".to_owned(), Owner::Client);
        resource.fields.insert("rank".to_owned(), Owner::Client);
        resource.mark = Some("title".to_owned());
        return;
    }
    let whole: Vec<&Shape> = sent;
    resource.mark = mark(&resource.fields, &whole);
    if read.is_none_or(Shape::is_open) && resource.fields.values().any(|owner| *owner == Owner::Client) {
        assumed.push(format!(
            "Fields of `{}` come back as they were sent: the document has no schema of an item that is read.",
            resource.name
        ));
    }
}

/// Gives an object of any fields two that the tester knows.
fn invent(body: &mut crate::plan::BodyPlan, is_patch: bool) {
    let required = if is_patch { serde_json::json!([]) } else { serde_json::json!(["title"]) };
    let fields = serde_json::json!({
        "type": "object",
        "properties": {"title": {"type": "string"}, "rank": {"type": "integer"}},
        "required": required,
    });
    let wrapper = match body.at.strip_prefix('/') {
        Some(name) => serde_json::json!({"type": "object", "properties": {name: fields}, "required": [name]}),
        None => fields,
    };
    let old = body.schema.take();
    let mut both = serde_json::Map::new();
    // Definitions stay at the top, where references look for them.
    let old = match old {
        Value::Object(mut old) => {
            if let Some(definitions) = old.remove("$defs") {
                both.insert("$defs".to_owned(), definitions);
            }
            Value::Object(old)
        }
        other => other,
    };
    both.insert("allOf".to_owned(), serde_json::json!([old, wrapper]));
    body.schema = Value::Object(both);
}

/// Decides on the validator: an entity tag, or a field that numbers the versions.
fn validator(parts: &Parts<'_>, resource: &mut Resource, assumed: &mut Vec<String>) -> Option<Validator> {
    let writes: Vec<&Outline<'_>> = [&parts.put, &parts.patch, &parts.delete].into_iter().flatten().collect();
    let get = parts.get.as_ref()?;
    let is_offered = get.headers.iter().any(|header| header == "etag");
    let conditions: Vec<bool> = writes.iter().filter_map(|outline| outline.if_match()).collect();
    if is_offered || !conditions.is_empty() {
        if !is_offered {
            assumed.push(format!("{} returns `ETag`, because writes take `If-Match`.", get.endpoint.name()));
        }
        let required = conditions.contains(&true) || writes.iter().any(|outline| outline.has_status("428"));
        let silent = |outline: &&Outline<'_>| !outline.headers.iter().any(|header| header == "etag");
        let changes: Vec<&Outline<'_>> = [&parts.put, &parts.patch].into_iter().flatten().collect();
        let on_write = !changes.is_empty() && !changes.iter().any(silent);
        return Some(Validator::Etag { required, on_write });
    }
    let replace = resource.replace.as_ref()?;
    let put = parts.put.as_ref()?;
    if !put.has_status("409") && !put.has_status("412") {
        return None;
    }
    let body = replace.body.as_ref()?;
    let shape = Shape::at(&body.schema, &body.at)?;
    let is_version = |name: &str| VERSIONS.contains(&name.replace(['_', '-'], "").to_lowercase().as_str());
    let field = shape.properties().map(|(name, _)| name).find(|name| is_version(name))?.clone();
    assumed.push(format!(
        "The field `{field}` of `{}` numbers its versions: a replacement with an old one is refused.",
        resource.name
    ));
    resource.fields.insert(field.clone(), Owner::Server);
    if resource.mark.as_ref() == Some(&field) {
        resource.mark = None;
    }
    Some(Validator::Version { field })
}
