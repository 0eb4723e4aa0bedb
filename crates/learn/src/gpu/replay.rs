//! [`GpuReplayBuffer`]: rings of transitions on the device, and launches of `replay.cu` and `rank.cu`.

pub(crate) mod transfer;
pub(crate) mod tree;

use gigabar_gpu::header::REDUCE;
use gigabar_gpu::{Buffer, Device, GpuError, Kernel, KernelSource, LaunchShape};

use super::layout::{ReplayView, RingView, SortView, replay_word};
use super::world::{Dims, World, expect_len};
use crate::replay::{ReplayKind, Ring, Sampler, SamplerState};
use transfer::HostReplay;

/// Sum tree, ranks, insertion and update. Needs `learner.cuh` and what that needs.
pub(crate) const REPLAY_HEADER: (&str, &str) = ("replay.cuh", include_str!("replay.cuh"));
const REPLAY: (&str, &str) = ("replay.cu", include_str!("replay.cu"));
const RANK: (&str, &str) = ("rank.cu", include_str!("rank.cu"));

const WARP: usize = 32;
/// Rows of a block that draws.
const DRAW_WARPS: usize = 4;
const SORT_THREADS: usize = 256;
/// Elements of a thread that sorts.
const SORT_ROUNDS: usize = 16;
const SORT_TILE: usize = SORT_THREADS * SORT_ROUNDS;
const RADIX: usize = 256;
/// 32 bits, eight a pass.
const SORT_PASSES: u32 = 4;
const SCAN_THREADS: usize = 1024;

/// Adds the sizes and the kind of replay to a source that has `replay.cuh`.
pub(crate) fn define(source: KernelSource, dims: &Dims, kind: ReplayKind) -> KernelSource {
    dims.define(source).define("REPLAY", replay_word(kind))
}

/// Source of `replay_draw`.
pub(crate) fn replay_source(dims: &Dims, kind: ReplayKind, flags: u32) -> KernelSource {
    let source = super::shared_source("replay.cu", flags).texts(&[REPLAY_HEADER, REPLAY]);
    define(source, dims, kind).define("DRAW_WARPS", DRAW_WARPS)
}

/// Source of `rank_count`, `rank_scan` and `rank_scatter`.
pub(crate) fn rank_source(dims: &Dims, flags: u32) -> KernelSource {
    let source = super::shared_source("rank.cu", flags).texts(&[REDUCE, REPLAY_HEADER, RANK]);
    let source = define(source, dims, ReplayKind::Rank).define("SORT_THREADS", SORT_THREADS);
    source.define("SORT_ROUNDS", format!("{SORT_ROUNDS}u")).define("SCAN_THREADS", SCAN_THREADS)
}

/// Σ_{j ≤ i+1} j^−α for each distinct α, and which of them each learner reads. `[n_table, capacity]`, `[K]`
pub(crate) fn rank_tables(alphas: &[f64], capacity: usize) -> (Vec<f64>, Vec<u32>) {
    let (mut distinct, mut cumulative): (Vec<u64>, Vec<f64>) = (Vec::new(), Vec::new());
    let mut row_of = |alpha: f64| {
        let found = distinct.iter().position(|&bits| bits == alpha.to_bits());
        let row = found.unwrap_or_else(|| {
            distinct.push(alpha.to_bits());
            let running = |sum: &mut f64, rank: usize| {
                *sum += (rank as f64).powf(-alpha);
                Some(*sum)
            };
            cumulative.extend((1..=capacity).scan(0.0, running));
            distinct.len() - 1
        });
        row as u32
    };
    let table = alphas.iter().map(|&alpha| row_of(alpha)).collect();
    (cumulative, table)
}

/// The rings' arrays. `[K, capacity]`, the portfolios `[K, capacity, 8]`
#[derive(Debug)]
struct RingBuffers {
    bar: Buffer<u32>,
    portfolio: Buffer<f32>,
    action: Buffer<u32>,
    reward: Buffer<f32>,
    discount: Buffer<f32>,
    done: Buffer<u32>,
    next_bar: Buffer<u32>,
    next_portfolio: Buffer<f32>,
}

impl RingBuffers {
    fn upload(device: &Device, host: &HostReplay) -> Result<Self, GpuError> {
        Ok(Self {
            bar: device.upload("ring.bar", &host.bar)?,
            portfolio: device.upload("ring.portfolio", &host.portfolio)?,
            action: device.upload("ring.action", &host.action)?,
            reward: device.upload("ring.reward", &host.reward)?,
            discount: device.upload("ring.discount", &host.discount)?,
            done: device.upload("ring.done", &host.done)?,
            next_bar: device.upload("ring.next_bar", &host.next_bar)?,
            next_portfolio: device.upload("ring.next_portfolio", &host.next_portfolio)?,
        })
    }

    fn write(&mut self, host: &HostReplay) -> Result<(), GpuError> {
        self.bar.write(&host.bar)?;
        self.portfolio.write(&host.portfolio)?;
        self.action.write(&host.action)?;
        self.reward.write(&host.reward)?;
        self.discount.write(&host.discount)?;
        self.done.write(&host.done)?;
        self.next_bar.write(&host.next_bar)?;
        self.next_portfolio.write(&host.next_portfolio)
    }

    fn read_into(&self, host: &mut HostReplay) -> Result<(), GpuError> {
        host.bar = self.bar.read()?;
        host.portfolio = self.portfolio.read()?;
        host.action = self.action.read()?;
        host.reward = self.reward.read()?;
        host.discount = self.discount.read()?;
        host.done = self.done.read()?;
        host.next_bar = self.next_bar.read()?;
        host.next_portfolio = self.next_portfolio.read()?;
        Ok(())
    }
}

/// What sorting needs beside the priorities.
#[derive(Debug)]
struct Sorter {
    keys: Buffer<u32>,
    slots: Buffer<u32>,
    counts: Buffer<u32>,
    count: Kernel,
    scan: Kernel,
    scatter: Kernel,
}

impl Sorter {
    fn new(world: &World) -> Result<Self, GpuError> {
        let (dims, device) = (&world.dims, &world.device);
        let source = rank_source(dims, world.flags);
        let n = dims.n_learner * dims.capacity;
        Ok(Self {
            keys: device.zeros("sort.keys", 2 * n)?,
            slots: device.zeros("sort.slots", n)?,
            counts: device.zeros("sort.counts", dims.n_learner * RADIX * dims.capacity.div_ceil(SORT_TILE))?,
            count: device.kernel(&source, "rank_count")?,
            scan: device.kernel(&source, "rank_scan")?,
            scatter: device.kernel(&source, "rank_scatter")?,
        })
    }

    fn view(&self) -> SortView {
        SortView { keys: self.keys.address(), slots: self.slots.address(), counts: self.counts.address() }
    }
}

/// Experience replay of K learners on the device: rings, priorities, and the minibatch last drawn. Transitions come
/// from [`GpuExperienceCollector`](super::GpuExperienceCollector) and leave as rows of observations; the host sees
/// neither.
#[derive(Debug)]
pub struct GpuReplayBuffer {
    dims: Dims,
    kind: ReplayKind,
    ring: RingBuffers,
    tree: Buffer<f64>,
    priority: Buffer<f32>,
    order: Buffer<u32>,
    cumulative: Buffer<f64>,
    table: Buffer<u32>,
    sorter: Option<Sorter>,
    draw: Kernel,
    /// Ring slots of the minibatch, equal ones side by side. `[K, batch]`
    pub(crate) slots: Buffer<u32>,
    /// (n·P)^−β, not yet divided by the batch's largest. `[K, batch]`
    pub(crate) weights: Buffer<f64>,
    /// Observations, then next observations. `[K, 2, batch, row_floats]`
    pub(crate) x: Buffer<f32>,
}

impl GpuReplayBuffer {
    /// Empty rings.
    ///
    /// # Errors
    /// The device's, when memory is short or a kernel does not load.
    pub(crate) fn new(world: &World, kind: ReplayKind) -> Result<Self, GpuError> {
        let (dims, device) = (world.dims, &world.device);
        let host = HostReplay::new(dims, kind);
        let is_rank = kind == ReplayKind::Rank;
        let alphas: Vec<f64> = if is_rank { world.settings.iter().map(|p| p.alpha).collect() } else { Vec::new() };
        let (cumulative, table) = rank_tables(&alphas, dims.capacity);
        let source = replay_source(&dims, kind, world.flags);
        let rows = dims.n_learner * dims.batch;
        Ok(Self {
            dims,
            kind,
            ring: RingBuffers::upload(device, &host)?,
            tree: device.upload("tree", &host.tree)?,
            priority: device.upload("priority", &host.priority)?,
            order: device.upload("order", &host.order)?,
            cumulative: device.upload("cumulative", &cumulative)?,
            table: device.upload("table", &table)?,
            sorter: if is_rank { Some(Sorter::new(world)?) } else { None },
            draw: device.kernel(&source, "replay_draw")?,
            slots: device.zeros("slots", rows)?,
            weights: device.zeros("weights", rows)?,
            x: device.zeros("x", 2 * rows * dims.row_floats())?,
        })
    }

    /// How minibatches are drawn.
    pub fn kind(&self) -> ReplayKind {
        self.kind
    }

    /// Addresses of the rings, for kernels.
    pub(crate) fn ring_view(&self) -> RingView {
        let ring = &self.ring;
        RingView {
            bar: ring.bar.address(),
            portfolio: ring.portfolio.address(),
            action: ring.action.address(),
            reward: ring.reward.address(),
            discount: ring.discount.address(),
            done: ring.done.address(),
            next_bar: ring.next_bar.address(),
            next_portfolio: ring.next_portfolio.address(),
            capacity: self.dims.capacity as u64,
        }
    }

    /// Addresses of the priorities, for kernels.
    pub(crate) fn view(&self) -> ReplayView {
        ReplayView {
            tree: self.tree.address(),
            priority: self.priority.address(),
            order: self.order.address(),
            cumulative: self.cumulative.address(),
            table: self.table.address(),
        }
    }

    /// Takes over the CPU's rings and samplers, one of each for every learner; ring lengths and largest priorities go
    /// into `world.state`.
    ///
    /// # Errors
    /// [`GpuError::Length`] when they don't fit, else the device's.
    pub(crate) fn upload(&mut self, world: &mut World, from: &[(&Ring, &Sampler)]) -> Result<(), GpuError> {
        expect_len("rings", self.dims.n_learner, from.len())?;
        let mut host = HostReplay::new(self.dims, self.kind);
        let mut states = world.state.read()?;
        for (k, ((ring, sampler), state)) in from.iter().zip(&mut states).enumerate() {
            host.put(k, ring, &sampler.state(), state)?;
        }
        self.ring.write(&host)?;
        self.tree.write(&host.tree)?;
        self.priority.write(&host.priority)?;
        self.order.write(&host.order)?;
        world.state.write(&states)
    }

    /// Every learner's ring and sampler as the CPU keeps them.
    ///
    /// # Errors
    /// The device's.
    pub(crate) fn download(&self, world: &World) -> Result<Vec<(Ring, SamplerState)>, GpuError> {
        let mut host = HostReplay::new(self.dims, self.kind);
        self.ring.read_into(&mut host)?;
        host.tree = self.tree.read()?;
        host.priority = self.priority.read()?;
        let states = world.state.read()?;
        Ok(states.iter().enumerate().map(|(k, state)| host.get(k, state)).collect())
    }

    /// Queues the next minibatch of every learner: `slots`, `weights` and `x`.
    ///
    /// # Errors
    /// [`GpuError::Launch`].
    #[allow(unsafe_code)]
    pub(crate) fn queue_draw(&self, world: &World) -> Result<(), GpuError> {
        let launch = self.draw.launch().buffer(&world.params).buffer(&world.state).buffer(&world.features);
        let launch = launch.value(self.ring_view()).value(self.view());
        let launch = launch.buffer(&self.slots).buffer(&self.weights).buffer(&self.x);
        let mut shape = LaunchShape::line(self.dims.batch.div_ceil(DRAW_WARPS), DRAW_WARPS * WARP);
        shape.grid[1] = self.dims.n_learner as u32;
        // SAFETY: the arguments are replay_draw's; a slot is below the ring's length, its bars inside the feature
        // tables.
        unsafe { launch.run(&world.device, shape) }
    }

    /// Queues the sort of every learner's ranks, after every collection: until then draws are by the ranks of the last
    /// sort.
    /// Does nothing for the other kinds of replay.
    ///
    /// # Errors
    /// [`GpuError::Launch`].
    #[allow(unsafe_code)]
    pub(crate) fn queue_sort(&self, world: &World) -> Result<(), GpuError> {
        let Some(sorter) = &self.sorter else { return Ok(()) };
        let (n_learner, view) = (self.dims.n_learner as u32, sorter.view());
        let mut tiles = LaunchShape::line(self.dims.capacity.div_ceil(SORT_TILE), SORT_THREADS);
        tiles.grid[1] = n_learner;
        for pass in 0..SORT_PASSES {
            let over_tiles = |kernel: &Kernel| {
                let launch = kernel.launch().buffer(&world.state).value(self.view()).value(view);
                // SAFETY: the arguments are rank_count's and rank_scatter's; places are below the ring's length.
                unsafe { launch.value(n_learner).value(pass).run(&world.device, tiles) }
            };
            over_tiles(&sorter.count)?;
            let scan = sorter.scan.launch().buffer(&world.state).value(view);
            // SAFETY: the arguments are rank_scan's; the counts have room for every tile.
            unsafe { scan.run(&world.device, LaunchShape::line(self.dims.n_learner, SCAN_THREADS)) }?;
            over_tiles(&sorter.scatter)?;
        }
        Ok(())
    }
}
