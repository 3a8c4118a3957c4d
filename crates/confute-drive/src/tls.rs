//! TLS with the server under test: trusted certificates, and the reasons of failures.
//!
//! The protocol inside TLS is not known here.

use std::fmt;
use std::io;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, ClientConnection, DigitallySignedStruct, Error, RootCertStore,
    SignatureScheme,
};

/// Certificates that are accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust<'a> {
    /// Certificates that this machine trusts.
    System,
    /// Certificates issued by the authorities in this file, as PEM.
    Only(&'a [u8]),
    /// Any certificate: an attacker in between is not noticed.
    Anyone,
}

/// TLS configuration for one server.
pub struct Tls {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Tls").field(&self.name).finish()
    }
}

impl PartialEq for Tls {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.config, &other.config) && self.name == other.name
    }
}

impl Eq for Tls {}

impl Tls {
    /// Creates the configuration for this host, which has to prove its identity. `spoken` lists the
    /// application protocols to offer, such as `http/1.1`.
    pub fn new(host: &str, trust: Trust<'_>, spoken: &[&str]) -> Result<Self, String> {
        let name =
            ServerName::try_from(host.to_owned()).map_err(|_| format!("{host:?} is no name of a host"))?;
        let provider = Arc::new(ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?;
        let mut config = match trust {
            Trust::Anyone => builder
                .dangerous()
                .with_custom_certificate_verifier(Arc::new(Credulous(provider)))
                .with_no_client_auth(),
            Trust::System => builder.with_root_certificates(system()?).with_no_client_auth(),
            Trust::Only(pem) => builder.with_root_certificates(only(pem)?).with_no_client_auth(),
        };
        config.alpn_protocols = spoken.iter().map(|name| name.as_bytes().to_vec()).collect();
        Ok(Self { config: Arc::new(config), name })
    }

    /// Creates the client's side of a new connection.
    pub(crate) fn begin(&self) -> Result<ClientConnection, String> {
        ClientConnection::new(self.config.clone(), self.name.clone()).map_err(|error| error.to_string())
    }
}

fn system() -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() {
        return Err("no certificates are installed on this machine".to_owned());
    }
    Ok(roots)
}

fn only(pem: &[u8]) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(pem) {
        let certificate = certificate.map_err(|error| format!("not PEM: {error}"))?;
        roots.add(certificate).map_err(|error| format!("not a certificate: {error}"))?;
    }
    if roots.is_empty() {
        return Err("there is no certificate in it (it begins with -----BEGIN CERTIFICATE-----)".to_owned());
    }
    Ok(roots)
}

/// Returns the reason why TLS failed, in words, if the error comes from TLS.
pub(crate) fn reason(error: &io::Error) -> Option<String> {
    let error = error.get_ref()?.downcast_ref::<Error>()?;
    Some(match error {
        Error::InvalidCertificate(why) => match why {
            CertificateError::UnknownIssuer | CertificateError::BadSignature => {
                "the issuer of its certificate is not trusted".to_owned()
            }
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                "its certificate is for another name".to_owned()
            }
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                "its certificate has expired".to_owned()
            }
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                "its certificate is not valid yet".to_owned()
            }
            other => format!("its certificate is not acceptable ({other})"),
        },
        Error::InvalidMessage(_) => "it does not speak TLS".to_owned(),
        Error::AlertReceived(alert) => format!("it refused ({alert:?})"),
        other => other.to_string(),
    })
}

/// Verifier that accepts any certificate. Signatures are still checked: the server holds the key of its
/// certificate.
#[derive(Debug)]
struct Credulous(Arc<CryptoProvider>);

impl ServerCertVerifier for Credulous {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
