//! A stored case as a Rust test, for `cargo test`.

use crate::stored::{About, File};

/// Returns the source of a test that repeats this case.
pub fn rust_test(file: &File) -> String {
    let About { seen, .. } = &file.about;
    let name: String =
        file.about.blame.first().map_or_else(|| "unexplained".to_owned(), |rules| rules.join("_and_"));
    let name: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' }).collect();
    let text = file.text();
    // One hash more than follow any quote in the text, so that no quote ends the literal.
    let most = text.split('"').skip(1).map(|rest| rest.len() - rest.trim_start_matches('#').len()).max();
    let hashes = "#".repeat(1 + most.unwrap_or_default());
    let seen = seen.replace(['\n', '\r'], " ");
    format!(
        "// Refuted: {}.\n// Seen, and not to be explained: {seen}\n//\n// In Cargo.toml: [dev-dependencies] \
         confute-test. Start your server in the test instead of asking for its URL,\n// and leave out #[ignore].\n\n\
         #[test]\n#[ignore = \"needs a server: CONFUTE_URL=http://127.0.0.1:8080/ cargo test -- --ignored\"]\n\
         fn {name}() {{\n    let url = std::env::var(\"CONFUTE_URL\").expect(\"CONFUTE_URL names the server\");\n    \
         confute_test::still_passes(CASE, &url);\n}}\n\nconst CASE: &str = r{hashes}\"{text}\"{hashes};\n",
        file.about.blamed_on(),
    )
}
