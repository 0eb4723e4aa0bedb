//! Buffers, kernels and launches of the layered form; this file owns grid and block.

use std::ops::Range;

use gigabar_gpu::{Buffer, Device, GpuError, Kernel, LaunchShape};

use crate::gpu::layered::{LayeredPlan, PackedLayers, STEP_THREADS, dense_source, first_source, step_source};
use crate::gpu::layout::{EnvAccount, EnvWindow, RolloutPair};
use crate::gpu::rollout::{MAX_GRID_Z, MarketBuffers, PathBuffers, metrics_source, project_shape};

/// Weights of all models on the device, shaped as [`PackedLayers`].
#[derive(Debug)]
pub(super) struct Networks {
    projection: Buffer<f32>,
    projection_bias: Buffer<f32>,
    portfolio: Buffer<f32>,
    dense: Vec<(Buffer<f32>, Buffer<f32>)>,
    head: Buffer<f32>,
    head_bias: Buffer<f32>,
    pub(in crate::gpu::evaluator) levels: Buffer<f64>,
}

/// What passes from kernel to kernel.
#[derive(Debug)]
pub(super) struct State {
    /// Every model over every window. `[n_model, n_row]`
    rows: Buffer<RolloutPair>,
    /// `[n_model, n_row, chunk, H1]`
    projected: Buffer<f32>,
    /// Decisions of one projection.
    pub(super) chunk: u32,
    /// Outputs of every hidden layer but the last. `[n_model, n_row, width]`
    outputs: Vec<Buffer<f32>>,
    /// `[n_model, n_row, n_head, LAST/4]`; two that take turns if there is one hidden layer only.
    shares: Vec<Buffer<f32>>,
    /// `LayeredClock`
    clocks: [Buffer<u32>; 2],
    /// `[n_account]`
    lives: [Buffer<EnvAccount>; 2],
}

#[derive(Debug)]
pub(super) struct Kernels {
    project: Kernel,
    begin: Kernel,
    /// Of every layer after the first.
    dense: Vec<Kernel>,
    step: Kernel,
    pub(super) summarise: Kernel,
}

/// Windows by falling length: those that are done are the last rows.
pub(super) fn longest_first(windows: &[EnvWindow]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..windows.len()).collect();
    order.sort_by_key(|&w| std::cmp::Reverse(windows[w].n_bars));
    order
}

impl Networks {
    pub(super) fn zeros(device: &Device, plan: &LayeredPlan) -> Result<Self, GpuError> {
        let n_model = plan.n_model;
        let layer = |pair: &[usize]| -> Result<_, GpuError> {
            let weight = device.zeros("layer_weight", n_model * pair[0] * pair[1])?;
            Ok((weight, device.zeros("layer_bias", n_model * pair[1])?))
        };
        Ok(Self {
            projection: device.zeros("projection", n_model * plan.n_feature() * plan.first_width())?,
            projection_bias: device.zeros("projection_bias", n_model * plan.first_width())?,
            portfolio: device.zeros("portfolio", n_model * plan.portfolio_floats())?,
            dense: plan.widths.windows(2).map(layer).collect::<Result<_, _>>()?,
            head: device.zeros("head", n_model * plan.head_floats())?,
            head_bias: device.zeros("head_bias", n_model * plan.n_head())?,
            levels: device.zeros("action_levels", n_model * plan.n_action())?,
        })
    }

    pub(super) fn write(&mut self, packed: &PackedLayers) -> Result<(), GpuError> {
        self.projection.write(&packed.projection)?;
        self.projection_bias.write(&packed.projection_bias)?;
        self.portfolio.write(&packed.portfolio)?;
        for ((weight, bias), packed) in self.dense.iter_mut().zip(&packed.dense) {
            weight.write(&packed.0)?;
            bias.write(&packed.1)?;
        }
        self.head.write(&packed.head)?;
        self.head_bias.write(&packed.head_bias)?;
        self.levels.write(&packed.levels)
    }
}

impl State {
    pub(super) fn new(
        device: &Device,
        plan: &LayeredPlan,
        windows: &[EnvWindow],
        n_steps: usize,
        projected_bytes: usize,
    ) -> Result<Self, GpuError> {
        let n_row = plan.n_network_row();
        let order = longest_first(windows);
        let row =
            |model: usize| order.iter().map(move |&w| RolloutPair { path: 0, window: w as u32, policy: model as u32 });
        let rows: Vec<RolloutPair> = (0..plan.n_model).flat_map(row).collect();
        let hidden = &plan.widths[..plan.widths.len() - 1];
        let output = |width: &usize| device.zeros("layer_output", n_row * width);
        let n_shares = if hidden.is_empty() { 2 } else { 1 };
        let outputs = hidden.iter().map(output).collect::<Result<_, _>>()?;
        let shares = (0..n_shares).map(|_| device.zeros("shares", n_row * plan.share_floats()));
        let shares = shares.collect::<Result<_, _>>()?;
        let lives = || device.zeros("lives", plan.n_account());
        let clock = || device.zeros("clock", 4);
        let (clocks, lives) = ([clock()?, clock()?], [lives()?, lives()?]);
        let budget = projected_bytes.min(device.free_bytes()? / 2);
        let chunk = (budget / (n_row * plan.first_width() * size_of::<f32>())).clamp(1, n_steps.max(1));
        let projected = device.zeros("projected", n_row * chunk * plan.first_width())?;
        let rows = device.upload("rows", &rows)?;
        Ok(Self { rows, projected, chunk: chunk as u32, outputs, shares, clocks, lives })
    }
}

impl Kernels {
    pub(super) fn load(device: &Device, plan: &LayeredPlan, flags: u32, actions: bool) -> Result<Self, GpuError> {
        let step = step_source(plan, flags, actions);
        let dense = |layer| device.kernel(&dense_source(plan, layer), "dense_forward");
        Ok(Self {
            project: device.kernel(&first_source(plan), "project_features")?,
            begin: device.kernel(&step, "layered_begin")?,
            dense: (1..plan.widths.len()).map(dense).collect::<Result<_, _>>()?,
            step: device.kernel(&step, "layered_step")?,
            summarise: device.kernel(&metrics_source(), "metrics_summarise")?,
        })
    }
}

/// All that a launch takes its arguments from.
pub(super) struct Parts<'a> {
    pub(super) device: &'a Device,
    pub(super) plan: &'a LayeredPlan,
    pub(super) market: &'a MarketBuffers,
    pub(super) path: &'a PathBuffers,
    pub(super) networks: &'a Networks,
    pub(super) state: &'a State,
    pub(super) kernels: &'a Kernels,
}

impl Parts<'_> {
    /// Layer 1 on the features for the decisions `steps`.
    pub(super) fn launch_projections(
        &self,
        features: &[Option<Buffer<f32>>],
        steps: &Range<u32>,
    ) -> Result<(), GpuError> {
        let n_row = self.plan.n_row;
        if features.iter().all(Option::is_none) {
            return self.launch_projection(&self.market.features, 0..self.plan.n_network_row(), steps);
        }
        for model in 0..self.plan.n_model {
            let own = features.get(model).and_then(Option::as_ref).unwrap_or(&self.market.features);
            self.launch_projection(own, model * n_row..(model + 1) * n_row, steps)?;
        }
        Ok(())
    }

    #[allow(unsafe_code)]
    fn launch_projection(
        &self,
        features: &Buffer<f32>,
        rows: Range<usize>,
        steps: &Range<u32>,
    ) -> Result<(), GpuError> {
        let n_steps = steps.end - steps.start;
        for first in rows.clone().step_by(MAX_GRID_Z) {
            let launch = self.kernels.project.launch();
            let launch = launch.buffer(features).buffer(&self.market.windows).buffer(&self.state.rows);
            let launch = launch.buffer(&self.networks.projection).buffer(&self.networks.projection_bias);
            let launch = launch.buffer(&self.state.projected).value(self.state.chunk).value(steps.start);
            let launch = launch.value(n_steps).value(first as u32);
            let shape = project_shape(self.plan.first_width(), n_steps as usize, rows.end - first);
            // SAFETY: the arguments are project_features'; rows beyond a window are guarded in the kernel, `projected`
            // holds `chunk` rows for each of the plan's, and the features are as many as the market's (checked at
            // upload).
            unsafe { launch.run(self.device, shape)? };
        }
        Ok(())
    }

    /// Where layer 1 goes in a step that begins with buffers `turn`.
    fn first_output(&self, turn: usize) -> &Buffer<f32> {
        self.state.outputs.first().unwrap_or(&self.state.shares[turn % self.state.shares.len()])
    }

    fn step_shape(&self) -> LaunchShape {
        let mut shape = LaunchShape::line(self.plan.n_account(), STEP_THREADS);
        shape.grid[1] = self.plan.n_voter() as u32;
        shape
    }

    /// Accounts, observation and layer 1 before the first of the decisions `steps`; sets the clock to them.
    #[allow(unsafe_code)]
    pub(super) fn launch_begin(&self, steps: &Range<u32>) -> Result<(), GpuError> {
        let Self { market, path, networks, state, .. } = self;
        let launch = self.kernels.begin.launch();
        let launch = launch.buffer(&market.bars).buffer(&market.windows).buffer(&market.rules).buffer(&path.pairs);
        let launch = launch.buffer(&state.projected).buffer(&networks.portfolio).buffer(&networks.head);
        let launch = launch.buffer(&path.accounts).buffer(&state.lives[0]).buffer(&path.equity);
        let launch = launch.buffer(self.first_output(0)).buffer(&state.clocks[0]).value(state.chunk);
        let launch = launch.value(self.plan.n_row as u32).value(steps.start).value(steps.end - steps.start);
        // SAFETY: the arguments are layered_begin's; every buffer was sized by the same plan and pairs.
        unsafe { launch.run(self.device, self.step_shape()) }
    }

    /// The layers after the first, then the step of every account; `turn` says which of the paired buffers it reads.
    pub(super) fn launch_step(&self, turn: usize) -> Result<(), GpuError> {
        (1..self.plan.widths.len()).try_for_each(|layer| self.launch_dense(layer))?;
        self.launch_account(turn)
    }

    #[allow(unsafe_code)]
    fn launch_dense(&self, layer: usize) -> Result<(), GpuError> {
        let (weight, bias) = &self.networks.dense[layer - 1];
        let out = self.state.outputs.get(layer).unwrap_or(&self.state.shares[0]);
        let launch = self.kernels.dense[layer - 1].launch().buffer(&self.state.outputs[layer - 1]);
        let launch = launch.buffer(weight).buffer(bias).buffer(&self.networks.head).buffer(out);
        let launch = launch.value(self.plan.n_row as u32);
        let mut shape = LaunchShape::line(0, self.plan.dense_threads(layer));
        shape.grid = self.plan.dense_grid(layer).map(|n| n as u32);
        // SAFETY: the arguments are dense_forward's; tiles divide the padded width and rows are guarded in the kernel.
        // Inside a capture the buffers belong to the struct that keeps the graph.
        unsafe { launch.run(self.device, shape) }
    }

    #[allow(unsafe_code)]
    fn launch_account(&self, turn: usize) -> Result<(), GpuError> {
        let Self { market, path, networks, state, .. } = self;
        let launch = self.kernels.step.launch();
        let launch = launch.buffer(&market.bars).buffer(&market.windows).buffer(&market.rules).buffer(&path.pairs);
        let launch = launch.buffer(&networks.levels).buffer(&state.shares[turn % state.shares.len()]);
        let launch = launch.buffer(&networks.head_bias).buffer(&state.projected).buffer(&networks.portfolio);
        let launch = launch.buffer(&networks.head).buffer(&state.clocks[turn]).buffer(&state.clocks[1 - turn]);
        let launch = launch.buffer(&state.lives[turn]).buffer(&state.lives[1 - turn]).buffer(&path.accounts);
        let launch = launch.buffer(&path.equity).buffer(&path.returns).buffer(&path.actions);
        let launch = launch.buffer(self.first_output(1 - turn)).value(state.chunk).value(self.plan.n_row as u32);
        // SAFETY: the arguments are layered_step's; every buffer was sized by the same plan and pairs. Inside a capture
        // they belong to the struct that keeps the graph, and the market's to the evaluator that keeps that.
        unsafe { launch.run(self.device, self.step_shape()) }
    }
}
