//! The window of pause-loop exits: how long a vCPU spins before the hardware hands it to the host.
//!
//! Model.       The hardware counts a loop of PAUSEs that are close together; after the window it exits. Each exit makes the
//!              vCPU's window longer, and coming back to a CPU makes it what it was, so that spinning that does not help is
//!              interrupted less often.
//! Units.       Cycles.
//! Source.      arch/x86/kvm/vmx/vmx.c @ 6.1.192: `handle_pause`, `grow_ple_window`, `vmx_sched_in`; Intel SDM vol. 3,
//!              PAUSE-loop exiting.
//! Deviations.  All PAUSEs of a spinlock's loop are close together: the gap only says whether there are such exits.

/// The module's parameters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PleParams {
    /// `ple_gap`; 0: no such exits.
    pub gap: u32,
    /// `ple_window`.
    pub window: u32,
    /// `ple_window_grow`: what an exit multiplies the window by, or adds if it is not below `window`; 0: back to `window`.
    pub grow: u32,
    /// `ple_window_shrink`: as `grow`, for coming back to a CPU.
    pub shrink: u32,
    /// `ple_window_max`.
    pub max: u32,
}

/// The window of a vCPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PleWindow {
    cycles: u32,
}

impl PleWindow {
    /// That of a new vCPU.
    pub fn new(params: &PleParams) -> Self {
        PleWindow {
            cycles: params.window,
        }
    }

    /// Its length.
    pub fn cycles(self) -> u32 {
        self.cycles
    }

    /// It was spun through.
    pub fn exited(&mut self, params: &PleParams) {
        let grown = match params.grow {
            0 => params.window,
            by if by < params.window => self.cycles.saturating_mul(by),
            by => self.cycles.saturating_add(by),
        };
        self.cycles = grown.min(params.max);
    }

    /// The vCPU's thread was scheduled in.
    pub fn scheduled_in(&mut self, params: &PleParams) {
        let shrunk = match params.shrink {
            0 => params.window,
            by if by < params.window => self.cycles / by,
            by => self.cycles.saturating_sub(by),
        };
        self.cycles = shrunk.max(params.window);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARAMS: PleParams = PleParams {
        gap: 128,
        window: 4096,
        grow: 2,
        shrink: 0,
        max: u32::MAX,
    };

    #[test]
    fn exits_double_it_and_a_new_stretch_starts_afresh() {
        let mut window = PleWindow::new(&PARAMS);
        window.exited(&PARAMS);
        window.exited(&PARAMS);
        assert_eq!(window.cycles(), 16_384);
        window.scheduled_in(&PARAMS);
        assert_eq!(window.cycles(), 4096);
    }

    #[test]
    fn it_stays_within_its_limits() {
        let params = PleParams {
            max: 10_000,
            shrink: 8,
            ..PARAMS
        };
        let mut window = PleWindow::new(&params);
        window.exited(&params);
        window.exited(&params);
        assert_eq!(window.cycles(), 10_000);
        window.scheduled_in(&params);
        assert_eq!(window.cycles(), 4096, "an eighth would be less");
    }

    #[test]
    fn without_growth_it_is_fixed() {
        let params = PleParams { grow: 0, ..PARAMS };
        let mut window = PleWindow::new(&params);
        window.exited(&params);
        assert_eq!(window.cycles(), 4096);
    }
}
