//! Files and what they ask.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Which file asks which.
#[derive(Default)]
pub(super) struct Graph(BTreeMap<PathBuf, BTreeSet<PathBuf>>);

impl Graph {
    pub(super) fn add(&mut self, file: &Path) {
        self.0.entry(file.into()).or_default();
    }

    /// Has a file ask another. One that asks itself asks nobody.
    pub(super) fn connect(&mut self, file: &Path, other: &Path) {
        if file != other {
            self.0.entry(file.into()).or_default().insert(other.into());
        }
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// The shortest circle through each file that is in one, each circle once, from its first file by name back to it.
    pub(super) fn circles(&self) -> Vec<Vec<PathBuf>> {
        let mut found: Vec<Vec<PathBuf>> = Vec::new();
        for file in self.0.keys() {
            let Some(circle) = self.circle_of(file) else { continue };
            let files: BTreeSet<&PathBuf> = circle.iter().collect();
            if found.iter().all(|other| other.iter().collect::<BTreeSet<_>>() != files) {
                found.push(circle);
            }
        }
        found
    }

    /// The shortest way from a file back to it.
    fn circle_of(&self, file: &PathBuf) -> Option<Vec<PathBuf>> {
        let mut ways = vec![vec![file.clone()]];
        let mut seen = BTreeSet::new();
        while !ways.is_empty() {
            let mut longer = Vec::new();
            for way in ways {
                for next in way.last().and_then(|last| self.0.get(last)).into_iter().flatten() {
                    let longer_way = [way.as_slice(), std::slice::from_ref(next)].concat();
                    if next == file {
                        return Some(longer_way);
                    }
                    if seen.insert(next.clone()) {
                        longer.push(longer_way);
                    }
                }
            }
            ways = longer;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(edges: &[(&str, &str)]) -> Graph {
        let mut graph = Graph::default();
        for (from, to) in edges {
            graph.connect(Path::new(from), Path::new(to));
        }
        graph
    }

    #[test]
    fn a_tree_has_no_circles_and_neither_has_a_diamond() {
        assert!(graph(&[("a", "b"), ("a", "c"), ("b", "d"), ("c", "d"), ("a", "a")]).circles().is_empty());
    }

    #[test]
    fn each_circle_is_found_once() {
        let found =
            graph(&[("a", "b"), ("b", "a"), ("c", "d"), ("d", "e"), ("e", "c"), ("a", "c")]).circles();
        let paths = |names: &[&str]| names.iter().map(PathBuf::from).collect::<Vec<_>>();
        assert_eq!(found, [paths(&["a", "b", "a"]), paths(&["c", "d", "e", "c"])]);
    }
}
