//! A device, random networks and a plain forward pass to hold the kernel's against.

use gigabar_backtest::cpu::observation::N_PORTFOLIO;
use gigabar_backtest::gpu::{MlpActivation, MlpPolicy, MlpShape};
use gigabar_backtest::{EnsembleVote, Path, Trade};
use gigabar_gpu::Device;
use gigabar_market::rng::Philox;

pub(crate) fn device() -> Device {
    let device = Device::open(0).unwrap_or_else(|error| panic!("{error}\nhint: {:?}", error.hint()));
    println!("{}", device.facts());
    device
}

pub(crate) fn shape(hidden: &[usize], n_action: usize, activation: MlpActivation, dueling: bool) -> MlpShape {
    MlpShape { n_feature: 21, hidden: hidden.to_vec(), n_action, activation, dueling }
}

/// Uniform weights in ±√3/√fan_in: activations keep their size and every action gets its turn.
pub(crate) fn random_policy(shape: &MlpShape, seed: u64) -> MlpPolicy {
    let mut rng = Philox::new(seed, 77);
    let mut weights = Vec::new();
    for (n_out, n_in) in shape.matrices() {
        let bound = (3.0 / n_in as f64).sqrt();
        let mut draw = |n: usize| (0..n).map(|_| ((2.0 * rng.uniform() - 1.0) * bound) as f32).collect::<Vec<f32>>();
        weights.push(draw(n_out * n_in));
        weights.push(draw(n_out));
    }
    // The account must matter: an observation of the wrong one should change actions.
    let n_input = shape.n_feature + N_PORTFOLIO;
    for row in weights[0].chunks_exact_mut(n_input) {
        row[shape.n_feature..].iter_mut().for_each(|weight| *weight *= 5.0);
    }
    let n = shape.n_action;
    let levels = (0..n).map(|a| if n == 1 { 1.0 } else { 2.0 * a as f64 / (n - 1) as f64 - 1.0 }).collect();
    MlpPolicy { shape: shape.clone(), weights, levels }
}

/// The policy with every action's Q of mean 0 over these features, so that all get their turn in short windows too.
pub(crate) fn balanced(mut policy: MlpPolicy, features: &[f32]) -> MlpPolicy {
    let rows = features.chunks_exact(policy.shape.n_feature).step_by(1 + features.len() / policy.shape.n_feature / 200);
    let (mut sum, mut n) = (vec![0.0; policy.shape.n_action], 0.0);
    for row in rows {
        sum.iter_mut().zip(forward(&policy, row, &[0.0; N_PORTFOLIO])).for_each(|(sum, q)| *sum += q);
        n += 1.0;
    }
    if let Some(bias) = policy.weights.last_mut() {
        bias.iter_mut().zip(sum).for_each(|(bias, sum)| *bias -= sum / n);
    }
    policy
}

/// `[n_bars, n_feature]`
pub(crate) fn random_features(n_bars: usize, n_feature: usize, seed: u64) -> Vec<f32> {
    let mut rng = Philox::new(seed, 78);
    (0..n_bars * n_feature).map(|_| (4.0 * rng.uniform() - 2.0) as f32).collect()
}

fn activate(activation: MlpActivation, x: f32) -> f32 {
    match activation {
        MlpActivation::Relu => x.max(0.0),
        MlpActivation::Tanh => x.tanh(),
        MlpActivation::Silu => x / (1.0 + (-x).exp()),
    }
}

fn affine(weight: &[f32], bias: &[f32], x: &[f32]) -> Vec<f32> {
    bias.iter()
        .zip(weight.chunks_exact(x.len()))
        .map(|(b, w)| w.iter().zip(x).fold(*b, |y, (w, x)| y + w * x))
        .collect()
}

/// Q of every action, as learn's `PlainNet` computes it.
pub(crate) fn forward(policy: &MlpPolicy, features: &[f32], portfolio: &[f32]) -> Vec<f32> {
    let mut x: Vec<f32> = features.iter().chain(portfolio).copied().collect();
    let (hidden, heads) = policy.weights.split_at(2 * policy.shape.hidden.len());
    for layer in hidden.chunks_exact(2) {
        x = affine(&layer[0], &layer[1], &x);
        x.iter_mut().for_each(|x| *x = activate(policy.shape.activation, *x));
    }
    if policy.shape.dueling {
        let (value, mut q) = (affine(&heads[0], &heads[1], &x), affine(&heads[2], &heads[3], &x));
        let centre = value[0] - q.iter().sum::<f32>() / q.len() as f32;
        q.iter_mut().for_each(|q| *q += centre);
        q
    } else {
        affine(&heads[0], &heads[1], &x)
    }
}

pub(crate) fn argmax(values: &[f32]) -> usize {
    (0..values.len()).fold(0, |best, i| if values[i] > values[best] { i } else { best })
}

/// Two Q-values this close, relative to their size, may trade places between two orders of summation.
pub(crate) const TIE: f32 = 2e-5;

/// Whether the models' own rounding can explain that a vote, or a single model's argmax (`None`), ended in `action`:
/// it is what the CPU decides on the same Q, or some model is undecided between its two best, or so are the sums.
/// Says whether a tie had to explain it.
pub(crate) fn decided(vote: Option<EnsembleVote>, q: &[Vec<f32>], flat: usize, action: usize) -> Result<bool, String> {
    let want = vote.map_or_else(|| argmax(&q[0]), |vote| vote.decide(q, flat));
    if want == action {
        return Ok(false);
    }
    let undecided = |q: &[f32]| {
        let size = q.iter().fold(1.0_f32, |size, q| size.max(q.abs()));
        let best = argmax(q);
        (0..q.len()).any(|a| a != best && (q[best] - q[a]) / size <= TIE)
    };
    let sums: Vec<f32> = (0..q[0].len()).map(|a| q.iter().map(|q| q[a]).sum()).collect();
    let tie = q.iter().any(|q| undecided(q)) || (vote.is_some() && undecided(&sums));
    if tie { Ok(true) } else { Err(format!("action {action} for {want}, no tie: {q:?}")) }
}

/// First element whose bits differ, said with window, step, field and both values.
pub(crate) fn same_column(window: usize, field: &str, cpu: &[f64], gpu: &[f64]) {
    assert_eq!(cpu.len(), gpu.len(), "window {window}: length of {field}");
    if let Some(t) = (0..cpu.len()).find(|&t| cpu[t].to_bits() != gpu[t].to_bits()) {
        panic!("window {window}, step {t}, {field}: engine {:e}, device {:e}", cpu[t], gpu[t]);
    }
}

fn trade_bits(t: &Trade) -> ([u64; 5], [usize; 3], i8, String) {
    let money = [t.units, t.entry_price, t.exit_price, t.pnl, t.trade_return].map(f64::to_bits);
    (money, [t.entry_bar, t.exit_bar, t.bars_held], t.side, format!("{:?}", t.exit))
}

pub(crate) fn same_path(window: usize, cpu: &Path, gpu: &Path) {
    for (field, cpu, gpu) in [
        ("equity", &cpu.equity, &gpu.equity),
        ("returns", &cpu.returns, &gpu.returns),
        ("cash", &cpu.cash, &gpu.cash),
        ("units", &cpu.units, &gpu.units),
        ("level", &cpu.level, &gpu.level),
    ] {
        same_column(window, field, cpu, gpu);
    }
    assert_eq!(cpu.counts, gpu.counts, "window {window}: counts");
    assert_eq!(cpu.trades.len(), gpu.trades.len(), "window {window}: number of trades");
    for (i, (cpu, gpu)) in cpu.trades.iter().zip(&gpu.trades).enumerate() {
        assert_eq!(trade_bits(cpu), trade_bits(gpu), "window {window}, trade {i}: {cpu:?} against {gpu:?}");
    }
}
