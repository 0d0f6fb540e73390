//! Certificates for servers on loopback: an authority of their own, and what it signed.

use std::path::{Path, PathBuf};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    date_time_ymd,
};
use tempfile::TempDir;

use crate::waiting::Result;

/// A certificate authority, a certificate for the servers and one for a client, as PEM files in a folder of their own.
#[derive(Debug)]
pub struct Certificates {
    folder: TempDir,
}

impl Certificates {
    /// Makes all of them anew.
    pub fn make() -> Result<Self> {
        Self::of_server(&["127.0.0.1", "localhost"], 4096)
    }

    /// As [`make`](Self::make), with a server of these names, whose certificate is good until the year begins.
    pub fn of_server(names: &[&str], until: i32) -> Result<Self> {
        let made = Self { folder: tempfile::tempdir()? };
        let mut authority = named("an authority for tests", Vec::new())?;
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority = CertifiedIssuer::self_signed(authority, KeyPair::generate()?)?;
        std::fs::write(made.authority(), authority.pem())?;
        let names = names.iter().map(|&name| name.into()).collect();
        for (name, names, until, usage) in [
            ("server", names, until, ExtendedKeyUsagePurpose::ServerAuth),
            ("client", Vec::new(), 4096, ExtendedKeyUsagePurpose::ClientAuth),
        ] {
            let mut params = named(name, names)?;
            params.not_after = date_time_ymd(until, 1, 1);
            // Servers of a cluster are each other's clients.
            params.extended_key_usages = vec![usage, ExtendedKeyUsagePurpose::ClientAuth];
            params.use_authority_key_identifier_extension = true;
            let key = KeyPair::generate()?;
            std::fs::write(made.file(name, "crt"), params.signed_by(&key, &authority)?.pem())?;
            std::fs::write(made.file(name, "key"), key.serialize_pem())?;
        }
        Ok(made)
    }

    fn file(&self, name: &str, kind: &str) -> PathBuf {
        self.folder.path().join(format!("{name}.{kind}"))
    }

    /// The file of the authority's certificate.
    pub fn authority(&self) -> PathBuf {
        self.folder.path().join("authority.crt")
    }

    /// The files of the client's certificate and its key.
    pub fn identity(&self) -> [PathBuf; 2] {
        [self.file("client", "crt"), self.file("client", "key")]
    }

    /// The settings of a server that speaks TLS at this port. It wants a certificate of its clients where told so.
    pub(crate) fn settings(&self, port: u16, wants_certificates: bool) -> Vec<String> {
        let text = |path: &Path| path.display().to_string();
        let settings = [
            ("--tls-port", port.to_string()),
            ("--tls-cert-file", text(&self.file("server", "crt"))),
            ("--tls-key-file", text(&self.file("server", "key"))),
            ("--tls-ca-cert-file", text(&self.authority())),
            ("--tls-auth-clients", if wants_certificates { "yes" } else { "no" }.into()),
        ];
        settings.into_iter().flat_map(|(name, value)| [name.to_owned(), value]).collect()
    }
}

fn named(name: &str, names: Vec<String>) -> Result<CertificateParams> {
    let mut params = CertificateParams::new(names)?;
    params.distinguished_name.push(DnType::CommonName, name);
    Ok(params)
}
