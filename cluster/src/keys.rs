//! Every key of a hash table.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use redis::Value;

use crate::error::{Error, Result};
use crate::names::Layout;
use crate::router::Router;
use crate::topology::Address;

/// How many keys a server looks at for one answer.
const LOOKED_AT: usize = 1000;

/// The keys of a hash table, found among all keys of all masters.
pub(crate) struct KeyWalk {
    router: Arc<Router>,
    pub(crate) layout: Arc<Layout>,
    /// The masters that are left; the last one is being walked.
    masters: Vec<Address>,
    /// How far the walk of the last one has come, as it says.
    position: Vec<u8>,
    /// What has come. A server may name a key twice, and so do two servers while slots are moved.
    seen: HashSet<Vec<u8>>,
    /// The masters of the slots when the walk began.
    began: Option<u64>,
    /// The master that does not answer, and since when. The others' answers do not count for it.
    failing: Option<(Address, Instant)>,
}

impl KeyWalk {
    pub(crate) fn new(router: Arc<Router>, layout: Arc<Layout>) -> Self {
        let (masters, position, seen) = (Vec::new(), b"0".to_vec(), HashSet::new());
        Self { router, layout, masters, position, seen, began: None, failing: None }
    }

    fn begin(&mut self) {
        self.began = Some(self.router.fingerprint());
        self.masters = self.router.masters();
        self.position = b"0".to_vec();
    }

    /// Some keys that have not come before; maybe none. `None` at the end.
    pub(crate) async fn next(&mut self) -> Result<Option<Vec<Vec<u8>>>> {
        if self.began.is_none() {
            self.begin();
        }
        let Some(master) = self.masters.last().cloned() else {
            // Where slots were moved meanwhile, keys may have gone from a server not yet walked to one that was.
            let _ = self.router.refresh().await;
            if self.began == Some(self.router.fingerprint()) {
                return Ok(None);
            }
            self.begin();
            return Ok(Some(Vec::new()));
        };
        let mut cmd = redis::cmd("SCAN");
        cmd.arg(&self.position[..]).arg("MATCH").arg(self.layout.pattern()).arg("COUNT").arg(LOOKED_AT);
        match self.router.on_server(&master, &cmd).await {
            Ok(answer) => {
                self.failing.take_if(|(failing, _)| *failing == master);
                self.take(answer).map(Some)
            }
            Err(Error::Unavailable { reason }) => self.retry(master, reason).await,
            Err(error) => Err(error),
        }
    }

    /// Goes on with the next master: this one does not answer.
    pub(crate) fn skip(&mut self) {
        self.masters.pop();
        self.position = b"0".to_vec();
        self.failing = None;
    }

    fn take(&mut self, answer: Value) -> Result<Vec<Vec<u8>>> {
        let wrong = || Error::unexpected("list of keys");
        let Value::Array(fields) = answer else { return Err(wrong()) };
        let Ok([Value::BulkString(position), Value::Array(keys)]) = <[Value; 2]>::try_from(fields) else {
            return Err(wrong());
        };
        if position == b"0" {
            self.masters.pop();
        }
        self.position = position;
        let mut found = Vec::new();
        for key in keys {
            let Value::BulkString(key) = key else { return Err(wrong()) };
            // A hostile server may answer anything.
            let key = key.strip_prefix(&self.layout.prefix[..]).ok_or_else(wrong)?;
            if self.seen.insert(key.to_vec()) {
                found.push(key.to_vec());
            }
        }
        Ok(found)
    }

    /// Walks this master again, or all where others are masters now: a position says nothing to another server, and nothing
    /// to one that was started anew.
    async fn retry(&mut self, master: Address, reason: String) -> Result<Option<Vec<Vec<u8>>>> {
        let (_, since) = self.failing.get_or_insert_with(|| (master, Instant::now()));
        if since.elapsed() > self.router.patience() {
            return Err(Error::Unavailable { reason });
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
        let _ = self.router.refresh().await;
        if self.began == Some(self.router.fingerprint()) {
            self.position = b"0".to_vec();
        } else {
            self.failing = None;
            self.begin();
        }
        Ok(Some(Vec::new()))
    }
}
