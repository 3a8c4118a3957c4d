//! A plan that is ready for use: operations by number, paths of items, schemas compiled.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use crate::message::Op;
use crate::path::{self, Bound};
use crate::plan::{BodyPlan, List, Maker, Operation, Owner, Plan, Resource, Validator};
use crate::schema::{Compiled, Sampler};

/// A plan that is ready for use.
#[derive(Clone, Debug)]
pub struct Outline {
    /// The plan.
    pub plan: Arc<Plan>,
    resources: Vec<Arc<Ready>>,
}

/// A resource that is ready for use.
#[derive(Debug)]
pub(crate) struct Ready {
    pub(crate) name: Arc<str>,
    pub(crate) resource: Resource,
    /// Number of the parent in the plan.
    pub(crate) parent: Option<usize>,
    /// Fields that the client owns.
    pub(crate) own: Vec<Arc<str>>,
    /// Schemas of the answers, by operation and status.
    schemas: BTreeMap<(Op, String), Compiled>,
    /// Schemas of the bodies, by operation, and what makes bodies of them.
    bodies: BTreeMap<Op, (Compiled, Sampler)>,
}

impl Outline {
    /// Checks a plan and prepares it. The error tells what is wrong with it.
    pub fn new(plan: Plan) -> Result<Self, String> {
        if plan.format != crate::plan::FORMAT {
            return Err(format!(
                "`confute-rest: {}` is not a format that this version reads: it reads {}",
                plan.format,
                crate::plan::FORMAT
            ));
        }
        if plan.resources.is_empty() {
            let all = ["it has no resource that can be tested".to_owned()].into_iter().chain(plan.left_out);
            return Err(all.collect::<Vec<_>>().join("\n  "));
        }
        let mut resources = Vec::new();
        for resource in &plan.resources {
            let ready = Ready::new(resource, &plan)
                .map_err(|why| format!("the resource `{}`: {why}", resource.name))?;
            resources.push(Arc::new(ready));
        }
        Ok(Self { plan: Arc::new(plan), resources })
    }

    /// Returns the number of resources.
    pub fn len(&self) -> usize {
        self.resources.len()
    }

    /// Returns `true` if there is no resource, which no outline has.
    pub fn is_empty(&self) -> bool {
        self.resources.is_empty()
    }

    pub(crate) fn get(&self, number: usize) -> Option<&Arc<Ready>> {
        self.resources.get(number)
    }

    pub(crate) fn named(&self, name: &str) -> Option<&Arc<Ready>> {
        self.resources.iter().find(|ready| &*ready.name == name)
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &Arc<Ready>> {
        self.resources.iter()
    }

    /// Returns the ancestors of a resource, the oldest first.
    pub(crate) fn ancestors(&self, number: usize) -> Vec<usize> {
        let mut found = Vec::new();
        let mut at = self.get(number).and_then(|ready| ready.parent);
        while let Some(parent) = at.filter(|parent| !found.contains(parent)) {
            found.insert(0, parent);
            at = self.get(parent).and_then(|ready| ready.parent);
        }
        found
    }
}

impl Ready {
    fn new(resource: &Resource, plan: &Plan) -> Result<Self, String> {
        let parameters = path::parameters(&resource.collection).len();
        if path::parameters(&resource.item).len() != parameters + 1 {
            return Err(format!(
                "`item: {}` has to have the parameters of `collection: {}` and one more, the id",
                resource.item, resource.collection
            ));
        }
        let parent = match &resource.parent {
            Some(name) => Some(
                plan.resources
                    .iter()
                    .position(|other| other.name == *name)
                    .ok_or_else(|| format!("`parent: {name}` is no resource of the plan"))?,
            ),
            None => None,
        };
        let given = parent.map_or(0, |parent| path::parameters(&plan.resources[parent].item).len());
        if given != parameters {
            return Err(format!(
                "`collection: {}` has {parameters} parameters, and the parent gives {given}",
                resource.collection
            ));
        }
        if resource.create.is_none() {
            return Err("it has no `create`, so the tester has no item of its own".to_owned());
        }
        let is_told = resource.id.location || resource.id.field.is_some();
        if resource.id.made_by == Maker::Server && !is_told {
            return Err(
                "the server makes the id, and neither `id.field` nor `id.location` tells it".to_owned()
            );
        }
        let mut ready = Self {
            name: resource.name.as_str().into(),
            resource: resource.clone(),
            parent,
            own: Vec::new(),
            schemas: BTreeMap::new(),
            bodies: BTreeMap::new(),
        };
        let own = resource.fields.iter().filter(|(_, owner)| **owner == Owner::Client);
        ready.own = own.map(|(name, _)| name.as_str().into()).collect();
        ready.compile()?;
        Ok(ready)
    }

    fn compile(&mut self) -> Result<(), String> {
        for op in Op::ALL {
            let schemas = match op {
                Op::List => self.resource.list.as_ref().map(|list| &list.schemas),
                _ => self.operation(op).map(|operation| &operation.schemas),
            };
            let mut compiled = Vec::new();
            for (status, schema) in schemas.into_iter().flatten() {
                let ready = Compiled::new(schema)
                    .map_err(|why| format!("the schema of {} {status}: {why}", op.name()))?;
                compiled.push(((op, status.clone()), ready));
            }
            self.schemas.extend(compiled);
            if let Some(body) = self.body(op) {
                let both =
                    Compiled::new(&body.schema).and_then(|schema| Ok((schema, Sampler::new(&body.schema)?)));
                let both = both.map_err(|why| format!("the schema of the body of {}: {why}", op.name()))?;
                both.1
                    .sample(&mut |_| 0)
                    .map_err(|why| format!("the schema of the body of {}: {why}", op.name()))?;
                self.bodies.insert(op, both);
            }
        }
        Ok(())
    }

    /// Returns the operation, if the service offers it. That of a list is [`list`](Self::list).
    pub(crate) fn operation(&self, op: Op) -> Option<&Operation> {
        match op {
            Op::Create => self.resource.create.as_ref(),
            Op::Read => self.resource.read.as_ref(),
            Op::Replace => self.resource.replace.as_ref(),
            Op::Patch => self.resource.patch.as_ref(),
            Op::Delete => self.resource.delete.as_ref(),
            Op::List => None,
        }
    }

    pub(crate) fn list(&self) -> Option<&List> {
        self.resource.list.as_ref()
    }

    /// Returns `true` if the service offers the operation.
    pub(crate) fn has(&self, op: Op) -> bool {
        if op == Op::List { self.list().is_some() } else { self.operation(op).is_some() }
    }

    pub(crate) fn body(&self, op: Op) -> Option<&BodyPlan> {
        self.operation(op)?.body.as_ref()
    }

    /// Returns the reason why a body does not fit its schema.
    pub(crate) fn misfit(&self, op: Op, body: &Value) -> Option<String> {
        self.bodies.get(&op)?.0.check(body)
    }

    /// Returns a random body.
    pub(crate) fn sample(&self, op: Op, pick: &mut dyn FnMut(u64) -> u64) -> Option<Value> {
        self.bodies.get(&op)?.1.sample(pick).ok()
    }

    /// Returns the reason why an answer does not fit its schema.
    pub(crate) fn flaw(&self, op: Op, status: u16, content: &Value) -> Option<String> {
        let class = format!("{}XX", status / 100);
        let of = |key: &str| self.schemas.get(&(op, key.to_owned()));
        let schema = of(&status.to_string()).or_else(|| of(&class)).or_else(|| of("default"))?;
        schema.check(content)
    }

    pub(crate) fn is_server_made(&self) -> bool {
        self.resource.id.made_by == Maker::Server
    }

    /// Returns the method of an operation.
    pub(crate) fn method(&self, op: Op) -> Arc<str> {
        let named = self.operation(op).map(|operation| operation.method.as_str());
        let usual = match op {
            Op::Create if self.is_server_made() => "POST",
            Op::Create | Op::Replace => "PUT",
            Op::Read | Op::List => "GET",
            Op::Patch => "PATCH",
            Op::Delete => "DELETE",
        };
        named.filter(|method| !method.is_empty()).unwrap_or(usual).into()
    }

    /// Returns `true` if writes name the version that they are to replace in a field of the body.
    pub(crate) fn version_field(&self) -> Option<&str> {
        match &self.resource.validator {
            Some(Validator::Version { field }) => Some(field),
            _ => None,
        }
    }

    /// Returns the path of the collection below this parent.
    pub(crate) fn collection(&self, parent: Option<(&Self, &str)>) -> Option<Arc<str>> {
        let bound = match parent {
            Some((parent, item)) => path::bind(&parent.resource.item, item)?,
            None => Bound::new(),
        };
        path::fill(&self.resource.collection, &bound).map(Into::into)
    }

    /// Returns the path of the item with this id in a collection.
    pub(crate) fn item(&self, collection: &str, id: &str) -> Option<Arc<str>> {
        let mut bound = path::bind(&self.resource.collection, collection)?;
        let last = path::parameters(&self.resource.item).pop()?;
        bound.retain(|(name, _)| *name != last);
        bound.push((last, path::encoded(id)));
        path::fill(&self.resource.item, &bound).map(Into::into)
    }

    /// Returns the id in the path of an item.
    pub(crate) fn id_of(&self, item: &str) -> Option<String> {
        path::bind(&self.resource.item, item)?.pop().map(|(_, id)| path::decoded(&id))
    }

    /// Returns the path of the collection that has this item.
    pub(crate) fn collection_of(&self, item: &str) -> Option<Arc<str>> {
        path::fill(&self.resource.collection, &path::bind(&self.resource.item, item)?).map(Into::into)
    }
}
