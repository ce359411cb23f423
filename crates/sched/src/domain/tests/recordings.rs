//! The domains that stock Debian kernels (6.1.192 and 6.12.117) told in debugfs and /proc/schedstat, on QEMU
//! machines with the host's cache shared in a socket. On each machine all CPUs had the same names and flags.

use super::*;

/// Name and flags of each domain, as debugfs tells them.
const SMT_6_1: (&str, &str) = (
    "SMT",
    "SD_BALANCE_NEWIDLE,SD_BALANCE_EXEC,SD_BALANCE_FORK,SD_WAKE_AFFINE,\
     SD_SHARE_CPUCAPACITY,SD_SHARE_PKG_RESOURCES,SD_PREFER_SIBLING",
);
const MC_6_1: (&str, &str) = (
    "MC",
    "SD_BALANCE_NEWIDLE,SD_BALANCE_EXEC,SD_BALANCE_FORK,SD_WAKE_AFFINE,\
     SD_SHARE_PKG_RESOURCES,SD_PREFER_SIBLING",
);
const SMT_6_12: (&str, &str) = (
    "SMT",
    "SD_BALANCE_NEWIDLE,SD_BALANCE_EXEC,SD_BALANCE_FORK,SD_WAKE_AFFINE,\
     SD_SHARE_CPUCAPACITY,SD_SHARE_LLC,SD_PREFER_SIBLING",
);
const MC_6_12: (&str, &str) = (
    "MC",
    "SD_BALANCE_NEWIDLE,SD_BALANCE_EXEC,SD_BALANCE_FORK,SD_WAKE_AFFINE,\
     SD_SHARE_LLC,SD_PREFER_SIBLING",
);
const NUMA: (&str, &str) = (
    "NUMA",
    "SD_BALANCE_NEWIDLE,SD_BALANCE_EXEC,SD_BALANCE_FORK,SD_WAKE_AFFINE,\
     SD_SERIALIZE,SD_OVERLAP,SD_NUMA",
);

fn assert_flags(domains: &Domains, expected: &[(&str, &str)]) {
    for id in 0..domains.base.len() as u32 {
        let told: Vec<(&str, String)> = domains
            .for_each_domain(cpu(id))
            .map(|sd| {
                let domain = &domains.sd[sd];
                let flags: Vec<&str> = domains.profile.flag_names(domain.flags).collect();
                (domain.name, flags.join(","))
            })
            .collect();
        let expected: Vec<(&str, String)> = expected
            .iter()
            .map(|&(name, flags)| (name, flags.into()))
            .collect();
        assert_eq!(told, expected, "CPU {id}");
    }
}

/// The masks that /proc/schedstat tells for each domain of a CPU.
fn assert_spans(domains: &Domains, id: u32, expected: &[u64]) {
    let told: Vec<u64> = domains
        .for_each_domain(cpu(id))
        .map(|sd| domains.sched_domain_span(sd).words()[0])
        .collect();
    assert_eq!(told, expected, "CPU {id}");
}

#[test]
fn one_cpu_has_no_domain() {
    for profile in PROFILES {
        let domains = Domains::boot(&Topology::regular(1, 1, 1), &profile);
        assert_flags(&domains, &[]);
        assert_eq!(domains.base, [SdId::NONE]);
        assert!(domains.sd.is_empty() && domains.sg.is_empty() && domains.sds.is_empty());
        assert_eq!(domains.sd_llc_size, [1]);
        assert_eq!(domains.sd_llc_id, [cpu(0)]);
    }
}

#[test]
fn one_socket_as_wakers_smt() {
    let topology = Topology::regular(1, 2, 2);
    let domains = Domains::boot(&topology, &DomainProfile::V6_1);
    assert_flags(&domains, &[SMT_6_1, MC_6_1]);
    let domains = Domains::boot(&topology, &DomainProfile::V6_12);
    assert_flags(&domains, &[SMT_6_12, MC_6_12]);
    assert_spans(&domains, 0, &[0x3, 0xf]);
    assert_spans(&domains, 3, &[0xc, 0xf]);
}

#[test]
fn one_socket_as_quota() {
    let topology = Topology::regular(1, 4, 2);
    let domains = Domains::boot(&topology, &DomainProfile::V6_1);
    assert_flags(&domains, &[SMT_6_1, MC_6_1]);
    assert_spans(&domains, 5, &[0x30, 0xff]);
    let domains = Domains::boot(&topology, &DomainProfile::V6_12);
    assert_flags(&domains, &[SMT_6_12, MC_6_12]);
    assert_spans(&domains, 6, &[0xc0, 0xff]);
}

#[test]
fn two_sockets_as_groups_numa_and_hackbench() {
    let topology = Topology::regular(2, 4, 2);
    let domains = Domains::boot(&topology, &DomainProfile::V6_1);
    assert_flags(&domains, &[SMT_6_1, MC_6_1, NUMA]);
    assert_spans(&domains, 4, &[0x0030, 0x00ff, 0xffff]);
    let domains = Domains::boot(&topology, &DomainProfile::V6_12);
    assert_flags(&domains, &[SMT_6_12, MC_6_12, NUMA]);
    assert_spans(&domains, 0, &[0x0003, 0x00ff, 0xffff]);
    assert_spans(&domains, 10, &[0x0c00, 0xff00, 0xffff]);
    assert_spans(&domains, 15, &[0xc000, 0xff00, 0xffff]);
}
