//! REST services: from an OpenAPI document, or a plan of a page, to a tester.

pub mod plan;
