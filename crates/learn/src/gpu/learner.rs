//! [`Learner`]: the networks of all learners, their optimizer, and the launches of one gradient step.

use gigabar_gpu::header::ARGMAX;
use gigabar_gpu::{Buffer, Device, GpuError, Kernel, KernelSource, LaunchShape, Plain};

use super::guard::{GUARD_HEADER, GpuTrainingGuard, LossRow, guard_constants};
use super::layout::{LearnerParams, LearnerState, RingView};
use super::monitor::MONITOR;
use super::net::{FOLD, LayerLayout, NET, NetLayout, TileShape};
use crate::error::LearnError;
use crate::net::Activation;
use crate::optim::AdamConfig;

const LEARNER: (&str, &str) = ("learner.cu", include_str!("learner.cu"));
/// Rows of a block of `learner_loss` and `learner_q`; `LOSS_WARPS`.
const LOSS_WARPS: usize = 8;
const UPDATE_THREADS: usize = 256;

/// What all learners share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LearnerDims {
    pub(super) n_learner: usize,
    pub(super) n_env: usize,
    pub(super) batch: usize,
    /// Double Q-learning: s′ passes through the online network too.
    pub(super) double: bool,
}

impl LearnerDims {
    /// Passes of a gradient step: s online, s′ online where double, s′ target.
    fn n_segment(&self) -> usize {
        2 + usize::from(self.double)
    }
}

/// `learner.cu`'s GradientJob.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub(super) struct GradientJob {
    dy: u64,
    x: u64,
    dy_learner: i64,
    x_learner: i64,
    n_out: i32,
    out_stride: i32,
    in_stride: i32,
    weight: i32,
    bias: i32,
    first_tile: i32,
    tiles_n: i32,
    unused: i32,
}
const _: () = assert!(size_of::<GradientJob>() == 64);

/// `unsafe impl Plain`, in one place.
#[allow(unsafe_code)]
mod plain {
    use super::{GradientJob, Plain};
    // SAFETY: a repr(C) struct of numbers and device addresses; gradient.cu asserts the same size.
    unsafe impl Plain for GradientJob {}
}

/// A hidden layer's kernels for one number of rows.
#[derive(Debug)]
struct DenseKernels {
    forward: Kernel,
    backward: Kernel,
    forward_tile: TileShape,
    backward_tile: TileShape,
}

#[derive(Debug)]
struct Kernels {
    /// Of the minibatch. `[n_hidden]`
    batch: Vec<DenseKernels>,
    /// Of the environments. `[n_hidden]`
    env: Vec<(Kernel, TileShape)>,
    q: Kernel,
    loss: Kernel,
    gradient: Kernel,
    gradient_tile: TileShape,
    update: Kernel,
}

/// The minibatch of a gradient step, as `replay.cu` leaves it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Minibatch<'a> {
    /// s and s′. `[K, 2, batch, row_floats]`
    pub(super) x: &'a Buffer<f32>,
    /// `[K, batch]`
    pub(super) slots: &'a Buffer<u32>,
    /// Importance weights before division by the largest. `[K, batch]`
    pub(super) weights: &'a Buffer<f64>,
    pub(super) ring: RingView,
}

/// Settings and progress of all learners. `[K]` each
#[derive(Debug, Clone, Copy)]
pub(super) struct Learners<'a> {
    pub(super) params: &'a Buffer<LearnerParams>,
    pub(super) state: &'a Buffer<LearnerState>,
}

/// Networks, optimizer and scratch of all learners.
#[derive(Debug)]
pub(super) struct Learner {
    device: Device,
    dims: LearnerDims,
    pub(super) layout: NetLayout,
    kernels: Kernels,
    /// `[K, n_param]`, as are the four below
    pub(super) online: Buffer<f32>,
    pub(super) target: Buffer<f32>,
    pub(super) first: Buffer<f32>,
    pub(super) second: Buffer<f32>,
    pub(super) gradient: Buffer<f32>,
    /// Of each hidden layer. `[K, n_segment, batch, out_stride]`
    h: Vec<Buffer<f32>>,
    /// What went into f, of segment 0; empty but for SiLU. `[K, batch, out_stride]`
    z: Vec<Buffer<f32>>,
    /// ∂L/∂(what went into f). `[K, batch, out_stride]`
    dh: Vec<Buffer<f32>>,
    /// `[K, batch, head.out_stride]`
    dhead: Buffer<f32>,
    /// |δ|. `[K, batch]`
    pub(super) td: Buffer<f32>,
    pub(super) rows: Buffer<LossRow>,
    /// `[K, tiles]`
    square_sum: Buffer<f64>,
    n_tile: usize,
    jobs: Option<Buffer<GradientJob>>,
    /// Hidden layers of the environments. `[K, n_env, out_stride]`
    env_h: Vec<Buffer<f32>>,
    /// Q of the environments. `[K, n_env, n_action]`
    pub(super) q: Buffer<f32>,
}

impl Learner {
    /// Buffers and kernels; all zeros.
    pub(super) fn new(device: &Device, layout: NetLayout, dims: LearnerDims) -> Result<Self, LearnError> {
        let LearnerDims { n_learner, n_env, batch, .. } = dims;
        let kernels = kernels(device, &layout, &dims)?;
        let silu = layout.shape.activation == Activation::Silu;
        let each = |name: &'static str, rows: usize| -> Result<Vec<Buffer<f32>>, GpuError> {
            layout.hidden.iter().map(|layer| device.zeros(name, n_learner * rows * layer.out_stride)).collect()
        };
        let row = |name: &'static str| device.zeros::<f32>(name, n_learner * layout.n_param);
        let (out, last) = (layout.head.out_stride, layout.shape.n_action);
        let n_tile = gradient_tiles(&layout, kernels.gradient_tile);
        Ok(Self {
            online: row("online weights")?,
            target: row("target weights")?,
            first: row("Adam's first moments")?,
            second: row("Adam's second moments")?,
            gradient: row("gradients")?,
            h: each("activations", dims.n_segment() * batch)?,
            z: each("sums before SiLU", if silu { batch } else { 0 })?,
            dh: each("gradients of activations", batch)?,
            dhead: device.zeros("gradients of the head", n_learner * batch * out)?,
            td: device.zeros("TD errors", n_learner * batch)?,
            rows: device.zeros("loss rows", n_learner * batch)?,
            square_sum: device.zeros("squares of gradients", n_learner * n_tile)?,
            n_tile,
            jobs: None,
            env_h: each("activations of environments", n_env)?,
            q: device.zeros("Q of environments", n_learner * n_env * last)?,
            device: device.clone(),
            dims,
            layout,
            kernels,
        })
    }

    /// Makes the table of layers that `gradient_sum` reads; `x` is the minibatch's buffer, the same for ever.
    pub(super) fn bind(&mut self, x: &Buffer<f32>) -> Result<(), LearnError> {
        let segments = self.dims.n_segment();
        let hidden = self.h.iter().map(|h| (h.address(), segments));
        let inputs: Vec<(u64, usize)> = std::iter::once((x.address(), 2)).chain(hidden).collect();
        let outputs: Vec<u64> = self.dh.iter().chain(std::iter::once(&self.dhead)).map(Buffer::address).collect();
        let (jobs, _) = gradient_jobs(&self.layout, self.kernels.gradient_tile, self.dims.batch, &inputs, &outputs);
        self.jobs = Some(self.device.upload("layers", &jobs)?);
        Ok(())
    }

    /// Queues Q of every environment into [`Self::q`]. `observation` is `[K, n_env, row_floats]`.
    #[allow(unsafe_code)]
    pub(super) fn queue_q(&self, observation: &Buffer<f32>) -> Result<(), GpuError> {
        let LearnerDims { n_learner, n_env, .. } = self.dims;
        let mut x = observation;
        for (i, layer) in self.layout.hidden.iter().enumerate() {
            let (kernel, tile) = &self.kernels.env[i];
            let [m, n] = tile.tiles(n_env, layer.n_out);
            let launch = kernel.launch().buffer(x).buffer(&self.online).buffer(&self.target).buffer(&self.env_h[i]);
            let launch = launch.value(0_u64).value(n_env as u32).value(1_u32).value(1_u32);
            // SAFETY: dense_forward's parameters; the buffers have the shapes it names.
            unsafe { launch.run(&self.device, grid([m, n, n_learner], tile.threads())) }?;
            x = &self.env_h[i];
        }
        let launch = self.kernels.q.launch().buffer(&self.online).buffer(x).buffer(&self.q).value(n_env as u32);
        let shape = grid([n_env.div_ceil(LOSS_WARPS), n_learner, 1], 32 * LOSS_WARPS);
        // SAFETY: learner_q's parameters; the buffers have the shapes it names.
        unsafe { launch.run(&self.device, shape) }
    }

    /// Queues everything of a gradient step from the minibatch to the new weights.
    pub(super) fn queue_step(
        &self,
        of: Learners<'_>,
        minibatch: Minibatch<'_>,
        guard: &GpuTrainingGuard,
    ) -> Result<(), GpuError> {
        self.queue_forward(minibatch.x)?;
        self.queue_loss(of, minibatch)?;
        self.queue_backward()?;
        self.queue_gradient()?;
        self.queue_update(of, guard)
    }

    #[allow(unsafe_code)]
    pub(super) fn queue_forward(&self, x: &Buffer<f32>) -> Result<(), GpuError> {
        let LearnerDims { n_learner, batch, .. } = self.dims;
        let n_segment = self.dims.n_segment();
        let (mut input, mut n_in) = (x, 2_u32);
        for (i, layer) in self.layout.hidden.iter().enumerate() {
            let kernels = &self.kernels.batch[i];
            let [m, n] = kernels.forward_tile.tiles(batch, layer.n_out);
            let launch = kernels.forward.launch().buffer(input).buffer(&self.online).buffer(&self.target);
            let launch = launch.buffer(&self.h[i]).buffer(&self.z[i]);
            let launch = launch.value(batch as u32).value(n_segment as u32).value(n_in);
            let shape = grid([m, n, n_learner * n_segment], kernels.forward_tile.threads());
            // SAFETY: dense_forward's parameters; the buffers have the shapes it names.
            unsafe { launch.run(&self.device, shape) }?;
            (input, n_in) = (&self.h[i], n_segment as u32);
        }
        Ok(())
    }

    #[allow(unsafe_code)]
    pub(super) fn queue_loss(&self, of: Learners<'_>, minibatch: Minibatch<'_>) -> Result<(), GpuError> {
        let LearnerDims { n_learner, batch, .. } = self.dims;
        let last = self.h.len().checked_sub(1);
        let h = last.map_or(minibatch.x, |i| &self.h[i]);
        let (z, dh) = last.map_or((0, 0), |i| (self.z[i].address(), self.dh[i].address()));
        let launch = self.kernels.loss.launch().buffer(of.params).buffer(&self.online).buffer(&self.target).buffer(h);
        let launch = launch.value(z).buffer(minibatch.slots).buffer(minibatch.weights).value(minibatch.ring);
        let launch = launch.buffer(&self.td).buffer(&self.dhead).value(dh).buffer(&self.rows);
        // SAFETY: learner_loss's parameters; the buffers have the shapes it names.
        unsafe { launch.run(&self.device, grid([batch.div_ceil(LOSS_WARPS), n_learner, 1], 32 * LOSS_WARPS)) }
    }

    #[allow(unsafe_code)]
    pub(super) fn queue_backward(&self) -> Result<(), GpuError> {
        let LearnerDims { n_learner, batch, .. } = self.dims;
        for i in (1..self.layout.hidden.len()).rev() {
            let (kernels, layer) = (&self.kernels.batch[i], &self.layout.hidden[i]);
            let [m, n] = kernels.backward_tile.tiles(batch, layer.n_in);
            let launch = kernels.backward.launch().buffer(&self.dh[i]).buffer(&self.online).buffer(&self.h[i - 1]);
            let launch = launch.buffer(&self.z[i - 1]).buffer(&self.dh[i - 1]);
            let launch = launch.value(batch as u32).value(self.dims.n_segment() as u32);
            // SAFETY: dense_backward's parameters; the buffers have the shapes it names.
            unsafe { launch.run(&self.device, grid([m, n, n_learner], kernels.backward_tile.threads())) }?;
        }
        Ok(())
    }

    #[allow(unsafe_code)]
    pub(super) fn queue_gradient(&self) -> Result<(), GpuError> {
        let Some(jobs) = &self.jobs else { return Ok(()) };
        let launch = self.kernels.gradient.launch().buffer(jobs).value(jobs.len() as u32);
        let launch = launch.value(self.dims.batch as u32).buffer(&self.gradient).buffer(&self.square_sum);
        let shape = grid([self.n_tile, self.dims.n_learner, 1], self.kernels.gradient_tile.threads());
        // SAFETY: gradient_sum's parameters; the jobs name buffers of this learner and the minibatch they were bound
        // to.
        unsafe { launch.run(&self.device, shape) }
    }

    #[allow(unsafe_code)]
    pub(super) fn queue_update(&self, of: Learners<'_>, guard: &GpuTrainingGuard) -> Result<(), GpuError> {
        let launch = self.kernels.update.launch().buffer(of.params).buffer(of.state).buffer(&self.rows);
        let launch = launch.buffer(&self.square_sum).value(self.n_tile as u32).buffer(&self.gradient);
        let launch = launch.buffer(&self.online).buffer(&self.target).buffer(&self.first).buffer(&self.second);
        let blocks = (self.layout.n_param / 4).div_ceil(UPDATE_THREADS);
        let shape = grid([blocks, self.dims.n_learner, 1], UPDATE_THREADS);
        // SAFETY: learner_update's parameters; the buffers have the shapes it names.
        unsafe { launch.buffer(&guard.results).run(&self.device, shape) }
    }
}

fn grid(blocks: [usize; 3], threads: usize) -> LaunchShape {
    let clip = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    LaunchShape { grid: blocks.map(clip), block: [clip(threads), 1, 1], shared_bytes: 0 }
}

/// The table of layers for `gradient_sum` and the number of tiles. Layer i reads `inputs[i]` (address, segments a
/// learner) and the gradients at `outputs[i]`.
pub(super) fn gradient_jobs(
    layout: &NetLayout,
    tile: TileShape,
    batch: usize,
    inputs: &[(u64, usize)],
    outputs: &[u64],
) -> (Vec<GradientJob>, usize) {
    let mut n_tile = 0;
    let layers = layout.hidden.iter().chain(std::iter::once(&layout.head));
    let job = |((layer, &(x, n_segment)), &dy): ((&LayerLayout, &(u64, usize)), &u64)| {
        let [m, n] = tile.tiles(layer.n_out, layer.in_stride);
        let first_tile = n_tile as i32;
        n_tile += m * n;
        GradientJob {
            dy,
            x,
            dy_learner: (batch * layer.out_stride) as i64,
            x_learner: (n_segment * batch * layer.in_stride) as i64,
            n_out: layer.n_out as i32,
            out_stride: layer.out_stride as i32,
            in_stride: layer.in_stride as i32,
            weight: layer.weight as i32,
            bias: layer.bias as i32,
            first_tile,
            tiles_n: n as i32,
            unused: 0,
        }
    };
    let jobs = layers.zip(inputs).zip(outputs).map(job).collect();
    (jobs, n_tile)
}

/// Tiles of all layers' gradients.
fn gradient_tiles(layout: &NetLayout, tile: TileShape) -> usize {
    let tiles = |layer: &LayerLayout| tile.tiles(layer.n_out, layer.in_stride).iter().product::<usize>();
    layout.hidden.iter().chain(std::iter::once(&layout.head)).map(tiles).sum()
}

/// Source of the kernels of `learner.cu` and `monitor.cu`.
pub(super) fn learner_source(layout: &NetLayout, dims: &LearnerDims) -> KernelSource {
    // Without hidden layers the head reads the observations, which both networks share.
    let linear = layout.hidden.is_empty();
    let n_segment = if linear { 2 } else { dims.n_segment() };
    let adam = AdamConfig::default();
    let source =
        super::shared_source("learner.cu", u32::MAX).texts(&[ARGMAX, NET, FOLD, GUARD_HEADER, LEARNER, MONITOR]);
    let source = layout
        .define(source)
        .define("BATCH", dims.batch)
        .define("DOUBLE", u32::from(dims.double))
        .define("H_SEGMENTS", n_segment)
        .define("NEXT_SEGMENT", 1)
        .define("TARGET_SEGMENT", n_segment - 1)
        .define("ADAM_BETA1", format!("{:e}", adam.beta1))
        .define("ADAM_BETA2", format!("{:e}", adam.beta2));
    guard_constants(source)
}

fn kernels(device: &Device, layout: &NetLayout, dims: &LearnerDims) -> Result<Kernels, GpuError> {
    let n_sm = device.facts().n_sm;
    let LearnerDims { n_learner, n_env, batch, .. } = *dims;
    let (mut of_batch, mut of_env) = (Vec::new(), Vec::new());
    for (i, layer) in layout.hidden.iter().enumerate() {
        let forward_tile = TileShape::choose(batch, layer.n_out, n_learner * dims.n_segment(), n_sm);
        let backward_tile = TileShape::choose(batch, layer.n_in, n_learner, n_sm);
        let env_tile = TileShape::choose(n_env, layer.n_out, n_learner, n_sm);
        let kernel = |tile, name| device.kernel(&layout.dense_source(i, tile), name);
        of_batch.push(DenseKernels {
            forward: kernel(forward_tile, "dense_forward")?,
            backward: kernel(backward_tile, "dense_backward")?,
            forward_tile,
            backward_tile,
        });
        of_env.push((kernel(env_tile, "dense_forward")?, env_tile));
    }
    let (large, small) = (TileShape::GRADIENT, TileShape::SMALL);
    let gradient_tile = if gradient_tiles(layout, large) * n_learner >= 2 * n_sm { large } else { small };
    let source = learner_source(layout, dims);
    Ok(Kernels {
        batch: of_batch,
        env: of_env,
        q: device.kernel(&source, "learner_q")?,
        loss: device.kernel(&source, "learner_loss")?,
        gradient: device.kernel(&layout.gradient_source(gradient_tile), "gradient_sum")?,
        gradient_tile,
        update: device.kernel(&source, "learner_update")?,
    })
}
