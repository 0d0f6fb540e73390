//! The class `Store`.

use std::time::Duration;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use twindex_cluster::{IndexKind, Options, TableOptions};

use crate::answer::{Home, Mode, Then, answer, now};
use crate::batch::Batch;
use crate::table::Table;

/// A store in a cluster.
#[pyclass(frozen, module = "twindex_cluster")]
pub(crate) struct Store(Home<twindex_cluster::Store>);

/// The options that Python names.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Given {
    namespace: String,
    timeout: Duration,
    connect_timeout: Duration,
    patience: Duration,
    catalogue_age: Duration,
    partitions: u16,
    replicas: u32,
    near_cache: usize,
    longest_life: Duration,
    addresses: Vec<(String, String)>,
    tls_authority: Option<Vec<u8>>,
    tls_identity: Option<(Vec<u8>, Vec<u8>)>,
}

impl Given {
    fn options(self) -> Options {
        let mut options = Options::new()
            .namespace(&self.namespace)
            .timeout(self.timeout)
            .connect_timeout(self.connect_timeout)
            .patience(self.patience)
            .catalogue_age(self.catalogue_age)
            .partitions(self.partitions)
            .replicas(self.replicas)
            .near_cache(self.near_cache)
            .longest_life(self.longest_life);
        for (announced, reached) in &self.addresses {
            options = options.address(announced, reached);
        }
        if let Some(pem) = self.tls_authority {
            options = options.tls_authority(&pem);
        }
        if let Some((certificate, key)) = self.tls_identity {
            options = options.tls_identity(&certificate, &key);
        }
        options
    }
}

/// Connects to the servers that a URL names.
#[pyfunction]
pub(crate) fn connect(
    py: Python<'_>,
    url: String,
    options: Given,
    awaits: bool,
    then: Then,
) -> PyResult<Py<PyAny>> {
    let mode = Mode::new(awaits);
    answer(py, mode, then, async move {
        let inner = options.options().connect(&url).await?;
        Ok(Store(Home::new(inner, mode)))
    })
}

#[pymethods]
impl Store {
    #[allow(clippy::too_many_arguments, reason = "Python names them")]
    fn table(
        &self,
        py: Python<'_>,
        name: String,
        index: Option<&str>,
        keys: Option<String>,
        values: Option<String>,
        create: bool,
        then: Then,
    ) -> PyResult<Py<PyAny>> {
        let index: Option<IndexKind> = now(py, || Ok(index.map(str::parse).transpose()?))?;
        let (store, mode) = (self.0.get(py)?.clone(), self.0.mode);
        answer(py, mode, then, async move {
            let options = TableOptions::new(index.unwrap_or(IndexKind::Hash));
            let options = options.any_index(index.is_none()).create(create);
            let options = match &keys {
                Some(name) => options.keys(name),
                None => options.keys_if_new("str"),
            };
            let options = match &values {
                Some(name) => options.values(name),
                None => options.values_if_new("str"),
            };
            Ok(Table::new(store.table_with(&name, options).await?, mode))
        })
    }

    fn tables(&self, py: Python<'_>, then: Then) -> PyResult<Py<PyAny>> {
        let store = self.0.get(py)?.clone();
        answer(py, self.0.mode, then, async move {
            let tables = store.tables().await?;
            let pair = |table: &twindex_cluster::Table| (table.name().to_owned(), table.index().name());
            Ok(tables.iter().map(pair).collect::<Vec<_>>())
        })
    }

    fn drop_table(&self, py: Python<'_>, name: String) -> PyResult<Py<PyAny>> {
        let store = self.0.get(py)?.clone();
        answer(py, self.0.mode, None, async move { store.drop_table(&name).await })
    }

    /// The addresses of the masters.
    #[getter]
    fn servers(&self, py: Python<'_>) -> Vec<String> {
        self.0.get(py).map_or_else(|_| vec!["another process".into()], twindex_cluster::Store::servers)
    }

    fn batch(&self, py: Python<'_>) -> PyResult<Batch> {
        Ok(Batch::new(self.0.get(py)?.batch(), self.0.mode))
    }

    /// The figures of the near cache; none where there is none.
    fn near_stats<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let Some(stats) = self.0.get(py)?.near_stats() else { return Ok(None) };
        let figures = PyDict::new(py);
        macro_rules! set {
            ($($name:ident)*) => {
                $(figures.set_item(stringify!($name), stats.$name)?;)*
            };
        }
        set!(hits misses invalidations emptied pairs bytes servers channels);
        Ok(Some(figures))
    }

    /// In a forked process this does nothing: the connections are its parent's.
    fn close(&self, py: Python<'_>) {
        if let Ok(store) = self.0.get(py) {
            store.close();
        }
    }
}
