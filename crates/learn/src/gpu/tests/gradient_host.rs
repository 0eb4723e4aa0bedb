//! One gradient step of the kernels, compiled for the host (host_kernel.h), against the CPU trainer's from the same
//! state: dense.cu, gradient.cu and learner.cu against net::ops::Dense, optim::Adam and dqn::Trainer::learn.

use gigabar_backtest::rules::RewardConfig;
use gigabar_gpu::KernelSource;

use super::super::guard::{GuardShape, LearnerEpoch, LossRow, StepResult, guard_source};
use super::super::layout::ReplayView;
use super::super::layout::{LearnerParams, LearnerState, RingView};
use super::super::learner::{LearnerDims, learner_source};
use super::super::net::{NetLayout, TileShape};
use super::super::params::params_of;
use super::super::world::Dims;
use super::host_kernel::{HostKernel, PARAMETERS, raw};
use crate::dqn::tests::{config, data, sim};
use crate::dqn::{DqnConfig, LearnStats, TargetUpdate, Trainer};
use crate::net::{Activation, Pass};
use crate::optim::global_norm;
use crate::replay::ReplayKind;

/// Arrays of two learners: the trainer's, twice, so that a wrong stride shows.
const K: usize = 2;

fn twice<T: Clone>(values: &[T]) -> Vec<T> {
    [values, values].concat()
}

/// Everything on the "device".
struct Arrays {
    params: Vec<LearnerParams>,
    state: Vec<LearnerState>,
    online: Vec<f32>,
    target: Vec<f32>,
    first: Vec<f32>,
    second: Vec<f32>,
    gradient: Vec<f32>,
    x: Vec<f32>,
    slots: Vec<u32>,
    weights: Vec<f64>,
    td: Vec<f32>,
    results: Vec<StepResult>,
    epochs: Vec<LearnerEpoch>,
}

fn packed(layout: &NetLayout, weights: &[Vec<f32>]) -> Vec<f32> {
    let mut row = Vec::new();
    layout.pack(weights, &mut row);
    twice(&row)
}

fn build(source: &KernelSource, launch: &str) -> HostKernel {
    HostKernel::build(source, PARAMETERS, launch)
}

/// The trainer's state and the minibatch it will draw next.
fn arrays(trainer: &mut Trainer, layout: &NetLayout) -> Arrays {
    let batch = trainer.config.batch;
    let (mut rng, beta) = (trainer.sample_rng.clone(), trainer.config.beta(trainer.progress.env_steps));
    let mut draw = std::mem::take(&mut trainer.draw);
    trainer.sampler.draw(batch, beta, &mut rng, &mut draw);
    trainer.draw = draw;
    let blocks = trainer.progress.noise_blocks;
    let (now, next) = trainer.gather().unwrap();
    trainer.progress.noise_blocks = blocks;
    let (stride, width) = (layout.shape.n_input.next_multiple_of(4), layout.shape.n_input);
    let mut x = Vec::new();
    for rows in [now, next] {
        for row in rows.flatten_all().unwrap().to_vec1::<f32>().unwrap().chunks(width) {
            x.extend_from_slice(row);
            x.resize(x.len().next_multiple_of(stride), 0.0);
        }
    }
    let n = K * layout.n_param;
    let state = LearnerState {
        env_steps: trainer.progress.env_steps,
        grad_steps: trainer.progress.grad_steps,
        adam_steps: trainer.adam.step,
        loss_mean: trainer.guard.loss_mean,
        loss_count: trainer.guard.loss_count,
        ..LearnerState::default()
    };
    let slots: Vec<u32> = trainer.draw.slots.iter().map(|&slot| slot as u32).collect();
    let weights: Vec<f64> = trainer.draw.weights.iter().map(|&w| f64::from(w)).collect();
    Arrays {
        params: vec![params_of(trainer, 0).unwrap(); K],
        state: vec![state; K],
        online: packed(layout, &trainer.nets.weights),
        target: packed(layout, &trainer.nets.target_weights),
        first: packed(layout, &trainer.adam.m),
        second: packed(layout, &trainer.adam.v),
        gradient: vec![0.0; n],
        x: twice(&x),
        slots: twice(&slots),
        weights: twice(&weights),
        td: vec![f32::NAN; K * batch],
        results: vec![StepResult::default(); K],
        epochs: vec![LearnerEpoch::default(); K],
    }
}

/// Queues on the host what [`super::super::learner::Learner`] queues on a device.
fn step(trainer: &Trainer, layout: &NetLayout, tile: TileShape, arrays: &mut Arrays) {
    let (batch, double) = (trainer.config.batch, trainer.config.double);
    let dims = LearnerDims { n_learner: K, n_env: 1, batch, double };
    let n_segment = 2 + usize::from(double);
    let sizes = |rows: usize| -> Vec<Vec<f32>> {
        layout.hidden.iter().map(|layer| vec![0.0; K * rows * layer.out_stride]).collect()
    };
    let (mut h, mut z, mut dh) = (sizes(n_segment * batch), sizes(batch), sizes(batch));
    let mut dhead = vec![0.0_f32; K * batch * layout.head.out_stride];
    let mut rows = vec![LossRow::default(); K * batch];
    let dense = |layer: usize, launch: &str| build(&layout.dense_source(layer, tile), launch);
    let mut input = raw(&mut arrays.x);
    for (i, layer) in layout.hidden.iter().enumerate() {
        let kernel = dense(
            i,
            "n[0], n[1], n[2], Tile::THREADS, [=] { dense_forward((f32*)p[0], (f32*)p[1], \
                               (f32*)p[2], (f32*)p[3], (f32*)p[4], n[3], n[4], n[5]); }",
        );
        let [m, n] = tile.tiles(batch, layer.n_out);
        let arguments = [input, raw(&mut arrays.online), raw(&mut arrays.target), raw(&mut h[i]), raw(&mut z[i])];
        let n_in = if i == 0 { 2 } else { n_segment };
        kernel.run(&arguments, &[m, n, K * n_segment, batch, n_segment, n_in].map(|n| n as u32));
        input = raw(&mut h[i]);
    }
    let mut ring = Ring::of(trainer);
    let mut view = ring.view();
    let source = learner_source(layout, &dims);
    let kernel = build(
        &source,
        "(BATCH + LOSS_WARPS - 1) / LOSS_WARPS, n[0], 1, 32 * LOSS_WARPS, [=] { learner_loss(\
                       (LearnerParams*)p[0], (f32*)p[1], (f32*)p[2], (f32*)p[3], (f32*)p[4], (u32*)p[5], (f64*)p[6], \
                       *(RingView*)p[7], (f32*)p[8], (f32*)p[9], (f32*)p[10], (LossRow*)p[11]); }",
    );
    let (params, online, target) = (raw(&mut arrays.params), raw(&mut arrays.online), raw(&mut arrays.target));
    let last = |buffers: &mut Vec<Vec<f32>>| buffers.last_mut().map_or(std::ptr::null_mut(), |b| raw(b));
    let (z_last, dh_last) = (last(&mut z), last(&mut dh));
    let (slots, weights) = (raw(&mut arrays.slots), raw(&mut arrays.weights));
    let out = [raw(&mut arrays.td), raw(&mut dhead), dh_last, raw(&mut rows)];
    let view = raw(std::slice::from_mut(&mut view));
    kernel.run(&[&[params, online, target, input, z_last, slots, weights, view], &out[..]].concat(), &[K as u32]);
    for i in (1..layout.hidden.len()).rev() {
        let kernel = dense(
            i,
            "n[0], n[1], n[2], Tile::THREADS, [=] { dense_backward((f32*)p[0], (f32*)p[1], \
                               (f32*)p[2], (f32*)p[3], (f32*)p[4], n[3], n[4]); }",
        );
        let [m, n] = tile.tiles(batch, layout.hidden[i].n_in);
        let (dy, x, z, dx) = (raw(&mut dh[i]), raw(&mut h[i - 1]), raw(&mut z[i - 1]), raw(&mut dh[i - 1]));
        kernel.run(&[dy, online, x, z, dx], &[m, n, K, batch, n_segment].map(|n| n as u32));
    }
    let inputs: Vec<(u64, usize)> = std::iter::once((raw(&mut arrays.x) as u64, 2))
        .chain(h.iter_mut().map(|h| (raw(h) as u64, n_segment)))
        .collect();
    let outputs: Vec<u64> = dh.iter_mut().chain(std::iter::once(&mut dhead)).map(|dy| raw(dy) as u64).collect();
    let (mut jobs, n_tile) = super::super::learner::gradient_jobs(layout, tile, batch, &inputs, &outputs);
    let mut square_sum = vec![f64::NAN; K * n_tile];
    let kernel = build(
        &layout.gradient_source(tile),
        "n[0], n[1], 1, Tile::THREADS, [=] { gradient_sum(\
                       (GradientJob*)p[0], n[2], n[3], (f32*)p[1], (f64*)p[2]); }",
    );
    let numbers = [n_tile, K, jobs.len(), batch].map(|n| n as u32);
    kernel.run(&[raw(&mut jobs), raw(&mut arrays.gradient), raw(&mut square_sum)], &numbers);
    let kernel = build(
        &source,
        "(PARAMS / 4 + UPDATE_THREADS - 1) / UPDATE_THREADS, n[0], 1, UPDATE_THREADS, [=] { \
                       learner_update((LearnerParams*)p[0], (LearnerState*)p[1], (LossRow*)p[2], (f64*)p[3], n[1], \
                       (f32*)p[4], (f32*)p[5], (f32*)p[6], (f32*)p[7], (f32*)p[8], (StepResult*)p[9]); }",
    );
    let state = raw(&mut arrays.state);
    let moments = [raw(&mut arrays.first), raw(&mut arrays.second), raw(&mut arrays.results)];
    let gradient = raw(&mut arrays.gradient);
    let arguments = [params, state, raw(&mut rows), raw(&mut square_sum), gradient, online, target];
    kernel.run(&[&arguments[..], &moments].concat(), &[K as u32, n_tile as u32]);
    // Priorities are replay_host.rs's: here there are none.
    let dims =
        Dims { n_learner: K, n_env: 1, n_step: 1, n_feature: 1, n_action: layout.shape.n_action, capacity: 1, batch };
    let shape = GuardShape { cluster: 1, threads: 128 };
    let kernel = build(
        &guard_source(&dims, ReplayKind::Uniform, u32::MAX, shape),
        "n[0], 1, 1, GUARD_THREADS, [=] { guard_book((LearnerParams*)p[0], (LearnerState*)p[1], *(ReplayView*)p[2], \
                       (u32*)p[3], (f32*)p[4], (LossRow*)p[5], (StepResult*)p[6], (LearnerEpoch*)p[7]); }",
    );
    let mut replay = [ReplayView::default()];
    let out = [raw(&mut rows), raw(&mut arrays.results), raw(&mut arrays.epochs)];
    kernel.run(&[&[params, state, raw(&mut replay), slots, raw(&mut arrays.td)], &out[..]].concat(), &[K as u32]);
}

/// The trainer's ring, twice.
struct Ring {
    columns: [Vec<u32>; 4],
    reward: Vec<f32>,
    discount: Vec<f32>,
    portfolio: [Vec<f32>; 2],
    capacity: usize,
}

impl Ring {
    fn of(trainer: &Trainer) -> Self {
        let ring = &trainer.ring;
        let done: Vec<u32> = ring.done.iter().map(|&done| u32::from(done)).collect();
        Self {
            columns: [twice(&ring.bar), twice(&ring.action), twice(&done), twice(&ring.next_bar)],
            reward: twice(&ring.reward),
            discount: twice(&ring.discount),
            portfolio: [twice(&ring.portfolio), twice(&ring.next_portfolio)],
            capacity: ring.len(),
        }
    }

    fn view(&mut self) -> RingView {
        let [bar, action, done, next_bar] = self.columns.each_mut().map(|c| raw(c) as u64);
        let [portfolio, next_portfolio] = self.portfolio.each_mut().map(|c| raw(c) as u64);
        let (reward, discount) = (raw(&mut self.reward) as u64, raw(&mut self.discount) as u64);
        let capacity = self.capacity as u64;
        RingView { bar, portfolio, action, reward, discount, done, next_bar, next_portfolio, capacity }
    }
}

/// Largest difference over the largest magnitude of the parameter.
fn assert_close(what: &str, got: &[Vec<f32>], want: &[Vec<f32>], tolerance: f32) {
    assert_eq!(got.len(), want.len());
    for (i, (got, want)) in got.iter().zip(want).enumerate() {
        let scale = want.iter().fold(0.0_f32, |m, x| m.max(x.abs()));
        for (j, (g, w)) in got.iter().zip(want).enumerate() {
            assert!((g - w).abs() <= tolerance * scale.max(1e-6), "{what} {i}[{j}]: {g} against {w} (scale {scale})");
        }
    }
}

fn equals_the_trainer(config: &DqnConfig, tile: TileShape) {
    let mut trainer = Trainer::new(config, &sim(), &RewardConfig::default(), data(1), 5).unwrap();
    trainer.run_epoch().unwrap();
    let layout = NetLayout::new(trainer.nets.online.shape()).unwrap();
    let mut arrays = arrays(&mut trainer, &layout);
    step(&trainer, &layout, tile, &mut arrays);

    let blocks = trainer.progress.noise_blocks;
    let (now, next) = trainer.gather().unwrap();
    trainer.progress.noise_blocks = blocks;
    let targets = trainer.targets(&next).unwrap();
    let q = trainer.nets.online.forward(&now, Pass::Train).unwrap();
    let values: Vec<f32> = q.flatten_all().unwrap().to_vec1().unwrap();
    let loss = trainer.loss(&values, &targets);
    let gradients = trainer.gradients(&q, loss.dloss_dq.clone()).unwrap();
    let norm = global_norm(&gradients);
    let mut stats = LearnStats::default();
    trainer.learn(&mut stats).unwrap();

    for k in 0..K {
        let row = |values: &[f32]| layout.unpack(&values[k * layout.n_param..(k + 1) * layout.n_param]);
        assert_close("gradient", &row(&arrays.gradient), &gradients, 1e-4);
        assert_close("first moment", &row(&arrays.first), &trainer.adam.m, 1e-4);
        assert_close("second moment", &row(&arrays.second), &trainer.adam.v, 2e-4);
        assert_close("weights", &row(&arrays.online), &trainer.nets.weights, 1e-4);
        assert_close("target weights", &row(&arrays.target), &trainer.nets.target_weights, 1e-4);
        let batch = config.batch;
        assert_close(
            "TD errors",
            &[arrays.td[k * batch..(k + 1) * batch].to_vec()],
            std::slice::from_ref(&loss.td_abs),
            1e-4,
        );
        let result = arrays.results[k];
        assert!((result.loss / loss.loss - 1.0).abs() < 1e-4, "{} against {}", result.loss, loss.loss);
        assert!((result.grad_norm / norm - 1.0).abs() < 1e-4, "{} against {norm}", result.grad_norm);
        assert_eq!(result.verdict, 0);
        let state = arrays.state[k];
        assert_eq!((state.grad_steps, state.adam_steps), (trainer.progress.grad_steps, trainer.adam.step));
        assert!((state.loss_mean / trainer.guard.loss_mean - 1.0).abs() < 1e-4);
        assert_eq!(state.loss_count, trainer.guard.loss_count);
    }
}

#[test]
fn a_step_equals_the_trainers_with_every_option() {
    // Every option and every pair of neighbours in this list; tests/device.rs has them all together.
    let cases = [
        (Activation::Relu, true, true, vec![40, 33], TargetUpdate::Soft, 0.05),
        (Activation::Tanh, false, false, vec![12, 9, 7], TargetUpdate::Periodic, 0.0),
        (Activation::Silu, true, false, vec![12, 9], TargetUpdate::Soft, 0.0),
        (Activation::Silu, false, true, vec![40], TargetUpdate::Periodic, 0.05),
        (Activation::Relu, true, false, vec![], TargetUpdate::Soft, 0.05),
    ];
    let tiles = [TileShape::SMALL, TileShape::LARGE, TileShape::WIDE, TileShape::GRADIENT].into_iter().cycle();
    for ((activation, dueling, double, hidden, target, max_grad_norm), tile) in cases.into_iter().zip(tiles) {
        let config = DqnConfig {
            activation,
            dueling,
            double,
            hidden,
            target,
            target_period: 2,
            max_grad_norm,
            batch: 35,
            learning_starts: 40,
            ..config(ReplayKind::Proportional)
        };
        equals_the_trainer(&config, tile);
    }
}

#[test]
fn a_bad_step_changes_no_weight_and_is_counted() {
    let config = config(ReplayKind::Uniform);
    let mut trainer = Trainer::new(&config, &sim(), &RewardConfig::default(), data(1), 5).unwrap();
    trainer.run_epoch().unwrap();
    let layout = NetLayout::new(trainer.nets.online.shape()).unwrap();
    let good = arrays(&mut trainer, &layout).params[0];
    type Break = fn(&mut LearnerParams, &mut Arrays);
    let cases: [(u32, Break); 4] = [
        (1, |_, arrays| arrays.x[3] = f32::NAN),
        (2, |p, arrays| (p.loss_spike, arrays.state[0].loss_mean, arrays.state[0].loss_count) = (2.0, 1e-12, 200)),
        (4, |p, _| p.min_grad_norm = 1e9),
        (8, |p, _| p.max_q = 1e-9),
    ];
    for (verdict, break_it) in cases {
        let mut arrays = arrays(&mut trainer, &layout);
        let mut params = good;
        break_it(&mut params, &mut arrays);
        arrays.params[0] = params;
        let before = (arrays.online.clone(), arrays.target.clone(), arrays.first.clone(), arrays.state[0]);
        step(&trainer, &layout, TileShape::SMALL, &mut arrays);
        let n = layout.n_param;
        assert_eq!(arrays.results[0].verdict, verdict);
        assert_eq!(arrays.online[..n], before.0[..n]);
        assert_eq!((&arrays.target[..n], &arrays.first[..n]), (&before.1[..n], &before.2[..n]));
        let state = arrays.state[0];
        assert_eq!((state.skipped_steps, state.tripped), (1, u64::from(verdict)));
        assert_eq!((state.grad_steps, state.adam_steps), (before.3.grad_steps + 1, before.3.adam_steps));
        assert_eq!(arrays.results[1].verdict, 0, "the other learner goes on");
        assert_ne!(arrays.online[n..], before.0[n..]);
    }
}
