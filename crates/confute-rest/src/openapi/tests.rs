//! Small documents and the plans they become; broken documents and their messages; mutated documents, which never panic.

use serde_json::{Value, json};

use super::*;
use crate::plan::{Maker, Owner, Validator};
use crate::schema::Sampler;

const TODO: &str = r##"
openapi: 3.0.3
info: {title: To-do, version: "1"}
servers: [{url: "http://localhost:8080/api/{version}/", variables: {version: {default: v1}}}]
security: [{token: []}]
paths:
  /todos:
    get:
      parameters: [{name: page_size, in: query, schema: {type: integer, maximum: 50}}]
      responses: {200: {description: all, content: {application/json: {schema: {$ref: "#/components/schemas/Page"}}}}}
    post:
      requestBody: {content: {application/json: {schema: {$ref: "#/components/schemas/Todo"}}}}
      responses: {201: {description: new, content: {application/json: {schema: {$ref: "#/components/schemas/Todo"}}}}}
  /todos/{todoId}:
    parameters: [{name: todoId, in: path, required: true, schema: {type: string, format: uuid}}]
    get:
      responses:
        200:
          description: it
          headers: {ETag: {schema: {type: string}}}
          content: {application/json: {schema: {$ref: "#/components/schemas/Todo"}}}
    put:
      parameters: [{name: If-Match, in: header, required: true, schema: {type: string}}]
      requestBody: {content: {application/json: {schema: {$ref: "#/components/schemas/Todo"}}}}
      responses: {200: {description: it, content: {application/json: {schema: {$ref: "#/components/schemas/Todo"}}}}}
    delete: {responses: {204: {description: gone}}}
  /todos/{todo}/notes/{key}:
    get: {responses: {200: {description: it, content: {application/json: {schema: {$ref: "#/components/schemas/Note"}}}}}}
    put:
      requestBody: {content: {application/json: {schema: {$ref: "#/components/schemas/Note"}}}}
      responses: {201: {description: new}, 204: {description: replaced}}
  /health:
    get: {responses: {200: {description: well}}}
components:
  securitySchemes: {token: {type: http, scheme: bearer}}
  schemas:
    Page:
      type: object
      properties:
        count: {type: integer}
        results: {type: array, items: {$ref: "#/components/schemas/Todo"}}
    Note: {type: object, required: [text], properties: {text: {type: string}}}
    Todo:
      type: object
      required: [id, title, due]
      properties:
        id: {type: string, readOnly: true}
        created: {type: string, format: date-time, readOnly: true}
        title: {type: string, maxLength: 100}
        note: {type: string, nullable: true}
        due: {type: string, format: date-time}
        password: {type: string, writeOnly: true}
        rank: {type: integer, minimum: 0, exclusiveMinimum: true}
"##;

#[test]
fn a_document_becomes_a_plan() {
    let plan = plan(TODO).unwrap();
    assert_eq!((plan.title.as_str(), plan.base.as_str()), ("To-do", "/api/v1"));
    let [todos, notes] = &plan.resources[..] else { panic!("{plan:?}") };
    assert_eq!((todos.name.as_str(), todos.collection.as_str()), ("todos", "/todos"));
    assert_eq!(todos.item, "/todos/{todoId}");
    assert_eq!(todos.id.field.as_deref(), Some("id"));
    assert_eq!(todos.id.made_by, Maker::Server);
    assert_eq!(todos.mark.as_deref(), Some("title"));
    assert_eq!(todos.validator, Some(Validator::Etag { required: true, on_write: false }));
    let owner = |name: &str| todos.fields.get(name).copied();
    assert_eq!(owner("title"), Some(Owner::Client));
    assert_eq!(owner("note"), Some(Owner::Client));
    assert_eq!(owner("rank"), Some(Owner::Client));
    assert_eq!(owner("created"), Some(Owner::Server));
    assert_eq!(owner("due"), Some(Owner::Unknown), "dates are written in many ways");
    assert_eq!(owner("password"), Some(Owner::Unknown));
    let list = todos.list.as_ref().unwrap();
    assert_eq!((list.items.as_str(), list.partial), ("/results", true));
    assert_eq!(list.query["page_size"], "50");

    let body = &todos.create.as_ref().unwrap().body.as_ref().unwrap().schema;
    let simple = Sampler::new(body).unwrap().sample(&mut |_| 0).unwrap();
    let mut names: Vec<&String> = simple.as_object().unwrap().keys().collect();
    names.sort();
    assert_eq!(names, ["due", "title"], "a request has no field that is readOnly");

    assert_eq!(notes.parent.as_deref(), Some("todos"));
    assert_eq!(notes.item, "/todos/{todoId}/notes/{key}");
    assert_eq!(notes.id.made_by, Maker::Client);
    assert_eq!(notes.create.as_ref().unwrap().method, "PUT");

    assert_eq!(plan.left_out, ["GET /health: neither a collection nor an item of one."]);
    let assumed = plan.assumed.join("\n");
    assert!(assumed.contains("Authorization: Bearer"), "{assumed}");
    assert!(assumed.contains("returns pages"), "{assumed}");
}

#[test]
fn pages_filters_and_json_patch_are_understood() {
    let parameter = |name: &str, schema: Value| json!({"name": name, "in": "query", "schema": schema});
    let thing = json!({"type": "object", "required": ["name"], "properties": {
        "id": {"type": "integer", "readOnly": true}, "name": {"type": "string"}, "done": {"type": "boolean"},
    }});
    let list = |parameters: Value, answer: Value| {
        let content = |schema: &Value| json!({"application/json": {"schema": schema}});
        let document = json!({"openapi": "3.1.0", "paths": {
            "/things": {
                "get": {"parameters": parameters, "responses": {"200": {"content": content(&answer)}}},
                "post": {"requestBody": {"content": content(&thing)}, "responses": {"201": {"content": content(&thing)}}},
            },
            "/things/{id}": {
                "get": {"responses": {"200": {"content": content(&thing)}}},
                "patch": {
                    "requestBody": {"content": {"application/json-patch+json": {"schema": {"type": "array"}}}},
                    "responses": {"200": {"content": content(&thing)}},
                },
            },
        }});
        plan(&document.to_string()).unwrap().resources.remove(0)
    };
    let all = json!({"type": "array", "items": thing});
    let integer = || json!({"type": "integer"});
    let by_offset = json!([
        parameter("_limit", integer()),
        parameter("offset", integer()),
        parameter("done", json!({"type": "boolean"})),
        parameter("id", integer()),
        parameter("sort", json!({"type": "string"}))
    ]);
    let resource = list(by_offset, all.clone());
    let pages = resource.list.as_ref().unwrap().pages.clone().unwrap();
    assert_eq!((pages.limit.as_deref(), pages.offset.as_deref()), (Some("_limit"), Some("offset")));
    assert_eq!(resource.list.unwrap().filters, ["done"], "only fields that the client owns select items");
    let body = resource.patch.unwrap().body.unwrap();
    assert_eq!(body.media, "application/json-patch+json");
    assert!(body.schema.get("required").is_none() && body.schema["properties"].get("name").is_some());

    let by_number = list(json!([parameter("page", json!({"type": "integer", "minimum": 0}))]), all.clone());
    let number = by_number.list.unwrap().pages.unwrap().number.unwrap();
    assert_eq!((number.name.as_str(), number.first), ("page", 0));
    let wrapped = json!({"type": "object", "properties": {"items": all, "next_cursor": {"type": "string"}}});
    let by_cursor = list(json!([parameter("cursor", json!({"type": "string"}))]), wrapped);
    assert_eq!(by_cursor.list.unwrap().pages.unwrap().cursor.unwrap().at, "/next_cursor");
}

/// Puts operations around the schemas of a representation that is sent and one that is returned.
fn document(sent: Value, returned: Value) -> String {
    let content = |schema: &Value| json!({"application/json": {"schema": schema}});
    let document = json!({"openapi": "3.1.0", "paths": {
        "/things": {"post": {
            "requestBody": {"content": content(&sent)},
            "responses": {"201": {"content": content(&returned)}},
        }},
        "/things/{id}": {
            "get": {"responses": {"200": {"content": content(&returned)}}},
            "put": {"requestBody": {"content": content(&sent)}, "responses": {"200": {"content": content(&returned)}}},
        },
    }});
    serde_json::to_string_pretty(&document).unwrap()
}

#[test]
fn wrappers_are_seen_through() {
    let object =
        json!({"type": "object", "properties": {"id": {"type": "integer"}, "name": {"type": "string"}}});
    let wrapped = json!({"type": "object", "required": ["data"], "properties": {"data": object}});
    let plan = plan(&document(wrapped.clone(), wrapped)).unwrap();
    let create = plan.resources[0].create.as_ref().unwrap();
    assert_eq!(create.answer.as_deref(), Some("/data"));
    assert_eq!(create.body.as_ref().unwrap().at, "/data");
    assert_eq!(plan.resources[0].mark.as_deref(), Some("name"));
    let text = create.body.as_ref().unwrap().schema.to_string();
    assert!(!text.contains("\"id\""), "an id that the server makes is no part of a request: {text}");
}

#[test]
fn an_id_that_requests_must_have_is_the_clients() {
    let object = json!({"type": "object", "required": ["id"], "properties": {"id": {"type": "integer"}, "name": {"type": "string"}}});
    let plan = plan(&document(object.clone(), object)).unwrap();
    assert_eq!(plan.resources[0].id.made_by, Maker::Client);
    assert_eq!(plan.resources[0].create.as_ref().unwrap().method, "POST");
}

#[test]
fn documents_without_schemas_lead_to_assumptions() {
    let plan = plan(&document(json!({}), json!({}))).unwrap();
    let thing = &plan.resources[0];
    assert_eq!(thing.id.field.as_deref(), Some("id"));
    assert_eq!(thing.mark.as_deref(), Some("title"));
    let body = &thing.create.as_ref().unwrap().body.as_ref().unwrap().schema;
    let simple = Sampler::new(body).unwrap().sample(&mut |_| 0).unwrap();
    assert!(simple["title"].is_string());
    assert!(plan.assumed.iter().any(|one| one.contains("may have any fields")), "{:?}", plan.assumed);
}

#[test]
fn a_version_field_counts_only_where_an_old_one_is_refused() {
    let object = json!({"type": "object", "properties": {"id": {"type": "integer"}, "version": {"type": "integer"}, "name": {"type": "string"}}});
    let text = document(object.clone(), object);
    assert_eq!(plan(&text).unwrap().resources[0].validator, None);
    let mut value: Value = serde_json::from_str(&text).unwrap();
    value["paths"]["/things/{id}"]["put"]["responses"]["409"] = json!({"description": "outdated"});
    let versioned = plan(&value.to_string()).unwrap();
    assert_eq!(versioned.resources[0].validator, Some(Validator::Version { field: "version".to_owned() }));
}

#[test]
fn broken_documents_are_reported_with_place_and_next_step() {
    let object = json!({"type": "object", "properties": {"id": {"type": "integer"}}});
    let with = |from: &str, to: &str| {
        assert!(TODO.contains(from), "{from}");
        TODO.replacen(from, to, 1)
    };
    let impossible = json!({"type": "object", "required": ["a"], "properties": {"a": {"type": "integer", "minimum": 3, "maximum": 2}}});
    let cases = [
        (String::new(), vec!["is empty", "next: name the file"]),
        ("{\"openapi\": \"3.0.0\",\n \"paths\": {,}}".to_owned(), vec!["line 2, column 12", "JSON"]),
        ("openapi: 3.0.0\npaths: [\n".to_owned(), vec!["line 3", "YAML"]),
        ("openapi: 3.0.0\nopenapi: 3.0.0\n".to_owned(), vec!["`openapi` occurs twice", "line 2, column 1"]),
        ("<!DOCTYPE html><html></html>".to_owned(), vec!["no OpenAPI document"]),
        ("swagger: '2.0'\npaths: {}\n".to_owned(), vec!["Swagger 2.0", "line 1", "convert it"]),
        ("openapi: 2.1\npaths: {}\n".to_owned(), vec!["`openapi` is 2.1"]),
        ("openapi: 3.0.0\n".to_owned(), vec!["no `paths`"]),
        (
            "openapi: 3.0.0\npaths:\n  todos: {get: {}}\n".to_owned(),
            vec!["does not begin with a slash", "line 3"],
        ),
        (
            with("#/components/schemas/Note", "#/components/schemas/Nota"),
            vec!["schemas/Nota", "line 28", "no such part"],
        ),
        (with("#/components/schemas/Note", "other.yaml#/Note"), vec!["other.yaml", "bundle"]),
        (
            "openapi: 3.0.0\npaths:\n  /health: {get: {}}\n".to_owned(),
            vec!["no path", "seen: GET /health", "by hand"],
        ),
        (
            "openapi: 3.0.0\npaths:\n  /a/{id}: {get: {responses: {200: {description: x}}}}\n".to_owned(),
            vec!["seen: /a/{id}: nothing creates an item"],
        ),
        (
            document(impossible, object),
            vec!["no valid body for POST /things", "/a", "line 9", "next: correct the schema"],
        ),
    ];
    for (text, parts) in cases {
        let error = match plan(&text) {
            Ok(plan) => panic!("{text} became {plan:?}"),
            Err(error) => error.to_string(),
        };
        for part in parts {
            assert!(error.contains(part), "no `{part}` in: {error}");
        }
    }
}

#[test]
fn yaml_and_json_say_the_same() {
    let yaml = "a: &x [1, 2.5, -3, .5, 'it''s', \"q\", ~, yes, true]\nb: *x\nc: {<<: {d: 1, e: 2}, e: 3}\n200: |\n  two\n  lines\n";
    let expected = json!({
        "a": [1, 2.5, -3, 0.5, "it's", "q", null, "yes", true],
        "b": [1, 2.5, -3, 0.5, "it's", "q", null, "yes", true],
        "c": {"d": 1, "e": 3},
        "200": "two\nlines\n",
    });
    assert_eq!(read_yaml_or_json(yaml).unwrap(), expected);
    assert_eq!(read_yaml_or_json(&expected.to_string()).unwrap(), expected);
}

#[test]
fn a_document_that_multiplies_itself_is_refused() {
    let mut text = "a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n".to_owned();
    for level in 1..12 {
        let before = vec![format!("*a{}", level - 1); 10].join(", ");
        text = format!("{text}a{level}: &a{level} [{before}]\n");
    }
    let error = read_yaml_or_json(&text).unwrap_err().to_string();
    assert!(error.contains("more than"), "{error}");
    let deep = format!("a: {}{}", "[".repeat(5_000), "]".repeat(5_000));
    assert!(read_yaml_or_json(&deep).is_err());
}

/// Numbers for mutations.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit.max(1)
    }
}

/// Changes one random part of a document.
fn mutate(value: &mut Value, parts: &[Value], dice: &mut Dice) {
    let size = match &*value {
        Value::Object(map) => map.len(),
        Value::Array(list) => list.len(),
        _ => 0,
    };
    if size == 0 || dice.below(12) == 0 {
        *value = parts[dice.below(parts.len())].clone();
        return;
    }
    let index = dice.below(size);
    let remove = dice.below(10) == 0;
    match value {
        Value::Object(map) => {
            let key = map.keys().nth(index).unwrap().clone();
            if remove {
                map.remove(&key);
            } else {
                mutate(&mut map[&key], parts, dice);
            }
        }
        Value::Array(list) if remove => {
            list.remove(index);
        }
        Value::Array(list) => mutate(&mut list[index], parts, dice),
        _ => {}
    }
}

#[test]
fn mutated_documents_end_in_a_plan_or_a_message() {
    let original = read_yaml_or_json(TODO).unwrap();
    let parts = [
        json!(null),
        json!(true),
        json!(-1),
        json!(1e300),
        json!(""),
        json!("x/~{}"),
        json!([]),
        json!({}),
        json!("object"),
        json!({"$ref": "#/components/schemas/Todo"}),
        json!({"$ref": "#"}),
        json!({"$ref": "#/paths"}),
        json!({"$ref": 5}),
        json!({"allOf": [{"$ref": "#/components/schemas/Page"}, false]}),
        json!(["null", "array"]),
        json!({"type": "array"}),
        original["paths"].clone(),
        original["components"]["schemas"]["Todo"].clone(),
    ];
    let mut dice = Dice(25);
    let (mut plans, mut errors) = (0, 0);
    for _ in 0..700 {
        let mut mutated = original.clone();
        for _ in 0..=dice.below(3) {
            mutate(&mut mutated, &parts, &mut dice);
        }
        match plan(&mutated.to_string()) {
            Ok(plan) => {
                plans += 1;
                for resource in &plan.resources {
                    for operation in
                        [&resource.create, &resource.replace, &resource.patch].into_iter().flatten()
                    {
                        let Some(body) = &operation.body else { continue };
                        let made = Sampler::new(&body.schema).and_then(|sampler| sampler.sample(&mut |_| 0));
                        made.unwrap_or_else(|error| {
                            panic!("{mutated} has a body that cannot be made: {error}")
                        });
                    }
                }
            }
            Err(error) => {
                errors += 1;
                assert!(error.to_string().contains("next: "), "{error}");
            }
        }
    }
    assert!(plans > 50 && errors > 50, "{plans} plans and {errors} messages: one of them was hardly tried");
}

#[test]
fn mutated_text_never_panics() {
    let mut dice = Dice(7);
    let bytes = TODO.as_bytes();
    for _ in 0..700 {
        let mut text = bytes.to_vec();
        for _ in 0..=dice.below(4) {
            let (from, to) = (dice.below(text.len()), dice.below(text.len()));
            match dice.below(3) {
                0 => text[from] = b"{}[]:,&*!|>'\"#-\n\t %\\"[dice.below(19)],
                1 => {
                    text.drain(from.min(to)..from.max(to).min(from.min(to) + 9));
                }
                _ => text.truncate(from.max(40)),
            }
        }
        let _ = plan(&String::from_utf8_lossy(&text));
    }
}
