//! https: the embedded server behind TLS, with valid and invalid certificates.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use confute_testbed::embedded::{Bug, Config, Embedded};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use super::{confute, said};

/// An authority, and a server with a certificate from it for this name.
struct Secured {
    address: SocketAddr,
    /// File with the authority's certificate.
    ca: PathBuf,
}

impl Drop for Secured {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.ca);
    }
}

fn secured(name: &str, config: Config) -> Secured {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new([name.to_owned()]).unwrap().signed_by(&key, &issuer).unwrap();
    let tls = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![certificate.der().clone()],
            PrivateKeyDer::try_from(key.serialize_der()).unwrap(),
        )
        .unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let ca = std::env::temp_dir().join(format!("confute-ca-{}-{}.pem", std::process::id(), address.port()));
    std::fs::write(&ca, issuer.pem()).unwrap();
    let (server, tls) = (Embedded::start(config).unwrap(), Arc::new(tls));
    thread::spawn(move || {
        for client in listener.incoming() {
            let tls = ServerConnection::new(tls.clone()).unwrap();
            let behind = TcpStream::connect(server.addr()).unwrap();
            thread::spawn(move || pass_on(StreamOwned::new(tls, client.unwrap()), behind));
        }
    });
    Secured { address, ca }
}

/// Relays bytes in both directions, by turns.
fn pass_on(mut client: StreamOwned<ServerConnection, TcpStream>, mut behind: TcpStream) -> Option<()> {
    client.sock.set_nodelay(true).ok()?;
    behind.set_nodelay(true).ok()?;
    client.sock.set_read_timeout(Some(Duration::from_millis(1))).ok()?;
    behind.set_read_timeout(Some(Duration::from_millis(1))).ok()?;
    let mut buffer = [0; 16 << 10];
    let waits = |error: &std::io::Error| matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut);
    loop {
        match client.read(&mut buffer) {
            Ok(0) => return None,
            Ok(count) => behind.write_all(&buffer[..count]).ok()?,
            Err(error) if waits(&error) => {}
            Err(_) => return None,
        }
        match behind.read(&mut buffer) {
            Ok(0) => {
                client.conn.send_close_notify();
                client.flush().ok()?;
                return None;
            }
            Ok(count) => client.write_all(&buffer[..count]).ok()?,
            Err(error) if waits(&error) => {}
            Err(_) => return None,
        }
    }
}

fn https(server: &Secured, more: &[&str]) -> (i32, String, String) {
    let url = format!("https://{}/", server.address);
    said(confute().args(["http", &url, "--seed", "1", "--connections", "8"]).args(more))
}

#[test]
fn a_server_behind_tls_is_tested_like_any_other() {
    let server = secured("127.0.0.1", Config::default());
    let ca = server.ca.display().to_string();
    let (code, out, err) = https(&server, &["--ca", &ca, "--max-time", "4s"]);
    assert_eq!(code, 0, "{out}{err}");
    let answers: u64 = out
        .split('(')
        .nth(1)
        .and_then(|rest| rest.split_whitespace().next()?.replace(',', "").parse().ok())
        .unwrap();
    assert!(answers > 50, "{out}");
    let wrong = secured("127.0.0.1", Config::default().bug(Bug::IfMatchIgnoredOnPut));
    let (code, out, err) = https(&wrong, &["--insecure", "--max-failures", "1", "--max-time", "20s"]);
    assert_eq!(code, 1, "{out}{err}");
    assert!(out.contains("rfc9110-13.1.1/if-match"), "{out}");
}

#[test]
fn certificates_that_prove_nothing() {
    let server = secured("127.0.0.1", Config::default());
    let other = secured("elsewhere.example", Config::default());
    let cases = [
        // Untrusted issuer; another name; not a certificate; no such file.
        (
            https(&server, &["--ca", &other.ca.display().to_string()]),
            "the issuer of its certificate is not trusted",
        ),
        (https(&server, &[]), "certificate"),
        (https(&other, &["--ca", &other.ca.display().to_string()]), "is for another name"),
        (https(&server, &["--ca", "/dev/null"]), "there is no certificate in it"),
        (https(&server, &["--ca", "/no/such/file"]), "cannot be read"),
    ];
    for ((code, out, err), part) in cases {
        assert!(code == 2 && err.contains(part) && err.lines().count() == 1, "{part}: {code} {out}{err}");
        assert!(err.contains("--ca") || err.contains("--insecure"), "{err}");
    }
}

#[test]
fn the_wrong_scheme() {
    let plain = Embedded::start(Config::default()).unwrap();
    let (code, _, err) = said(confute().args(["http", &format!("https://{}/", plain.addr()), "--insecure"]));
    assert!(code == 2 && err.contains("did you mean http://?"), "{err}");
    let (code, _, err) = said(confute().args(["http", &format!("http://{}/", plain.addr()), "--insecure"]));
    assert!(code == 2 && err.contains("about https://"), "{err}");
    let server = secured("127.0.0.1", Config::default());
    let (code, out, _) =
        said(confute().args(["http", &format!("http://{}/", server.address), "--patience", "1s"]));
    assert!(code == 3 && out.contains("https://"), "{out}");
}
