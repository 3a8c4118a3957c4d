//! Private REST services: programs of a page on well-known frameworks, and two servers that are complete by themselves.
//!
//! | service | packages | document |
//! |---|---|---|
//! | [`Service::FastApi`] | `fastapi`, `uvicorn` of `PyPI` | its own, `/openapi.json` |
//! | [`Service::Django`] | `djangorestframework`, `drf-spectacular`, `cheroot` of `PyPI` | its own, `/schema` |
//! | [`Service::Smorest`] | `flask-smorest`, `cheroot` of `PyPI` | its own, `/openapi.json` |
//! | [`Service::Kinto`] | `kinto` of `PyPI` | `kinto.yaml`, of a page |
//! | [`Service::JsonServer`] | `json-server` 0.17 of npm | `json_server.yaml`, of a page |
//!
//! `cargo xtask` installs the packages into `target/python` and `target/node` of this workspace.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};

use crate::life::{Life, PATIENCE, Plan, Recipe, ServerError};

/// Directory of the packages of `PyPI`.
const PYTHON: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/python");
/// Directory of the packages of npm.
const NODE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/node");
/// Beginning of each program in Python: it reads the arguments and writes the pid file.
const OPENING: &str = include_str!("opening.py");

/// A service that can be started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Service {
    /// To-dos in `FastAPI`, on `SQLite`.
    FastApi,
    /// Books in Django REST framework, on `SQLite`.
    Django,
    /// Pets in flask-smorest, in memory, with entity tags.
    Smorest,
    /// Kinto, with its storage in memory. It asks for credentials: any user and password.
    Kinto,
    /// json-server, with its database in a file.
    JsonServer,
}

impl Service {
    /// All services.
    pub const ALL: [Self; 5] = [Self::FastApi, Self::Django, Self::Smorest, Self::Kinto, Self::JsonServer];

    /// Returns the name of the service.
    pub fn name(self) -> &'static str {
        match self {
            Self::FastApi => "fastapi",
            Self::Django => "django",
            Self::Smorest => "smorest",
            Self::Kinto => "kinto",
            Self::JsonServer => "json-server",
        }
    }

    /// Returns the header field that carries credentials, if the service asks for them.
    pub fn credentials(self) -> Option<&'static str> {
        (self == Self::Kinto).then_some("Authorization: Basic Y29uZnV0ZTpjb25mdXRl")
    }

    /// Returns the path under which the service offers its document, or the document that was written for it.
    fn document(self) -> Result<&'static str, &'static str> {
        match self {
            Self::FastApi | Self::Smorest => Ok("/openapi.json"),
            Self::Django => Ok("/schema"),
            Self::Kinto => Err(include_str!("kinto.yaml")),
            Self::JsonServer => Err(include_str!("json_server.yaml")),
        }
    }

    fn program(self) -> &'static str {
        match self {
            Self::FastApi => include_str!("fastapi.py"),
            Self::Django => include_str!("django.py"),
            Self::Smorest => include_str!("smorest.py"),
            Self::Kinto => include_str!("kinto.py"),
            Self::JsonServer => include_str!("json_server.js"),
        }
    }

    fn recipe(self) -> Recipe<'static> {
        /// Builds the path of a package.
        macro_rules! module {
            ($path:literal) => {
                concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/", $path)
            };
        }
        let (packages, module) = match self {
            Self::FastApi => {
                ("python3-pip, then cargo xtask test (fastapi, uvicorn)", module!("python/fastapi"))
            }
            Self::Django => (
                "python3-pip, then cargo xtask test (djangorestframework)",
                module!("python/drf_spectacular"),
            ),
            Self::Smorest => {
                ("python3-pip, then cargo xtask test (flask-smorest)", module!("python/flask_smorest"))
            }
            Self::Kinto => ("python3-pip, then cargo xtask test (kinto)", module!("python/kinto")),
            Self::JsonServer => {
                ("npm, then cargo xtask test (json-server)", module!("node/node_modules/json-server"))
            }
        };
        Recipe {
            name: self.name(),
            packages,
            program: if self == Self::JsonServer { "node" } else { "python3" },
            module,
            arguments: |dir| vec![dir.join("program").display().to_string()],
            forks: false,
            serves: false,
        }
    }
}

/// A running service. Dropping it stops the service and removes its directory.
#[derive(Debug)]
pub struct RestServer {
    life: Life,
    service: Service,
}

impl RestServer {
    /// Starts a service and waits until it accepts connections.
    pub fn start(service: Service) -> Result<Self, ServerError> {
        let (opening, packages) = match service {
            Service::JsonServer => ("", NODE),
            _ => (OPENING, PYTHON),
        };
        let plan = |dir: &std::path::Path, address: SocketAddr| Plan {
            files: vec![("program", format!("{opening}{}", service.program()))],
            arguments: vec![packages.to_owned(), dir.display().to_string(), address.port().to_string()],
        };
        Life::begin_planned(&service.recipe(), &plan).map(|life| Self { life, service })
    }

    /// Returns the address that the service listens on.
    pub fn address(&self) -> SocketAddr {
        self.life.address
    }

    /// Returns the `OpenAPI` document: the one that the service offers, or the one that was written for it.
    pub fn document(&self) -> io::Result<String> {
        match self.service.document() {
            Ok(path) => fetch(self.address(), path),
            Err(text) => Ok(text.to_owned()),
        }
    }
}

/// Returns the content at a path.
fn fetch(address: SocketAddr, path: &str) -> io::Result<String> {
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    // HTTP/1.0 keeps servers from sending the content in chunks.
    write!(stream, "GET {path} HTTP/1.0\r\nHost: {address}\r\n\r\n")?;
    let mut answer = String::new();
    stream.take(1 << 22).read_to_string(&mut answer)?;
    match answer.split_once("\r\n\r\n") {
        Some((head, content)) if head.starts_with("HTTP/1.") && head.contains(" 200 ") => {
            Ok(content.to_owned())
        }
        _ => Err(io::Error::other(format!(
            "GET {path} was answered: {}",
            answer.lines().next().unwrap_or("nothing")
        ))),
    }
}
