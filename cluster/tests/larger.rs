//! The example that computes larger clusters gives what docs/cluster.md shows of it.

#[path = "../examples/larger.rs"]
#[allow(unreachable_pub, reason = "it is an example's")]
mod larger;

#[test]
fn the_page_shows_what_the_example_prints() {
    let page = include_str!("../../docs/cluster.md");
    let printed = larger::print();
    for table in printed.split("\n\n") {
        assert!(page.contains(table.trim_end()), "docs/cluster.md has not this table:\n{table}");
    }
}
