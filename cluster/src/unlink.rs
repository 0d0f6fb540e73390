//! Removes all keys of a table.

use std::sync::Arc;

use crate::error::{Answer, Error, Result, settled};
use crate::functions;
use crate::keys::KeyWalk;
use crate::names::{Layout, Partition};
use crate::router::{Kind, Op, Router};

/// Removes all keys, also where some servers fail. Removing one twice removes it once, so this is tried again where an outcome
/// is unknown.
///
/// [`Error::PartlyDone`] has one answer for all that was removed, and the first error of each kind.
pub(crate) async fn unlink(router: &Arc<Router>, layout: &Arc<Layout>) -> Result<()> {
    let mut found = KeyWalk::new(router.clone(), layout.clone());
    let partitions = layout.partitions.iter();
    let clear = |partition: &Partition| {
        Op::new(partition.slot, functions::call("clear", &[&partition.pairs, &partition.order]))
    };
    let mut ops: Vec<Op> = partitions.map(clear).collect();
    let (mut has_removed, mut errors) = (false, Vec::<Error>::new());
    loop {
        let outcomes = router.run(std::mem::take(&mut ops), Kind::Repeat).await;
        let walked = if layout.partitions.is_empty() { found.next().await } else { Ok(None) };
        let (keys, failed) = match walked {
            Ok(keys) => (keys, None),
            Err(error) => {
                // The other masters' keys are removed all the same.
                found.skip();
                (Some(Vec::new()), Some(Err(error)))
            }
        };
        for outcome in outcomes.into_iter().map(|reply| reply?.accepted().map(drop)).chain(failed) {
            match outcome {
                Ok(()) => has_removed = true,
                Err(error) if errors.iter().all(|other| other.code() != error.code()) => errors.push(error),
                Err(_) => {}
            }
        }
        let Some(keys) = keys else { break };
        ops = keys
            .iter()
            .map(|key| {
                let mut cmd = redis::cmd("UNLINK");
                cmd.arg(layout.key(key));
                Op::new(layout.slot(key), cmd)
            })
            .collect();
    }
    let is_done = errors.iter().all(|error| matches!(error, Error::NotReplicated { .. }));
    if is_done && let Some(error) = errors.pop() {
        return Err(error);
    }
    let removed = has_removed.then_some(Ok(Answer::Took(true)));
    settled(&mut removed.into_iter().chain(errors.into_iter().map(Err))).map(drop)
}
