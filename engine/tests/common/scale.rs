//! How much the tests do.

/// `usual` times the environment's `TWINDEX_STRESS`, which is above 1 for a long run and below 1 for a short one;
/// `under_miri` where every step counts.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "no test does that much, or less than nothing"
)]
pub(crate) fn scaled(usual: usize, under_miri: usize) -> usize {
    if cfg!(miri) {
        return under_miri;
    }
    let factor = std::env::var("TWINDEX_STRESS");
    let factor = factor.map_or(1.0, |text| text.parse().expect("TWINDEX_STRESS is a number"));
    ((usual as f64 * factor) as usize).max(1)
}
