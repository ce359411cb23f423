//! Where the releases differ in how they build domains, as data.
//!
//! Source. kernel/sched/topology.c, include/linux/sched/topology.h and kernel/sched/sched.h at 6.1, 6.12 and 6.18.

use super::flags::{NAMES, SD_CLUSTER, SD_OVERLAP, SD_SHARE_LLC, SD_SHARED_CHILD_MASK, SdFlags};

/// What differs between releases.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DomainProfile {
    /// Name of the level that spans a node: `DIE`, later `PKG`.
    pub pkg_name: &'static str,
    /// What the release calls [`SD_SHARE_LLC`].
    pub share_llc_name: &'static str,
    /// Flags of the CLS level: 6.1 describes it by its cache only.
    pub cluster_flags: SdFlags,
    /// A search for the highest domain of a flag in this set ends at the first domain without it: for every
    /// flag in 6.1, since 6.12 for those that children share.
    pub highest_flag_stops: SdFlags,
    /// When a degenerate domain goes, the first group above it takes over the flags of the domain below.
    pub regroup_flags: bool,
    /// Flags that it has no name for: what SD_NUMA says of a domain in 6.18, SD_OVERLAP says before.
    pub unnamed: SdFlags,
}

impl DomainProfile {
    /// Linux 6.1.
    pub const V6_1: DomainProfile = DomainProfile {
        pkg_name: "DIE",
        share_llc_name: "SD_SHARE_PKG_RESOURCES",
        cluster_flags: SD_SHARE_LLC,
        highest_flag_stops: !0,
        regroup_flags: false,
        unnamed: 0,
    };

    /// Linux 6.12.
    pub const V6_12: DomainProfile = DomainProfile {
        pkg_name: "PKG",
        share_llc_name: "SD_SHARE_LLC",
        cluster_flags: SD_CLUSTER | SD_SHARE_LLC,
        highest_flag_stops: SD_SHARED_CHILD_MASK,
        regroup_flags: true,
        unnamed: 0,
    };

    /// Linux 6.18.
    pub const V6_18: DomainProfile = DomainProfile {
        unnamed: SD_OVERLAP,
        ..DomainProfile::V6_12
    };

    /// The names of the flags from the lowest bit up, as the release's debugfs lists them.
    pub fn flag_names(&self, flags: SdFlags) -> impl Iterator<Item = &'static str> {
        let share_llc_name = self.share_llc_name;
        let flags = flags & !self.unnamed;
        NAMES
            .iter()
            .enumerate()
            .filter(move |(bit, _)| flags >> bit & 1 != 0)
            .map(move |(bit, name)| {
                if 1 << bit == SD_SHARE_LLC {
                    share_llc_name
                } else {
                    name
                }
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::flags::SD_NUMA;

    #[test]
    fn a_flag_that_a_release_has_no_name_for_is_not_listed() {
        let names = |profile: DomainProfile| -> alloc::vec::Vec<&'static str> {
            profile.flag_names(SD_OVERLAP | SD_NUMA).collect()
        };
        assert_eq!(names(DomainProfile::V6_12), ["SD_OVERLAP", "SD_NUMA"]);
        assert_eq!(names(DomainProfile::V6_18), ["SD_NUMA"]);
    }
}
