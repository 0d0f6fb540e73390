//! Where the servers are, and how they are spoken to.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use redis::io::tcp::socket2::TcpKeepalive;
use redis::{ConnectionAddr, ConnectionInfo, IntoConnectionInfo, ProtocolVersion, TlsCertificates};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::error::{Error, Result};

/// How long a connection may be idle before the system probes it. Firewalls and balancers silently drop those that are idle for
/// some minutes, and the next write would have an unknown outcome.
const KEEPALIVE: Duration = Duration::from_mins(1);

macro_rules! options {
    ($($(#[doc = $doc:literal])+ $name:ident: $type:ty = $default:expr;)+) => {
        /// How to connect. [`connect`](crate::connect) uses the defaults.
        #[derive(Clone, Debug)]
        pub struct Options {
            pub(crate) namespace: String,
            pub(crate) addresses: Arc<HashMap<String, String>>,
            pub(crate) tls: TlsCertificates,
            $(pub(crate) $name: $type,)+
        }

        impl Default for Options {
            fn default() -> Self {
                Self {
                    namespace: "tw".into(),
                    addresses: Arc::default(),
                    tls: TlsCertificates { client_tls: None, root_cert: None },
                    $($name: $default,)+
                }
            }
        }

        impl Options {
            $(
            $(#[doc = $doc])+
            #[must_use]
            pub fn $name(mut self, $name: $type) -> Self {
                self.$name = $name;
                self
            }
            )+
        }
    };
}

options! {
    /// How long a server may take to answer one command: 2 s unless set. A write that takes longer has an unknown outcome.
    timeout: Duration = Duration::from_secs(2);

    /// How long making one connection may take: 1 s unless set.
    connect_timeout: Duration = Duration::from_secs(1);

    /// How long a command that no server has taken yet is tried again, as during a failover: 15 s unless set.
    patience: Duration = Duration::from_secs(15);

    /// How soon this client learns of a table that another one cleared or dropped: 1 s unless set.
    catalogue_age: Duration = Duration::from_secs(1);

    /// How many partitions a sorted table gets that is created now, 1 to 1024: 16 unless set. More let it spread over more
    /// servers and cost more for each scan.
    partitions: u16 = 16;

    /// Has every write wait until so many replicas of its master have it: 0, none, unless set.
    ///
    /// A write that fewer have in time, for which `timeout` is allowed once more, is
    /// [`NotReplicated`](crate::Error::NotReplicated), and done. It takes a connection of its own while it waits, of which
    /// there are up to 8 to each master. A master that dies takes an acknowledged write with it only if the servers then
    /// choose a replica that has it not: with all replicas waited for there is none.
    replicas: u32 = 0;

    /// Keeps this many bytes of pairs in the process. The servers say which of them were written to. Fewer than
    /// 64 KiB count as 64 KiB; 0, the default, keeps none.
    near_cache: usize = 0;

    /// How long a pair in the near cache is shown at most: 60 s unless set.
    longest_life: Duration = Duration::from_mins(1);
}

impl Options {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// The start of every key in the servers, before a colon: `tw` by default. Stores of different namespaces share
    /// servers and nothing else.
    #[must_use]
    pub fn namespace(mut self, namespace: &str) -> Self {
        namespace.clone_into(&mut self.namespace);
        self
    }

    /// Reaches the servers that announce themselves as `announced` at `reached`, as behind Docker or NAT: each is
    /// `host:port`, or a host without a port for all its ports.
    #[must_use]
    pub fn address(mut self, announced: &str, reached: &str) -> Self {
        Arc::make_mut(&mut self.addresses).insert(announced.into(), reached.into());
        self
    }

    /// Trusts this certificate authority, in PEM form, in place of the system's.
    #[must_use]
    pub fn tls_authority(mut self, pem: &[u8]) -> Self {
        self.tls.root_cert = Some(pem.to_vec());
        self
    }

    /// Shows the servers this certificate, in PEM form, with its key.
    #[must_use]
    pub fn tls_identity(mut self, certificate: &[u8], key: &[u8]) -> Self {
        self.tls.client_tls =
            Some(redis::ClientTlsConfig { client_cert: certificate.to_vec(), client_key: key.to_vec() });
        self
    }

    /// The fault of the certificates, if any.
    fn wrong_tls(&self, is_tls: bool) -> Option<&'static str> {
        let (authority, identity) = (&self.tls.root_cert, &self.tls.client_tls);
        if !is_tls && (authority.is_some() || identity.is_some()) {
            return Some("certificates need TLS: a URL that begins with rediss://");
        }
        let holds_none = |pem: &[u8]| CertificateDer::pem_slice_iter(pem).flatten().next().is_none();
        if authority.as_deref().is_some_and(holds_none) {
            return Some("the certificate authority has no certificate in PEM form");
        }
        if identity.as_ref().is_some_and(|identity| holds_none(&identity.client_cert)) {
            return Some("the client's certificate is not in PEM form");
        }
        let is_no_key = |pem: &[u8]| PrivateKeyDer::from_pem_slice(pem).is_err();
        if identity.as_ref().is_some_and(|identity| is_no_key(&identity.client_key)) {
            return Some("the client's key is not in PEM form");
        }
        None
    }
}

/// The servers that a URL names, all spoken to alike: `redis://user:password@host:port,host:port`, or `rediss://` for TLS.
pub(crate) fn parse_url(url: &str, options: &Options) -> Result<Vec<ConnectionInfo>> {
    let wrong = |what: String| Error::Url { url: without_password(url), what };
    let (scheme, rest) = url
        .split_once("://")
        .filter(|(scheme, _)| matches!(*scheme, "redis" | "rediss"))
        .ok_or_else(|| wrong("it begins with redis:// or, for TLS, with rediss://".into()))?;
    let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    if path.contains('@') {
        return Err(wrong("in a user or password / is %2F, ? is %3F and # is %23".into()));
    }
    if path.contains(['?', '#']) {
        return Err(wrong("? and # are not understood: name a database as in redis://host/2".into()));
    }
    let (user, hosts) = authority.rsplit_once('@').map_or(("", authority), |(user, hosts)| (user, hosts));
    let user = if user.is_empty() { String::new() } else { format!("{user}@") };
    if let Some(what) = options.wrong_tls(scheme == "rediss") {
        return Err(wrong(what.into()));
    }
    if scheme == "rediss" {
        // A provider that the process has set stays.
        let _ = rustls::crypto::ring::default_provider().install_default();
    }
    hosts
        .split(',')
        .map(|host| {
            if host.is_empty() {
                return Err(wrong("it names no server".into()));
            }
            let port = host.rsplit_once(':').map(|(_, port)| port).filter(|port| !port.ends_with(']'));
            if port.is_some_and(|port| !port.parse::<u16>().is_ok_and(|port| port > 0)) {
                let what = format!("the port of \"{host}\" must be a number from 1 to 65535");
                return Err(wrong(what));
            }
            let one = format!("{scheme}://{user}{host}{path}");
            let info = one.as_str().into_connection_info().map_err(|error| wrong(error.to_string()))?;
            let info = with_certificates(info, options).map_err(|error| wrong(error.to_string()))?;
            let settings = info.redis_settings().clone().set_protocol(ProtocolVersion::RESP3);
            let settings = settings.set_lib_name("twindex", env!("CARGO_PKG_VERSION"));
            let probes = TcpKeepalive::new().with_time(KEEPALIVE);
            let tcp = info.tcp_settings().clone().set_keepalive(probes);
            Ok(info.set_redis_settings(settings).set_tcp_settings(tcp))
        })
        .collect()
}

fn with_certificates(info: ConnectionInfo, options: &Options) -> redis::RedisResult<ConnectionInfo> {
    let is_plain = options.tls.client_tls.is_none() && options.tls.root_cert.is_none();
    if is_plain || !matches!(info.addr(), ConnectionAddr::TcpTls { .. }) {
        return Ok(info);
    }
    let client = redis::Client::build_with_tls(info, options.tls.clone())?;
    Ok(client.get_connection_info().clone())
}

/// The URL as errors show it. The scheme may be missing or misspelt, and a password may follow `?`.
fn without_password(url: &str) -> String {
    let mut shown = url.to_owned();
    if let Some(at) = url.rfind('@') {
        let scheme = ["redis://", "rediss://"].into_iter().find(|scheme| url.starts_with(scheme));
        shown = [scheme.unwrap_or_default(), "...", &url[at..]].concat();
    }
    if let Some(query) = shown.find('?') {
        shown.replace_range(query + 1.., "...");
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addresses(url: &str) -> Vec<String> {
        let infos = parse_url(url, &Options::new()).expect("a good URL");
        infos.iter().map(|info| info.addr().to_string()).collect()
    }

    #[test]
    fn a_url_names_one_server_or_several() {
        assert_eq!(addresses("redis://localhost"), ["localhost:6379"]);
        assert_eq!(addresses("redis://a:1,b:2/"), ["a:1", "b:2"]);
        assert_eq!(addresses("rediss://ada:secret@a:1,b"), ["a:1", "b:6379"]);
        assert_eq!(addresses("redis://[::1]:7/2"), ["::1:7"]);
        assert_eq!(addresses("redis://[::1]"), ["::1:6379"]);
        let infos = parse_url("redis://ada:s%40@a:1,b:2", &Options::new()).expect("a good URL");
        for info in infos {
            assert_eq!(info.redis_settings().username(), Some("ada"));
            assert_eq!(info.redis_settings().password(), Some("s@"));
        }
    }

    #[test]
    fn a_wrong_url_is_refused_without_its_password() {
        for url in [
            "http://ada:secret@a",
            "redis://ada:secret@",
            "redis://ada:secret@a,,b",
            "redis://ada:secret@a:x",
            "redis://ada:secret@a:99999",
            "redis://ada:secret@a/?db=2",
            "redis://ada:secret@a/2#x",
            "redis://ada:not?secret@a",
            "redis://ada:secret/secret@a",
            "ada:secret@a:6379",
            "redis:/ada:secret@a",
            "redis://a/2?password=secret",
        ] {
            let error = parse_url(url, &Options::new()).expect_err("a wrong URL");
            assert_eq!(error.code(), "TWINDEX_URL");
            assert!(!error.to_string().contains("secret"), "{error}");
        }
        for (url, shown) in [
            ("redis://ada:secret@a:7/2", "redis://...@a:7/2"),
            ("ada:secret@a:7", "...@a:7"),
            ("http://a?b", "http://a?..."),
        ] {
            assert_eq!(without_password(url), shown);
        }
    }

    #[test]
    fn wrong_certificates_are_refused() {
        let pem = |what| format!("-----BEGIN {what}-----\nAAAA\n-----END {what}-----\n").into_bytes();
        let (certificate, key) = (pem("CERTIFICATE"), pem("PRIVATE KEY"));
        for (url, options, what) in [
            ("redis://a", Options::new().tls_authority(&certificate), "certificates need TLS"),
            ("redis://a", Options::new().tls_identity(&certificate, &key), "certificates need TLS"),
            ("rediss://a", Options::new().tls_authority(b"what"), "no certificate"),
            ("rediss://a", Options::new().tls_identity(b"what", &key), "certificate"),
            ("rediss://a", Options::new().tls_identity(&certificate, b"what"), "key"),
        ] {
            let error = parse_url(url, &options).expect_err("wrong certificates");
            assert!(error.to_string().contains(what), "{error}");
        }
    }
}
