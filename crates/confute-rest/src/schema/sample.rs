//! The sampler: a walk over a schema that chooses one of the values it allows.
//!
//! Values are chosen to survive a service that stores them: strings are short lower-case words without blanks, numbers are
//! multiples of one half, and null is sent only where nothing else is allowed, because services differ in whether they store
//! it or leave the field out.

use jsonschema::Validator;
use serde_json::{Map, Value};

use super::{Error, compile, first_error, merge, number, object, word};

/// Number of attempts to find a value that satisfies the whole schema.
const ATTEMPTS: u64 = 40;
/// Depth from which optional parts are left out.
const DEEP: usize = 4;
/// Depth at which a schema counts as one that requires itself without end.
const TOO_DEEP: usize = 24;

/// A schema from which values are made.
#[derive(Debug)]
pub struct Sampler {
    root: Value,
    validator: Validator,
}

impl Sampler {
    /// Compiles a schema.
    pub fn new(schema: &Value) -> Result<Self, Error> {
        Ok(Self { root: schema.clone(), validator: compile(schema, true)? })
    }

    /// Makes a valid value. `pick(n)` returns a number below `n`; zeros lead to a small value.
    pub fn sample(&self, pick: &mut dyn FnMut(u64) -> u64) -> Result<Value, Error> {
        let mut last = match self.attempt(pick) {
            Ok(value) => return Ok(value),
            Err(error) => error,
        };
        // Later attempts must differ from the first even if `pick` always returns 0.
        let seed = pick(1 << 32);
        for attempt in 1..ATTEMPTS {
            let mut state = seed.wrapping_add(attempt.wrapping_mul(0x9E37_79B9_7F4A_7C15)) | 1;
            let mut own = |below: u64| {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                state % below.max(1)
            };
            match self.attempt(&mut own) {
                Ok(value) => return Ok(value),
                Err(error) => last = error,
            }
        }
        // Examples of the document's author are the last resort, for patterns and conditions beyond the sampler.
        let mut examples = self.root.get("examples").and_then(Value::as_array).into_iter().flatten();
        let valid = examples.find(|one| self.validator.is_valid(one)).cloned();
        valid.ok_or(last)
    }

    fn attempt(&self, pick: &mut dyn FnMut(u64) -> u64) -> Result<Value, Error> {
        let mut walk = Walk { root: &self.root, pick, place: String::new(), depth: 0 };
        let value = walk.any(&self.root)?;
        match first_error(&self.validator, &value) {
            None => Ok(value),
            Some(reason) => Err(Error::unsatisfiable("", reason)),
        }
    }
}

/// A walk over a schema.
pub(super) struct Walk<'a> {
    root: &'a Value,
    pub(super) pick: &'a mut dyn FnMut(u64) -> u64,
    /// JSON pointer to the value that is being made.
    pub(super) place: String,
    depth: usize,
}

impl Walk<'_> {
    /// Returns an error about the present place.
    pub(super) fn fail<T>(&self, reason: impl Into<String>) -> Result<T, Error> {
        Err(Error::unsatisfiable(&self.place, reason))
    }

    /// Returns `true` if optional parts are left out, because the value is nested deeply.
    pub(super) fn is_deep(&self) -> bool {
        self.depth > DEEP
    }

    /// Makes the value of a part.
    pub(super) fn part(&mut self, key: &str, schema: &Value) -> Result<Value, Error> {
        let length = self.place.len();
        self.place.push('/');
        self.place.push_str(key);
        let value = self.any(schema);
        self.place.truncate(length);
        value
    }

    fn any(&mut self, schema: &Value) -> Result<Value, Error> {
        if self.depth > TOO_DEEP {
            return self.fail("the schema requires itself without end");
        }
        self.depth += 1;
        let value = match merge::flat(self.root, schema) {
            Some(plain) => self.plain(plain),
            None => self.fail("the schema allows no value, or its references lead in a circle"),
        };
        self.depth -= 1;
        value
    }

    fn plain(&mut self, mut schema: Map<String, Value>) -> Result<Value, Error> {
        if let Some(value) = schema.get("const") {
            return Ok(value.clone());
        }
        if let Some(values) = schema.get("enum").and_then(Value::as_array) {
            return self.one_of_values(values);
        }
        for key in ["oneOf", "anyOf"] {
            if let Some(Value::Array(branches)) = schema.remove(key) {
                return self.branch(schema, &branches);
            }
        }
        if let Some(condition) = schema.remove("if") {
            let then = schema.remove("then").unwrap_or(Value::Bool(true));
            let otherwise = schema.remove("else").unwrap_or(Value::Bool(true));
            let all = match (self.pick)(2) {
                0 => vec![Value::Object(schema), condition, then],
                _ => vec![Value::Object(schema), otherwise],
            };
            return self.any(&serde_json::json!({ "allOf": all }));
        }
        let mut types = merge::types(&schema);
        let is_empty = schema.get("type").is_some_and(Value::is_array) && types.is_empty();
        if is_empty {
            return self.fail("its demands on the type exclude each other");
        }
        // Null is last in the list, and only taken if it is alone.
        if types.len() > 1 {
            types.retain(|one| one != "null");
        }
        let choice =
            types.get((self.pick)(types.len().max(1) as u64) as usize).map_or("string", String::as_str);
        match choice {
            "null" => Ok(Value::Null),
            "boolean" => Ok(Value::Bool((self.pick)(2) == 1)),
            "integer" => number::integer(self, &schema),
            "number" => number::number(self, &schema),
            "array" => object::array(self, &schema),
            "object" => object::object(self, &schema),
            _ => word::string(self, &schema),
        }
    }

    fn one_of_values(&mut self, values: &[Value]) -> Result<Value, Error> {
        let mut possible: Vec<&Value> = values.iter().filter(|value| !value.is_null()).collect();
        if possible.is_empty() {
            possible = values.iter().collect();
        }
        match possible.get((self.pick)(possible.len().max(1) as u64) as usize) {
            Some(value) => Ok((*value).clone()),
            None => self.fail("no value of `enum` is left"),
        }
    }

    fn branch(&mut self, base: Map<String, Value>, branches: &[Value]) -> Result<Value, Error> {
        let mut possible: Vec<Map<String, Value>> = branches
            .iter()
            .filter_map(|branch| merge::flat(self.root, branch))
            .filter(|branch| merge::types(branch) != ["null"])
            .collect();
        if possible.is_empty() {
            possible = branches.iter().filter_map(|branch| merge::flat(self.root, branch)).collect();
        }
        if possible.is_empty() {
            return self.fail("none of its alternatives allows a value");
        }
        let chosen = possible.swap_remove((self.pick)(possible.len() as u64) as usize);
        self.any(&Value::Object(merge::merge(base, chosen)))
    }
}
