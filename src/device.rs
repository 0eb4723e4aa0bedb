//! Where a command computes: what `--device` names, and what that comes to on this machine for this much work.

use std::fmt;

use gigabar::gpu::{Device, Probe};

use crate::failure::hinted;
use crate::printer::Printer;

/// Multiply-adds of networks from which a GPU pays for its start (a context and kernels to compile, about a second):
/// 200,000 decisions of two layers of 256, some seconds of two processor cores.
const WORTHY_MULTIPLY_ADDS: f64 = 1.6e10;

/// Bars lived through by all parameter sets from which it pays.
const WORTHY_SWEEP_BARS: f64 = 1e8;

/// Multiply-adds of a training from which it is taken to pay: some ten seconds of two processor cores. A guess, until
/// it is measured where the two meet.
const WORTHY_TRAINING: f64 = 2e11;

/// How much there is to do.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Work {
    /// Networks: decisions of all policies in all windows, weights of one network.
    Networks { decisions: usize, weights: usize },
    /// Parameter sets over bars.
    Sweep { sets: usize, bars: usize },
    /// Learners, all of them together, from their start to their end.
    Training { env_steps: u64, multiply_adds: f64 },
    /// A few accounts whose levels need no network: one bar after the other, which a processor does faster.
    Accounts,
}

impl Work {
    /// Whether a GPU is worth its start.
    fn is_worth_a_gpu(self) -> bool {
        match self {
            Self::Networks { decisions, weights } => decisions as f64 * weights as f64 >= WORTHY_MULTIPLY_ADDS,
            Self::Sweep { sets, bars } => sets as f64 * bars as f64 >= WORTHY_SWEEP_BARS,
            Self::Training { multiply_adds, .. } => multiply_adds >= WORTHY_TRAINING,
            Self::Accounts => false,
        }
    }

    /// Why `auto` takes a GPU, or not.
    fn reason(self) -> String {
        let verdict = if self.is_worth_a_gpu() { "enough" } else { "too little" };
        match self {
            Self::Training { env_steps, multiply_adds } => format!(
                "{verdict} work for a GPU: {env_steps} environment steps, {multiply_adds:.1e} multiply-adds, worth one from \
                 {WORTHY_TRAINING:.0e}"
            ),
            _ => format!("{verdict} work for a GPU"),
        }
    }
}

/// What `--device` asks for; a GPU that was named is open already, so that its absence is said before any work.
#[derive(Debug)]
pub(crate) enum Wanted {
    Auto,
    Cpu,
    Cuda(Device),
}

/// What computes.
#[derive(Debug)]
pub(crate) enum Compute {
    Cpu,
    /// `named`: the user asked for it, so that what it cannot do is an error and not a reason to use the CPU.
    Cuda {
        device: Device,
        named: bool,
    },
}

impl Wanted {
    /// Reads `auto`, `cpu`, `cuda` or `cuda:N`.
    pub(crate) fn parse(text: &str) -> anyhow::Result<Self> {
        match (text, ordinal(text)) {
            ("auto", _) => Ok(Self::Auto),
            ("cpu", _) => Ok(Self::Cpu),
            (_, Some(ordinal)) => match Device::open(ordinal) {
                Ok(device) => Ok(Self::Cuda(device)),
                Err(error) => Err(anyhow::Error::from(error).context(format!("--device {text}"))),
            },
            _ => Err(hinted(format!("--device {text}: no such device"), "use auto, cpu, cuda or cuda:N")),
        }
    }

    /// Settles on a device for the work and says which.
    pub(crate) fn settle(self, work: Work, printer: Printer) -> Compute {
        self.choose(|| if work.is_worth_a_gpu() { Ok((0, work.reason())) } else { Err(work.reason()) }, printer)
    }

    /// As [`Self::settle`], for a run that was `begun_on` a device: `auto` stays there, for another would end in other
    /// weights.
    pub(crate) fn settle_again(self, begun_on: &str, printer: Printer) -> Compute {
        let reason = "as the run was begun".to_owned();
        match begun_on.split_whitespace().next().and_then(ordinal) {
            Some(begun_on) => self.choose(|| Ok((begun_on, reason)), printer),
            None => self.choose(|| Err(reason), printer),
        }
    }

    /// What was asked for, or what `auto` comes to: a GPU with the reason, or the reason for none.
    fn choose(self, auto: impl FnOnce() -> Result<(usize, String), String>, printer: Printer) -> Compute {
        let (compute, reason) = match self {
            Self::Cpu => (Compute::Cpu, None),
            Self::Cuda(device) => (Compute::Cuda { device, named: true }, None),
            Self::Auto => match auto().map(|(ordinal, why)| (Device::open(ordinal), why)) {
                Ok((Ok(device), why)) => {
                    (Compute::Cuda { device, named: false }, Some(why).filter(|_| printer.is_verbose()))
                }
                // Whoever waits for what a GPU would do in seconds should know why.
                Ok((Err(error), _)) => (Compute::Cpu, Some(format!("worth a GPU, but {error}"))),
                Err(why) => (Compute::Cpu, Some(why).filter(|_| printer.is_verbose())),
            },
        };
        compute.say(reason.as_deref(), printer);
        compute.say_memory(printer);
        compute
    }
}

impl Compute {
    /// Says what computes, and why where that is worth a word.
    fn say(&self, reason: Option<&str>, printer: Printer) {
        let reason = reason.map(|reason| format!(" ({reason})")).unwrap_or_default();
        printer.say(format_args!("device: {self}{reason}"));
    }

    /// Says what memory there is, to whoever wants to know everything.
    fn say_memory(&self, printer: Printer) {
        let Self::Cuda { device, .. } = self else { return };
        if let Some(free) = device.free_bytes().ok().filter(|_| printer.is_verbose()) {
            let gib = |bytes: usize| bytes as f64 / (1_u64 << 30) as f64;
            let total = gib(device.facts().memory_bytes);
            printer.say(format_args!("  memory: {:.1} of {total:.1} GiB free", gib(free)));
        }
    }

    /// Runs `gpu` where this is a GPU, else `cpu`. A GPU that was our own idea and fails gives way to the CPU, with a
    /// warning.
    pub(crate) fn run<T>(
        &mut self,
        printer: Printer,
        gpu: impl FnOnce(&Device) -> anyhow::Result<T>,
        cpu: impl FnOnce() -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        if let Self::Cuda { device, named } = self {
            match gpu(device) {
                Err(error) if !*named => self.give_way(&error, printer),
                result => return result,
            }
        }
        cpu()
    }

    /// The CPU takes the place of a GPU that was our own idea.
    pub(crate) fn give_way(&mut self, error: &anyhow::Error, printer: Printer) {
        if let Self::Cuda { device, .. } = self {
            let ordinal = device.facts().ordinal;
            printer.warn(format_args!("cuda:{ordinal} cannot do this, the CPU does: {error:#}"));
        }
        *self = Self::Cpu;
        self.say(None, printer);
    }

    /// What a run records.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Cpu => "cpu".into(),
            Self::Cuda { device, .. } => format!("cuda:{} {}", device.facts().ordinal, device.facts().name),
        }
    }
}

impl fmt::Display for Compute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cpu => write!(f, "cpu, {} threads", rayon::current_num_threads()),
            Self::Cuda { device, .. } => write!(f, "{}", device.facts()),
        }
    }
}

/// N of `cuda:N`; 0 of `cuda`.
fn ordinal(text: &str) -> Option<usize> {
    match text.strip_prefix("cuda")? {
        "" => Some(0),
        rest => rest.strip_prefix(':').filter(|n| n.bytes().all(|b| b.is_ascii_digit()))?.parse().ok(),
    }
}

/// What `auto` comes to where there is much to do, for `doctor`.
pub(crate) fn auto_device(probe: &Probe) -> &'static str {
    let usable = probe.driver && probe.nvrtc.is_some() && probe.devices.iter().any(|device| device.ordinal == 0);
    if usable { "cuda:0" } else { "cpu" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinals_are_read_whole() {
        assert_eq!(["cuda", "cuda:0", "cuda:12"].map(ordinal), [Some(0), Some(0), Some(12)]);
        assert_eq!(["gpu", "cuda:", "cuda:x", "cuda0", "cuda:-1", "cuda:+1"].map(ordinal), [None; 6]);
    }

    #[test]
    fn small_work_stays_on_the_processor() {
        let networks = |decisions| Work::Networks { decisions, weights: 80_000 }.is_worth_a_gpu();
        assert!(networks(200_000) && !networks(100_000));
        assert!(Work::Sweep { sets: 10_000, bars: 200_000 }.is_worth_a_gpu());
        assert!(!Work::Sweep { sets: 50, bars: 3_000 }.is_worth_a_gpu() && !Work::Accounts.is_worth_a_gpu());
        let training = |multiply_adds| Work::Training { env_steps: 80_000, multiply_adds };
        assert!(training(1e12).is_worth_a_gpu() && !training(1e10).is_worth_a_gpu());
        let want = "too little work for a GPU: 80000 environment steps, 1.0e10 multiply-adds, worth one from 2e11";
        assert_eq!(training(1e10).reason(), want);
    }
}
