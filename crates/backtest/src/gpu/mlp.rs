//! [`MlpPolicy`]: a network the resident kernel can run, and [`MlpPlan`]: where on a multiprocessor its weights live.
//! Device twin of the packing: `mlp.cuh`.

use gigabar_gpu::{Arch, KernelSource};

use super::error::EvaluateError;
use super::layout::{EnvAccount, EnvRules};
use crate::cpu::observation::N_PORTFOLIO;

/// Threads that compute a layer; `COMPUTE_THREADS` of `mlp.cuh`.
pub(crate) const COMPUTE_THREADS: usize = 256;
/// Warps that keep accounts; `ACCOUNT_WARPS` of `account.cuh`.
const ACCOUNT_WARPS: usize = 4;
/// Threads of a block: two compute warpgroups and one of account warps.
const BLOCK_THREADS: usize = COMPUTE_THREADS + 32 * ACCOUNT_WARPS;
/// Pairs of a block: one, or a group of 1, 2 or 4 for each account warp.
pub(crate) const SLOTS: [usize; 4] = [1, ACCOUNT_WARPS, 2 * ACCOUNT_WARPS, 4 * ACCOUNT_WARPS];
/// Registers of a thread in a block of three warpgroups before `setmaxnreg` moves any.
const LAUNCH_REGISTERS: usize = 168;
/// How a block of [`SLOTS`]`[i]` pairs uses its registers: what the compiler fits without spilling (`tests/it/nvrtc.rs`
/// holds it to that).
const REGISTERS: [Registers; 4] = [
    Registers { compute: 200, account: 104, held_moved: 144, held: 112 },
    Registers { compute: 192, account: 120, held_moved: 144, held: 112 },
    Registers { compute: 192, account: 120, held_moved: 112, held: 96 },
    Registers { compute: 192, account: 120, held_moved: 80, held: 64 },
];

/// Registers of a compute and of an account thread where `setmaxnreg` moves them between warpgroups, and weights a
/// compute thread holds with and without moved ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Registers {
    compute: usize,
    account: usize,
    held_moved: usize,
    held: usize,
}

// A block that asks for more than it gave up waits for ever.
const _: () = {
    let mut i = 0;
    while i < REGISTERS.len() {
        assert!(2 * REGISTERS[i].compute + REGISTERS[i].account <= 3 * LAUNCH_REGISTERS);
        i += 1;
    }
};
/// Widths are padded to one of these.
const WIDTHS: [usize; 4] = [64, 128, 256, 512];
const MAX_ACTIONS: usize = 32;

/// The nonlinearity between layers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MlpActivation {
    /// max(x, 0).
    Relu,
    /// tanh x.
    Tanh,
    /// x·σ(x).
    Silu,
}

/// What a network looks like: market features ++ portfolio observation → hidden layers → Q of every action.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct MlpShape {
    /// Market features of a bar.
    pub n_feature: usize,
    /// Width of each hidden layer, 1 to 8 of them.
    pub hidden: Vec<usize>,
    /// Number of actions.
    pub n_action: usize,
    /// Between the layers.
    pub activation: MlpActivation,
    /// Q = V + A − mean A instead of one head.
    pub dueling: bool,
}

impl MlpShape {
    /// Outputs and inputs of every parameter matrix, in order: hidden layers, then `q`, or `value` and `advantage`.
    pub fn matrices(&self) -> Vec<(usize, usize)> {
        let mut width = self.n_feature + N_PORTFOLIO;
        let mut out = Vec::new();
        for &n_out in &self.hidden {
            out.push((n_out, width));
            width = n_out;
        }
        if self.dueling {
            out.push((1, width));
        }
        out.push((self.n_action, width));
        out
    }

    pub(crate) fn describe(&self) -> String {
        let mut text = format!("{}+{N_PORTFOLIO}", self.n_feature);
        self.hidden.iter().for_each(|width| text.push_str(&format!("→{width}")));
        format!("{text}→{}{}", self.n_action, if self.dueling { " dueling" } else { "" })
    }
}

/// A network with weights and the levels its actions stand for.
#[derive(Debug, Clone, PartialEq)]
pub struct MlpPolicy {
    /// What it looks like.
    pub shape: MlpShape,
    /// Weight `[n_out, n_in]` and bias `[n_out]` of every layer in turn, as checkpoints hold them.
    pub weights: Vec<Vec<f32>>,
    /// Level of each action. `[n_action]`
    pub levels: Vec<f64>,
}

impl MlpPolicy {
    pub(crate) fn check(&self) -> Result<(), EvaluateError> {
        let lengths: Vec<usize> = self.shape.matrices().iter().flat_map(|&(o, i)| [o * i, o]).collect();
        let mismatch = |what: String, expected, got| Err(EvaluateError::Mismatch { what, expected, got });
        if self.weights.len() != lengths.len() {
            return mismatch("number of parameters".into(), lengths.len(), self.weights.len());
        }
        for (i, (weight, &length)) in self.weights.iter().zip(&lengths).enumerate() {
            if weight.len() != length {
                return mismatch(format!("values of parameter {i}"), length, weight.len());
            }
        }
        if self.levels.len() != self.shape.n_action {
            return mismatch("levels".into(), self.shape.n_action, self.levels.len());
        }
        Ok(())
    }
}

/// Padded widths, the split of the weights between registers and shared memory, and the constants that follow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MlpPlan {
    shape: MlpShape,
    /// Pairs a block runs side by side: 1 for the least time of a step, more where there is more work than blocks.
    pub slots: usize,
    /// Padded width of each hidden layer.
    pub widths: Vec<usize>,
    /// Inputs of each dense layer's lane tile that registers hold. `[n_hidden − 1]`
    held: Vec<usize>,
    /// Whether registers move between warpgroups (`setmaxnreg`).
    pub moves_registers: bool,
    /// Floats of a policy's packed weights.
    pub weight_floats: usize,
    /// Dynamic shared memory of a block, bytes.
    pub shared_bytes: usize,
}

fn registers(slots: usize) -> Registers {
    REGISTERS[SLOTS.iter().position(|&s| s == slots).unwrap_or(0)]
}

/// Pairs that share one pass over the weights; `BATCH` of `account.cuh`.
fn batch(slots: usize) -> usize {
    slots.div_ceil(ACCOUNT_WARPS)
}

impl MlpPlan {
    /// Plans for a block that may have `available_bytes` of shared memory.
    ///
    /// # Errors
    /// [`EvaluateError::Shape`] for a network no kernel is made for, [`EvaluateError::TooLarge`] when it does not fit.
    pub fn new(
        shape: &MlpShape,
        slots: usize,
        arch: Arch,
        available_bytes: usize,
        device: &str,
    ) -> Result<Self, EvaluateError> {
        let refuse = |message: String| EvaluateError::Shape { shape: shape.describe(), message };
        if !(1..=3).contains(&shape.hidden.len()) {
            return Err(refuse("1 to 3 hidden layers run on the device".into()));
        }
        if !(1..=MAX_ACTIONS).contains(&shape.n_action) || shape.n_feature == 0 || !SLOTS.contains(&slots) {
            return Err(refuse(format!("1 to {MAX_ACTIONS} actions and at least 1 feature run on the device")));
        }
        let padded = |&width: &usize| WIDTHS.into_iter().find(|&p| p >= width && width > 0);
        let widths: Option<Vec<usize>> = shape.hidden.iter().map(padded).collect();
        let widths = widths.ok_or_else(|| refuse("layers of 1 to 512 units run on the device".into()))?;
        let moves_registers = arch == Arch(90);
        let registers = registers(slots);
        let mut budget = if moves_registers { registers.held_moved } else { registers.held };
        let mut held = Vec::new();
        let mut spilled_bytes = 0;
        for pair in widths.windows(2) {
            let (inputs, outputs) = (pair[0] / 16, pair[1] / 16);
            let kept = (budget / outputs).min(inputs);
            budget -= kept * outputs;
            held.push(kept);
            spilled_bytes += (inputs - kept) * outputs * COMPUTE_THREADS * size_of::<f32>();
        }
        let mut plan = Self {
            shape: shape.clone(),
            slots,
            widths,
            held,
            moves_registers,
            weight_floats: 0,
            shared_bytes: spilled_bytes,
        };
        plan.shared_bytes += plan.block_shared_bytes();
        plan.weight_floats = plan.count_floats();
        if plan.shared_bytes > available_bytes {
            let (needed_bytes, device) = (plan.shared_bytes, device.to_owned());
            return Err(EvaluateError::TooLarge { shape: shape.describe(), needed_bytes, available_bytes, device });
        }
        Ok(plan)
    }

    /// Threads of a block.
    pub fn threads(&self) -> usize {
        BLOCK_THREADS
    }

    /// Padded width of the first hidden layer: the row length of the projected features.
    pub fn first_width(&self) -> usize {
        self.widths[0]
    }

    pub(crate) fn n_feature(&self) -> usize {
        self.shape.n_feature
    }

    pub(crate) fn n_action(&self) -> usize {
        self.shape.n_action
    }

    fn last_width(&self) -> usize {
        self.widths[self.widths.len() - 1]
    }

    fn n_head(&self) -> usize {
        self.shape.n_action + usize::from(self.shape.dueling)
    }

    fn head_floats(&self) -> usize {
        (self.n_head() * (self.last_width() + 1)).next_multiple_of(4)
    }

    /// `sizeof(BlockShared)` of `rollout.cu`.
    fn block_shared_bytes(&self) -> usize {
        let lives = if self.slots == 1 { 2 * self.shape.n_action } else { 1 };
        let batch = batch(self.slots);
        let observed = lives * N_PORTFOLIO * 4;
        let account = lives * size_of::<EnvAccount>() + size_of::<EnvRules>() + 2 * 8;
        let slot = observed + self.last_width() * 4 + account + 8 * self.shape.n_action + 2 * 4;
        let slot = slot.next_multiple_of(16);
        let hidden = self.widths.len().saturating_sub(1).max(1) * batch * self.widest() * 4;
        let head = self.n_head() * (self.last_width() + 1) * 4;
        (self.slots * slot + hidden + head + (self.slots / batch + 32) * 4).next_multiple_of(16)
    }

    fn widest(&self) -> usize {
        self.widths[..self.widths.len() - 1].iter().copied().max().unwrap_or(WIDTHS[0])
    }

    fn count_floats(&self) -> usize {
        let dense: usize = self.widths.windows(2).map(|pair| pair[0] * pair[1] + pair[1]).sum();
        self.first_width() * N_PORTFOLIO + dense + self.head_floats()
    }

    /// The constants `mlp.cuh`, `rollout.cu` and `project.cu` are compiled with.
    pub(crate) fn define(&self, source: KernelSource) -> KernelSource {
        let width = |i: usize| self.widths.get(i).copied().unwrap_or(0);
        let held = |i: usize| self.held.get(i).copied().unwrap_or(0);
        source
            .define("ACTIVATION_RELU", 0)
            .define("ACTIVATION_TANH", 1)
            .define("ACTIVATION_SILU", 2)
            .define("ACTIVATION", self.shape.activation as u32)
            .define("N_HIDDEN", self.widths.len())
            .define("H1", width(0))
            .define("H2", width(1))
            .define("H3", width(2))
            .define("HELD2", held(0))
            .define("HELD3", held(1))
            .define("LAST", self.last_width())
            .define("WIDEST", self.widest())
            .define("N_ACTION", self.shape.n_action)
            .define("N_HEAD", self.n_head())
            .define("DUELING", u32::from(self.shape.dueling))
            .define("SLOTS", self.slots)
            .define("SET_REGISTERS", u32::from(self.moves_registers))
            .define("COMPUTE_REGISTERS", registers(self.slots).compute)
            .define("ACCOUNT_REGISTERS", registers(self.slots).account)
            .define("HEAD_FLOATS", self.head_floats())
            .define("WEIGHT_FLOATS", self.weight_floats)
            .define("BLOCK_SHARED_BYTES", self.block_shared_bytes())
    }

    /// The weights of the projection: `[n_feature, H1]` and biases `[H1]`, padded with zeros.
    pub fn pack_projection(&self, policy: &MlpPolicy, weight: &mut Vec<f32>, bias: &mut Vec<f32>) {
        let (n_feature, n_input, width) =
            (self.shape.n_feature, self.shape.n_feature + N_PORTFOLIO, self.shape.hidden[0]);
        let first = &policy.weights[0];
        for f in 0..n_feature {
            weight.extend((0..self.first_width()).map(|j| if j < width { first[j * n_input + f] } else { 0.0 }));
        }
        bias.extend((0..self.first_width()).map(|j| if j < width { policy.weights[1][j] } else { 0.0 }));
    }

    /// A policy's weights in the order the resident kernel reads them: portfolio part of layer 1 `[H1, 8]`, every dense
    /// layer `[RI, RO/4, thread]` float4 and its biases, head `[n_head, LAST]` and its biases.
    pub fn pack(&self, policy: &MlpPolicy, out: &mut Vec<f32>) {
        let start = out.len();
        let n_feature = self.shape.n_feature;
        let n_input = n_feature + N_PORTFOLIO;
        for j in 0..self.first_width() {
            let row =
                (j < self.shape.hidden[0]).then(|| &policy.weights[0][j * n_input + n_feature..(j + 1) * n_input]);
            out.extend_from_slice(row.unwrap_or(&[0.0; N_PORTFOLIO]));
        }
        for layer in 1..self.widths.len() {
            self.pack_dense(layer, &policy.weights[2 * layer], &policy.weights[2 * layer + 1], out);
        }
        let n_last = self.shape.hidden[self.shape.hidden.len() - 1];
        let heads = &policy.weights[2 * self.widths.len()..];
        for pair in heads.chunks_exact(2) {
            for row in pair[0].chunks_exact(n_last) {
                out.extend_from_slice(row);
                out.extend(std::iter::repeat_n(0.0, self.last_width() - n_last));
            }
        }
        heads.chunks_exact(2).for_each(|pair| out.extend_from_slice(&pair[1]));
        out.resize(start + self.weight_floats, 0.0);
    }

    fn pack_dense(&self, layer: usize, weight: &[f32], bias: &[f32], out: &mut Vec<f32>) {
        let (n_out, n_in) = (self.shape.hidden[layer], self.shape.hidden[layer - 1]);
        let (per_lane_out, per_lane_in) = (self.widths[layer] / 16, self.widths[layer - 1] / 16);
        let value = |o: usize, k: usize| if o < n_out && k < n_in { weight[o * n_in + k] } else { 0.0 };
        for i in 0..per_lane_in {
            for quad in 0..per_lane_out / 4 {
                for thread in 0..COMPUTE_THREADS {
                    let k = (i / 4 * 16 + thread % 16) * 4 + i % 4;
                    let o = thread / 16 * per_lane_out + quad * 4;
                    out.extend((o..o + 4).map(|o| value(o, k)));
                }
            }
        }
        out.extend((0..self.widths[layer]).map(|o| bias.get(o).copied().unwrap_or(0.0)));
    }
}
