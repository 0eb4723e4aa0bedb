//! [`widest`]: the same code, compiled for the widest vectors that the processor has.
//!
//! `x86-64` guarantees two f64 a vector; most processors have four or eight. Work is compiled once for each and chosen
//! when it runs. No operation is fused or reordered for it, so every choice gives the same bits.
#![allow(unsafe_code)]

/// What [`widest`] runs. Mark [`Self::run`] and whatever is hot in it `#[inline(always)]`: only code inlined into the
/// chosen function is compiled for its vectors.
pub(crate) trait Work {
    /// The result.
    type Output;

    /// Does it.
    fn run(self) -> Self::Output;
}

/// Runs `work` with the widest vectors there are.
#[cfg(target_arch = "x86_64")]
pub(crate) fn widest<W: Work>(work: W) -> W::Output {
    if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512dq") && is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has the features the function is compiled for.
        return unsafe { with_avx512(work) };
    }
    if is_x86_feature_detected!("avx2") {
        // SAFETY: as above.
        return unsafe { with_avx2(work) };
    }
    work.run()
}

/// Runs `work`.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn widest<W: Work>(work: W) -> W::Output {
    work.run()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512dq,avx2")]
fn with_avx512<W: Work>(work: W) -> W::Output {
    work.run()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn with_avx2<W: Work>(work: W) -> W::Output {
    work.run()
}
