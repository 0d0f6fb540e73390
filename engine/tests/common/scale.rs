//! How much the tests do.

/// `usual` times the environment's `TWINDEX_STRESS`, for a long run; `under_miri` where every step counts.
pub(crate) fn scaled(usual: usize, under_miri: usize) -> usize {
    if cfg!(miri) {
        return under_miri;
    }
    let factor = std::env::var("TWINDEX_STRESS");
    usual * factor.map_or(1, |text| text.parse().expect("TWINDEX_STRESS is a whole number"))
}
