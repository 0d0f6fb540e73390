//! How functions get into a linker, for instances of either kind.

use std::sync::Arc;

use wasmtime::component::{
    ComponentNamedList, ComponentType, Lift, Linker, LinkerInstance, Lower, ResourceType,
};
use wasmtime::{Result, StoreContextMut};

use crate::bucket::Bucket;
use crate::guest::{Guest, Handle};
use crate::refused;

/// Finds an instance's guest in its data.
pub(crate) type Find<T> = fn(&mut T) -> &mut Guest;

/// A linker, and how an instance's guest is found.
pub(crate) struct Linking<'l, T: 'static> {
    pub(crate) linker: &'l mut Linker<T>,
    pub(crate) guest: Find<T>,
    /// Whether writes that may wait leave the thread.
    pub(crate) leaves: bool,
}

/// An interface that gets its functions.
pub(crate) struct Interface<'l, T: 'static> {
    instance: LinkerInstance<'l, T>,
    guest: Find<T>,
    leaves: bool,
}

/// Parameters of which the first is a handle of a bucket.
pub(crate) trait OfBucket: ComponentNamedList + Lift + Send + 'static {
    fn handle(&self) -> &Handle;
}

macro_rules! of_bucket {
    ($($($more:ident)*;)*) => {
        $(impl<$($more: ComponentType + Lift + Send + 'static),*> OfBucket for (Handle, $($more,)*) {
            fn handle(&self) -> &Handle {
                &self.0
            }
        })*
    };
}

of_bucket! { ; A; A B; A B C; A B C D; }

impl<T: Send + 'static> Linking<'_, T> {
    pub(crate) fn interface(&mut self, name: &str) -> Result<Interface<'_, T>> {
        Ok(Interface { instance: self.linker.instance(name)?, guest: self.guest, leaves: self.leaves })
    }
}

impl<T: Send + 'static> Interface<'_, T> {
    /// A resource, and what is done with one that is dropped.
    pub(crate) fn resource<R: 'static>(
        &mut self,
        name: &str,
        drop: impl Fn(&mut Guest, u32) -> Result<()> + Send + Sync + 'static,
    ) -> Result<()> {
        let guest = self.guest;
        self.instance
            .resource(name, ResourceType::host::<R>(), move |mut cx, rep| drop(guest(cx.data_mut()), rep))
    }

    /// A function that never waits. If it fails, the guest is trapped.
    pub(crate) fn at_once<P, R>(
        &mut self,
        name: &str,
        act: impl Fn(&mut Guest, P) -> Result<R> + Send + Sync + 'static,
    ) -> Result<()>
    where
        P: ComponentNamedList + Lift + 'static,
        R: ComponentType + Lower + 'static,
    {
        let guest = self.guest;
        self.instance.func_wrap(name, move |mut cx: StoreContextMut<'_, T>, params: P| {
            Ok((act(guest(cx.data_mut()), params)?,))
        })
    }

    /// A read of a bucket that has an error to return.
    pub(crate) fn read<P, R, E>(
        &mut self,
        name: &str,
        act: impl Fn(&Bucket, P) -> refused::Result<R> + Send + Sync + 'static,
    ) -> Result<()>
    where
        P: OfBucket,
        R: ComponentType + Lower + 'static,
        E: ComponentType + Lower + From<refused::Refused> + 'static,
    {
        self.at_once(name, move |guest, params: P| {
            Ok(act(guest.bucket(params.handle())?, params).map_err(E::from))
        })
    }

    /// A write to a bucket.
    pub(crate) fn write<P, R, E>(
        &mut self,
        name: &str,
        act: impl Fn(&Bucket, P) -> refused::Result<R> + Copy + Send + Sync + 'static,
    ) -> Result<()>
    where
        P: OfBucket,
        R: ComponentType + Lower + Send + 'static,
        E: ComponentType + Lower + From<refused::Refused> + 'static,
    {
        if !self.leaves {
            // The counter of a bucket's handles, which all threads share, stays as it is.
            return self.read::<P, R, E>(name, act);
        }
        self.in_parts(
            name,
            |guest, params: P| Ok((Arc::clone(guest.bucket(params.handle())?), params)),
            act,
            |_, written| Ok(written.map_err(E::from)),
        )
    }

    /// A write in three parts: what it needs of the guest, the write, which may wait, and what comes of it.
    pub(crate) fn in_parts<P, W, O, R>(
        &mut self,
        name: &str,
        begin: impl Fn(&mut Guest, P) -> Result<(Arc<Bucket>, W)> + Copy + Send + Sync + 'static,
        act: impl Fn(&Bucket, W) -> O + Copy + Send + Sync + 'static,
        end: impl Fn(&mut Guest, O) -> Result<R> + Copy + Send + Sync + 'static,
    ) -> Result<()>
    where
        P: ComponentNamedList + Lift + Send + 'static,
        W: Send + 'static,
        O: Send + 'static,
        R: ComponentType + Lower + 'static,
    {
        let guest = self.guest;
        if !self.leaves {
            return self.at_once(name, move |guest, params| {
                let (bucket, what) = begin(guest, params)?;
                end(guest, act(&bucket, what))
            });
        }
        self.instance.func_wrap_async(name, move |mut cx: StoreContextMut<'_, T>, params: P| {
            Box::new(async move {
                let (bucket, what) = begin(guest(cx.data_mut()), params)?;
                let written = match tokio::runtime::Handle::try_current() {
                    Ok(runtime) if bucket.may_wait() => {
                        runtime.spawn_blocking(move || act(&bucket, what)).await?
                    }
                    _ => act(&bucket, what),
                };
                Ok((end(guest(cx.data_mut()), written)?,))
            })
        })
    }
}
