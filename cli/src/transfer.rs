//! Brings a store from a file into a cluster, and back.
//!
//! Both write only pairs that are missing on the other side or differ there, so a transfer that was stopped goes on when
//! it is run again. In the end both sides are counted and their checksums compared.

use std::collections::BTreeMap;
use std::fs::File;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use clap::Args;
use indicatif::{HumanCount, ProgressBar};
use twindex_cluster::{Error, Options, blocking};
use twindex_durable::format::values_that_expire;
use twindex_durable::twindex::{IndexKind, TableOptions};
use twindex_durable::{Store, Table};

use crate::bar;
use crate::commands::{Done, open, read};
use crate::outcome::{Failure, OK, say};

/// How many pairs are compared and written at once, and about how many bytes of them.
const GROUP: usize = 8192;
const GROUP_BYTES: usize = 16 << 20;

type Pair = (Vec<u8>, Vec<u8>);

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Other(error.to_string())
    }
}

/// How many pairs there are, and a checksum that does not depend on their order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sum {
    pairs: u64,
    checksum: u64,
}

impl Sum {
    fn add(&mut self, key: &[u8], value: &[u8]) {
        let mut hasher = DefaultHasher::new();
        (key, value).hash(&mut hasher);
        self.pairs += 1;
        self.checksum = self.checksum.wrapping_add(hasher.finish());
    }
}

/// A side that pairs are brought to.
trait Side {
    fn values(&self, keys: &[&[u8]]) -> Result<Vec<Option<Vec<u8>>>, Failure>;
    fn write(&self, pairs: &[&Pair]) -> Result<(), Failure>;
    fn pairs(&self) -> Result<impl Iterator<Item = Result<Pair, Failure>>, Failure>;

    fn sum(&self, bar: &ProgressBar) -> Result<Sum, Failure> {
        let mut sum = Sum::default();
        for pair in self.pairs()? {
            let (key, value) = pair?;
            sum.add(&key, &value);
            bar.inc(1);
        }
        Ok(sum)
    }
}

impl Side for blocking::Table {
    fn values(&self, keys: &[&[u8]]) -> Result<Vec<Option<Vec<u8>>>, Failure> {
        Ok(self.select_many(keys)?)
    }

    fn write(&self, pairs: &[&Pair]) -> Result<(), Failure> {
        let pairs: Vec<(&[u8], &[u8])> = pairs.iter().map(|(key, value)| (&key[..], &value[..])).collect();
        // Writing a pair twice changes nothing, so an unknown outcome is tried again.
        for _ in 0..5 {
            match self.upsert_many(&pairs) {
                Err(Error::UnknownOutcome { .. } | Error::PartlyDone { .. }) => {}
                done => return Ok(done.map(drop)?),
            }
        }
        Ok(self.upsert_many(&pairs).map(drop)?)
    }

    fn pairs(&self) -> Result<impl Iterator<Item = Result<Pair, Failure>>, Failure> {
        Ok(self.iter().map(|pair| pair.map_err(Failure::from)))
    }
}

impl Side for Table {
    fn values(&self, keys: &[&[u8]]) -> Result<Vec<Option<Vec<u8>>>, Failure> {
        let mut values = Vec::with_capacity(keys.len());
        self.select_many(keys, |_, value| values.push(value.map(<[u8]>::to_vec)))?;
        Ok(values)
    }

    fn write(&self, pairs: &[&Pair]) -> Result<(), Failure> {
        let pairs: Vec<(&[u8], &[u8])> = pairs.iter().map(|(key, value)| (&key[..], &value[..])).collect();
        Ok(self.upsert_many(&pairs).map(drop)?)
    }

    fn pairs(&self) -> Result<impl Iterator<Item = Result<Pair, Failure>>, Failure> {
        Ok(self.iter()?.map(Ok))
    }
}

struct Moved {
    sum: Sum,
    written: u64,
}

/// Brings pairs to a side. To one that was empty they are written without a look.
fn bring(
    pairs: impl Iterator<Item = Result<Pair, Failure>>,
    side: &impl Side,
    was_empty: bool,
    bar: &ProgressBar,
) -> Result<Moved, Failure> {
    let mut moved = Moved { sum: Sum::default(), written: 0 };
    let mut pairs = pairs.peekable();
    while pairs.peek().is_some() {
        let (mut group, mut bytes) = (Vec::new(), 0);
        while bytes < GROUP_BYTES
            && group.len() < GROUP
            && let Some(pair) = pairs.next()
        {
            let (key, value) = pair?;
            moved.sum.add(&key, &value);
            bytes += key.len() + value.len();
            group.push((key, value));
        }
        let keys: Vec<&[u8]> = group.iter().map(|(key, _)| &key[..]).collect();
        let there = if was_empty { vec![None; keys.len()] } else { side.values(&keys)? };
        let differs = |(pair, there): (_, Option<Vec<u8>>)| {
            let (_, value): &Pair = pair;
            (there.as_ref() != Some(value)).then_some(pair)
        };
        let missing: Vec<&Pair> = group.iter().zip(there).filter_map(differs).collect();
        side.write(&missing)?;
        moved.written += missing.len() as u64;
        bar.inc(group.len() as u64);
    }
    Ok(moved)
}

/// Says what came over, if it is what was sent.
fn conclude(table: &str, moved: &Moved, there: Sum) -> Result<(), Failure> {
    let name = table.escape_debug();
    if moved.sum != there {
        let what = if moved.sum.pairs == there.pairs {
            "some pairs differ".into()
        } else {
            format!("{} pairs were sent, and it has {}", moved.sum.pairs, there.pairs)
        };
        return Err(Failure::Other(format!(
            "table {name} differs from what was sent: {what}. Another program may write to it, or it had other pairs before"
        )));
    }
    let (pairs, written) = (HumanCount(there.pairs), HumanCount(moved.written));
    say(format_args!("table {name}: {pairs} pairs, {written} of them written now"))
}

/// Where the cluster is, and how it knows us.
#[derive(Debug, Args)]
pub(crate) struct Servers {
    /// The servers, such as redis://user:password@host:7000,other:7000, or rediss:// for TLS
    url: String,
    /// The start of all keys in the servers; `tw` by default
    #[arg(long)]
    namespace: Option<String>,
    /// An address in place of one that a server announces, as with Docker or NAT; may be repeated
    #[arg(long, value_name = "ANNOUNCED=REACHED")]
    address: Vec<String>,
    /// The certificate authority to trust, as PEM; by default the system's
    #[arg(long, value_name = "FILE")]
    cacert: Option<PathBuf>,
    /// The client's certificate, as PEM
    #[arg(long, value_name = "FILE", requires = "key")]
    cert: Option<PathBuf>,
    /// The key of that certificate
    #[arg(long, value_name = "FILE", requires = "cert")]
    key: Option<PathBuf>,
}

impl Servers {
    fn connect(&self) -> Result<blocking::Store, Failure> {
        let mut options = Options::new();
        if let Some(namespace) = &self.namespace {
            options = options.namespace(namespace);
        }
        for address in &self.address {
            let wrong = || format!("--address {address} is not like 172.17.0.2:6379=localhost:7000");
            let (announced, reached) = address.split_once('=').ok_or_else(|| Failure::Other(wrong()))?;
            options = options.address(announced, reached);
        }
        if let Some(authority) = &self.cacert {
            options = options.tls_authority(&pem(authority, "CERTIFICATE")?);
        }
        if let (Some(certificate), Some(key)) = (&self.cert, &self.key) {
            options = options.tls_identity(&pem(certificate, "CERTIFICATE")?, &pem(key, "KEY")?);
        }
        Ok(options.connect_blocking(&self.url)?)
    }
}

/// Reads a file in PEM form that holds at least one of these.
fn pem(path: &Path, what: &str) -> Result<Vec<u8>, Failure> {
    /// Many times what all authorities of a system take.
    const MOST: u64 = 16 << 20;
    let failed = |why: &str| Failure::Other(format!("cannot read {}: {why}", path.display()));
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(MOST + 1).read_to_end(&mut bytes));
    if read.map_err(|error| failed(&error.to_string()))? as u64 > MOST {
        return Err(failed("it is too large for certificates"));
    }
    let ends = |line: &[u8]| {
        line.starts_with(b"-----END ") && line.windows(what.len()).any(|word| word == what.as_bytes())
    };
    if !bytes.split(|&byte| byte == b'\n').any(ends) {
        return Err(failed(&format!("it has no {} in PEM form", what.to_lowercase())));
    }
    Ok(bytes)
}

pub(crate) fn push(path: &Path, limit: Option<usize>, servers: &Servers) -> Done {
    let (store, cluster) = (read(path, limit)?, servers.connect()?);
    for table in store.tables()? {
        let (keys, values) = table.codecs();
        if values_that_expire(values).is_some() {
            return Err(Failure::Other(format!(
                "the pairs of table \"{}\" expire, and clusters have no such tables yet",
                table.name()
            )));
        }
        let options = TableOptions::new(table.index()).keys(keys).values(values);
        let there = cluster.table_with(table.name(), options)?;
        same_codecs(table.name(), (keys, values), there.codecs())?;
        let bar = bar::over_pairs(table.len() as u64, "Pushing");
        let moved = bring(table.pairs()?, &there, there.is_empty()?, &bar)?;
        bar.finish_and_clear();
        let bar = bar::over_pairs(table.len() as u64, "Checking");
        let sum = there.sum(&bar)?;
        bar.finish_and_clear();
        conclude(table.name(), &moved, sum)?;
    }
    cluster.close();
    Ok(OK)
}

pub(crate) fn pull(servers: &Servers, path: &Path, limit: Option<usize>) -> Done {
    let (cluster, store): (_, Store) = (servers.connect()?, open(path, limit, false)?);
    let lengths: BTreeMap<String, u64> = cluster
        .tables()?
        .iter()
        // Counting a hash table takes as long as pulling it.
        .filter(|table| table.index() == IndexKind::Sorted)
        .map(|table| Ok((table.name().to_owned(), table.len()?)))
        .collect::<Result<_, Failure>>()?;
    for table in cluster.tables()? {
        let (keys, values) = table.codecs();
        let options = TableOptions::new(table.index()).keys(keys).values(values);
        let here = store.table_with(table.name(), options)?;
        same_codecs(table.name(), (keys, values), here.codecs())?;
        let bar = match lengths.get(table.name()) {
            Some(pairs) => bar::over_pairs(*pairs, "Pulling"),
            None => bar::counting_pairs("Pulling"),
        };
        let moved = bring(table.pairs()?, &here, here.is_empty(), &bar)?;
        bar.finish_and_clear();
        conclude(table.name(), &moved, here.sum(&ProgressBar::hidden())?)?;
    }
    store.close()?;
    cluster.close();
    Ok(OK)
}

/// `bytes` opens any table, but here both sides must say what their bytes mean.
fn same_codecs(table: &str, from: (&str, &str), to: (&str, &str)) -> Result<(), Failure> {
    if from == to {
        return Ok(());
    }
    let what =
        format!("keys of {} and values of {}, on the other side of {} and {}", from.0, from.1, to.0, to.1);
    Err(Failure::Other(format!("table {} has here {what}", table.escape_debug())))
}
