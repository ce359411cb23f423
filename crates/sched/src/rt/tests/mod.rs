//! Worked examples of the class on whole schedulers.

mod fair_server;
mod global;
mod order;
mod placement;
mod rig;
mod throttle;
