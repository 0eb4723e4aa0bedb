//! `external_begin` and `external_step` under the emulation of [`crate::kernel_host`], beside `cpu::engine::simulate`: the
//! model from outside is a plain forward pass.

use gigabar_backtest::gpu::MlpActivation;
use gigabar_backtest::gpu::external::external_source;
use gigabar_backtest::gpu::layout::{EnvAccount, RolloutPair};

use crate::kernel_host::{HostKernel, N_FEATURE, PARAMETERS, World, costs, hold, raw, shape};
use crate::support::{forward, random_policy};

#[test]
fn a_model_from_outside_takes_the_engines_path() {
    let world = World::new(costs(), vec![3..140, 0..2, 10..77]);
    let mut arrays = world.arrays();
    let policy = random_policy(&shape(&[32], 5, MlpActivation::Relu, false), 3);
    let n_action = policy.levels.len();
    let (mut pairs, mut n_path) = (Vec::new(), 0);
    for (w, window) in arrays.windows.iter().enumerate() {
        pairs.push(RolloutPair { path: n_path as i64, window: w as u32, policy: 0 });
        n_path += window.n_bars as usize;
    }
    let n_pair = pairs.len();
    let mut levels = policy.levels.clone();
    let mut accounts = vec![EnvAccount::default(); n_pair];
    let (mut clock, mut actions) = (vec![u32::MAX; n_pair], vec![u8::MAX; n_path]);
    let (mut equity, mut returns) = (vec![f64::NAN; n_path], vec![f64::NAN; n_path]);
    let (mut observation, mut q) = (vec![f32::NAN; n_pair * (N_FEATURE + 8)], vec![f32::NAN; n_pair * n_action]);
    let kernel = HostKernel::build(
        &external_source(N_FEATURE, n_action, arrays.rules[0].flags),
        PARAMETERS,
        "n[0], 1, 1, 32, [=] { if (n[1]) external_step((EnvBar*)p[0], (EnvWindow*)p[1], (EnvRules*)p[2], (RolloutPair*)p[3], \
         (f32*)p[4], (f64*)p[5], (f32*)p[6], (EnvAccount*)p[7], (u32*)p[8], (f64*)p[9], (f64*)p[10], (u8*)p[11], \
         (f32*)p[12]); else external_begin((EnvBar*)p[0], (EnvWindow*)p[1], (EnvRules*)p[2], (RolloutPair*)p[3], \
         (f32*)p[4], (EnvAccount*)p[7], (u32*)p[8], (f64*)p[9], (f32*)p[12]); }",
    );
    let mut run = |step: u32, q: &mut [f32], observation: &mut [f32]| {
        let market = [raw(&mut arrays.bars), raw(&mut arrays.windows), raw(&mut arrays.rules), raw(&mut pairs)];
        let inputs = [raw(&mut arrays.features), raw(&mut levels), raw(q)];
        let state = [raw(&mut accounts), raw(&mut clock), raw(&mut equity), raw(&mut returns), raw(&mut actions)];
        kernel.run(&[&market[..], &inputs, &state, &[raw(observation)]].concat(), &[n_pair as u32, step]);
    };
    run(0, &mut q, &mut observation);
    // A few steps beyond the longest window: nothing may happen there.
    for _ in 0..140 {
        for (q, row) in q.chunks_exact_mut(n_action).zip(observation.chunks_exact(N_FEATURE + 8)) {
            q.copy_from_slice(&forward(&policy, &row[..N_FEATURE], &row[N_FEATURE..]));
        }
        run(1, &mut q, &mut observation);
    }
    for (w, range) in world.ranges.iter().enumerate() {
        let (start, n) = (pairs[w].path as usize, range.len());
        assert_eq!(clock[w] as usize, n - 1, "window {w}");
        let path = (&equity[start..start + n], &returns[start..start + n - 1]);
        hold(&world, w, &policy, &actions[start..start + n - 1], path, &accounts[w]);
    }
}
