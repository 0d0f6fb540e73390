//! Removes all keys of a table.

use std::sync::Arc;

use crate::error::Result;
use crate::functions;
use crate::keys::KeyWalk;
use crate::names::{Layout, Partition};
use crate::router::{Kind, Op, Router};
use crate::slot;

/// Removes all keys. Removing one twice removes it once, so this is tried again where an outcome is unknown.
pub(crate) async fn unlink(router: &Arc<Router>, layout: &Arc<Layout>) -> Result<()> {
    let mut found = KeyWalk::new(router.clone(), layout.clone());
    let partitions = layout.partitions.iter();
    let clear = |partition: &Partition| {
        Op::new(partition.slot, functions::call("clear", &[&partition.pairs, &partition.order]))
    };
    let mut ops: Vec<Op> = partitions.map(clear).collect();
    loop {
        for reply in router.all(std::mem::take(&mut ops), Kind::Repeat).await? {
            reply.accepted()?;
        }
        if !layout.partitions.is_empty() {
            return Ok(());
        }
        let Some(keys) = found.next().await? else { return Ok(()) };
        ops = keys
            .iter()
            .map(|key| {
                let key = layout.key(key);
                let mut cmd = redis::cmd("UNLINK");
                cmd.arg(&key[..]);
                Op::new(slot::of(&key), cmd)
            })
            .collect();
    }
}
