//! All rules there are: those of the small models and those of the protocols.

use confute::lang::Rule;
use confute_models::registry;

/// The rules of one model.
pub(crate) struct Book {
    /// The model, or the protocol.
    pub(crate) name: &'static str,
    /// In one sentence.
    pub(crate) summary: &'static str,
    pub(crate) rules: &'static [Rule],
    /// The command that a rule is relaxed in.
    pub(crate) command: &'static str,
}

/// The protocols first: they are what the tool is for.
pub(crate) fn books() -> impl Iterator<Item = Book> {
    let protocols = [
        Book {
            name: "http",
            summary: "An HTTP/1.1 origin server, after RFC 9110 and 9112.",
            rules: confute_http::rules::RULES,
            command: "confute http URL",
        },
        Book {
            name: "http-gateway",
            summary: "An HTTP/1.1 gateway (a reverse proxy), after RFC 9110, 9111 and 9112.",
            rules: confute_http::proxy::rules::ALL,
            command: "confute http URL --origin ADDR",
        },
        Book {
            name: "memcached",
            summary: "A memcached server, spoken to in the text protocol.",
            rules: confute_memcached::rules::ALL,
            command: "confute memcached ADDR",
        },
    ];
    let models = registry::models().iter().map(|model| Book {
        name: model.name(),
        summary: model.summary(),
        rules: model.rules(),
        command: "confute check FILE",
    });
    protocols.into_iter().chain(models)
}

/// What the standard asks, in our words, and its clause, where there is more to say than the summary.
pub(crate) fn standard(name: &str) -> Option<(&'static str, &'static str)> {
    confute_http::rules::explain(name).map(|more| (more.clause, more.text))
}

/// A rule by its name, and where it stands.
pub(crate) fn rule(name: &str) -> Option<(Book, &'static Rule)> {
    books().find_map(|book| {
        let rule = book.rules.iter().find(|rule| rule.name == name)?;
        Some((book, rule))
    })
}
