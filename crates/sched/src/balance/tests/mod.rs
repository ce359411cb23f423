//! Balancing on small machines, with outcomes derived by hand.

mod active;
mod affinity;
mod driver;
mod follow;
mod idle;
mod numa;
mod placement;
mod pull;
mod random;
mod runnable;
