//! The kernels of collection and replay compile for every architecture, with every kind of replay.

use super::super::collector::collector_source;
use super::super::guard::{GuardShape, guard_source};
use super::super::replay::{rank_source, replay_source};
use super::super::world::Dims;
use super::nvrtc::{ARCHS, compiles, has_nvrtc, spills_nothing};
use crate::replay::ReplayKind;

const KINDS: [ReplayKind; 3] = [ReplayKind::Uniform, ReplayKind::Proportional, ReplayKind::Rank];
const LARGE: Dims =
    Dims { n_learner: 8, n_env: 16, n_step: 3, n_feature: 48, n_action: 5, capacity: 1 << 20, batch: 256 };
const SMALL: Dims = Dims { n_env: 2_000, n_step: 1, n_feature: 3, capacity: 7, batch: 5, ..LARGE };

#[test]
fn nvrtc_collection_and_replay_compile_everywhere() {
    if !has_nvrtc() {
        return;
    }
    for (i, arch) in ARCHS.into_iter().enumerate() {
        for kind in KINDS {
            compiles(&collector_source(&LARGE, kind, u32::MAX), arch);
            spills_nothing(&compiles(&replay_source(&LARGE, kind, u32::MAX), arch));
            let shape = GuardShape::choose(&LARGE, kind, arch);
            spills_nothing(&compiles(&guard_source(&LARGE, kind, u32::MAX, shape), arch));
        }
        spills_nothing(&compiles(&rank_source(&LARGE, u32::MAX), arch));
        // Other sizes: kinds take turns.
        let kind = KINDS[i % KINDS.len()];
        compiles(&collector_source(&SMALL, kind, 0), arch);
        spills_nothing(&compiles(&replay_source(&SMALL, kind, 0), arch));
    }
    spills_nothing(&compiles(&rank_source(&SMALL, 0), ARCHS[0]));
}
