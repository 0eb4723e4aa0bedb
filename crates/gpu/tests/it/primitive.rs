//! `reduce.cuh` and `select.cuh` beside plain loops: one kernel with everything in it, run by whoever can (the host emulation
//! here, a GPU in tests/primitives).

use gigabar_gpu::KernelSource;
use gigabar_gpu::header::{PRELUDE, REDUCE, SELECT};
use gigabar_market::rng::Philox;

/// Threads of the block; `LANES` of the kernel.
pub(crate) const THREADS: usize = 256;
/// Around every edge of a warp, of the block and of the select's short lists; and long.
const LENGTHS: [usize; 14] = [1, 2, 31, 32, 33, 255, 256, 257, 1_000, 4_095, 4_097, 65_537, 300_000, 1_000_000];
/// Quantiles asked for, three at a time; the last is none.
pub(crate) const LEVELS: [f64; 6] = [0.0, 0.05, 0.5, 0.95, 1.0, 1.5];

const KERNEL: &str = r#"
extern "C" __global__ void __launch_bounds__(LANES)
    primitives(const f64* __restrict__ x, u32 n, const f64* __restrict__ levels, f64* reduced, f64* before,
               u32* counted, f64* quantiles) {
    __shared__ f64 scratch[3 * LANES];
    __shared__ SelectShared<LANES, 3> select;
    f64 infinity = __longlong_as_double(0x7ff0000000000000ll);
    f64 sum = 0.0, low = infinity, high = -infinity;
    f64 sums[3] = {0.0, 0.0, 1.0};
    for (u32 i = threadIdx.x; i < n; i += LANES) {
        bool missing = x[i] != x[i];
        f64 value = missing ? 0.0 : x[i];
        sum += value;
        low = MinF64()(low, x[i]);
        high = MaxF64()(high, x[i]);
        sums[0] += value;
        sums[1] += missing ? 1.0 : 0.0;
        sums[2] += value * 0.5;
    }
    sum = block_reduce<LANES>(sum, scratch, AddF64());
    low = block_reduce<LANES>(low, scratch, MinF64());
    high = block_reduce<LANES>(high, scratch, MaxF64());
    block_reduce_all<LANES, 3>(sums, scratch, AddF64());
    f64 peak = -infinity;
    u32 seen = 0;
    for (u32 start = 0; start < n; start += LANES) {
        u32 i = start + threadIdx.x;
        f64 own = i < n && x[i] == x[i] ? x[i] : -infinity;
        f64 above = block_max_before<LANES>(own, peak, scratch);
        u32 one = i < n && x[i] < 0.0 ? 1 : 0;
        u32 ahead = block_count_before<LANES>(one, (u32*)scratch);
        if (i < n) {
            before[i] = above;
            counted[i] = seen + ahead;
        }
        peak = MaxF64()(peak, block_reduce<LANES>(own, scratch, MaxF64()));
        seen += (u32)block_reduce<LANES>((f64)one, scratch, AddF64());
    }
    f64 all[6] = {sum, low, high, sums[0], sums[1], sums[2]};
    for (int k = 0; k < 6; ++k) reduced[k] = all[k];
    for (int half = 0; half < 6; half += 3) {
        f64 q[3] = {levels[half], levels[half + 1], levels[half + 2]};
        f64 out[3];
        block_quantiles<LANES, 3>(x, n, q, out, select);
        for (int k = 0; k < 3; ++k) quantiles[half + k] = out[k];
    }
}
"#;

/// The kernel's source.
pub(crate) fn source() -> KernelSource {
    let source = KernelSource::new("primitives").texts(&[PRELUDE, REDUCE, SELECT]).text("primitives.cu", KERNEL);
    source.exact().define("LANES", THREADS)
}

/// What the kernel leaves.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Outcome {
    pub(crate) reduced: Vec<f64>,
    /// Largest element before each one. `[n]`
    pub(crate) before: Vec<f64>,
    /// Negative elements before each one. `[n]`
    pub(crate) counted: Vec<u32>,
    pub(crate) quantiles: Vec<f64>,
}

/// Every length and kind of series through `run`, held to the twin bit for bit.
pub(crate) fn check(longest: usize, run: impl Fn(&[f64]) -> Outcome) {
    for n in LENGTHS.into_iter().filter(|&n| n <= longest) {
        for (kind, x) in series(n) {
            let (got, want) = (run(&x), twin(&x));
            let columns = [
                ("reduced", &got.reduced, &want.reduced),
                ("maximum before", &got.before, &want.before),
                ("quantile", &got.quantiles, &want.quantiles),
            ];
            for (what, got, want) in columns {
                assert_eq!(got.len(), want.len(), "{n} {kind}: {what}");
                // Of two zeros either is a maximum; everything else is equal bit for bit.
                let zeros = |a: f64, b: f64| what == "maximum before" && a == b;
                let same = |a: f64, b: f64| a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan() || zeros(a, b);
                let wrong = (0..want.len()).find(|&i| !same(got[i], want[i]));
                assert!(wrong.is_none(), "{n} {kind}: {what} {wrong:?} of {got:?} against {want:?}");
            }
            assert_eq!(got.counted, want.counted, "{n} {kind}");
        }
    }
}

fn series(n: usize) -> Vec<(&'static str, Vec<f64>)> {
    let mut rng = Philox::new(n as u64, 5);
    let mut draw = |f: &dyn Fn(f64, f64) -> f64| (0..n).map(|_| f(rng.uniform(), rng.uniform())).collect::<Vec<f64>>();
    vec![
        ("uniform", draw(&|u, _| u - 0.5)),
        ("mostly zero", draw(&|u, v| if v < 0.9 { 0.0 } else { u - 0.5 })),
        ("few values", draw(&|u, _| (u * 7.0).floor() - 3.0)),
        ("signed zeros and holes", draw(&|u, v| if v < 0.3 { f64::NAN } else { 0.0_f64.copysign(u - 0.5) })),
        ("every magnitude", draw(&|u, v| (u - 0.5) * 10.0_f64.powf(600.0 * v - 310.0))),
        ("all missing", vec![f64::NAN; n]),
        ("falling", (0..n).map(|i| -(i as f64)).collect()),
        ("infinite ends", draw(&|u, v| if v < 0.01 { f64::INFINITY.copysign(u - 0.5) } else { u - 0.5 })),
    ]
}

fn twin(x: &[f64]) -> Outcome {
    let known = |x: f64| if x.is_nan() { 0.0 } else { x };
    let lanes = |start: f64, term: &dyn Fn(f64) -> f64, join: &dyn Fn(f64, f64) -> f64| {
        let mut lanes = [start; THREADS];
        x.iter().enumerate().for_each(|(i, &x)| lanes[i % THREADS] = join(lanes[i % THREADS], term(x)));
        let mut stride = THREADS / 2;
        while stride > 0 {
            (0..stride).for_each(|lane| lanes[lane] = join(lanes[lane], lanes[lane + stride]));
            stride /= 2;
        }
        lanes[0]
    };
    let add = |a: f64, b: f64| a + b;
    let (mut peak, mut negative, mut before, mut counted) = (f64::NEG_INFINITY, 0, Vec::new(), Vec::new());
    for &x in x {
        before.push(peak);
        counted.push(negative);
        peak = if x > peak { x } else { peak };
        negative += u32::from(x < 0.0);
    }
    let mut sorted: Vec<f64> = x.iter().copied().filter(|x| !x.is_nan()).collect();
    sorted.sort_by(f64::total_cmp);
    Outcome {
        reduced: vec![
            lanes(0.0, &known, &add),
            lanes(f64::INFINITY, &|x| x, &|a, b| if b < a { b } else { a }),
            lanes(f64::NEG_INFINITY, &|x| x, &|a, b| if b > a { b } else { a }),
            lanes(0.0, &known, &add),
            lanes(0.0, &|x| f64::from(x.is_nan()), &add),
            lanes(1.0, &|x| known(x) * 0.5, &add),
        ],
        before,
        counted,
        quantiles: LEVELS.iter().map(|&q| quantile(&sorted, q)).collect(),
    }
}

fn quantile(sorted: &[f64], q: f64) -> f64 {
    if sorted.is_empty() || !(0.0..=1.0).contains(&q) {
        return f64::NAN;
    }
    let place = (sorted.len() - 1) as f64 * q;
    let (rank, weight) = (place.floor() as usize, place - place.floor());
    let low = sorted[rank];
    if weight == 0.0 { low } else { low + weight * (sorted[rank + 1] - low) }
}
