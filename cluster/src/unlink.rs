//! Removes all keys of a table.

use std::sync::Arc;

use redis::Cmd;

use crate::error::Result;
use crate::keys::KeyWalk;
use crate::names::Layout;
use crate::router::{Kind, Op, Router};
use crate::slot;

/// Removes all keys. Removing one twice removes it once, so this is tried again where an outcome is unknown.
pub(crate) async fn unlink(router: &Arc<Router>, layout: &Arc<Layout>) -> Result<()> {
    let op = |slot, keys: &[&[u8]]| {
        let mut cmd = Cmd::new();
        cmd.arg("UNLINK");
        for key in keys {
            cmd.arg(*key);
        }
        Op { slot, cmd }
    };
    let mut found = KeyWalk::new(router.clone(), layout.clone());
    let partitions = layout.partitions.iter();
    let mut ops: Vec<Op> =
        partitions.map(|partition| op(partition.slot, &[&partition.pairs, &partition.order])).collect();
    loop {
        for reply in router.run(std::mem::take(&mut ops), Kind::Repeat).await? {
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
                op(slot::of(&key), &[&key])
            })
            .collect();
    }
}
