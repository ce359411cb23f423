//! Names to indices: objects of each kind, groups by path.
//!
//! Model.       As in rt-app, an object comes into being when it is first named, and objects of
//!              different kinds may share a name.

use crate::cgroup::GroupSpec;
use crate::spec::*;
use std::collections::BTreeMap;

/// Everything named so far.
#[derive(Default)]
pub(crate) struct Names {
    mutexes: BTreeMap<String, u32>,
    conds: BTreeMap<String, u32>,
    barriers: BTreeMap<String, u32>,
    semaphores: BTreeMap<String, u32>,
    spinlocks: BTreeMap<String, u32>,
    timers: BTreeMap<String, u32>,
    buffers: BTreeMap<(MemoryTag, String), u32>,
    group_paths: BTreeMap<String, u32>,
    pub(crate) objects: Objects,
    pub(crate) groups: Vec<GroupSpec>,
}

/// Buffers of different use are different, even under one name.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum MemoryTag {
    Set,
    Write,
    Read,
    Chase,
}

/// The index of a name in its table; a new name is added to the table.
fn index<T>(
    known: &mut BTreeMap<String, u32>,
    table: &mut Vec<T>,
    name: &str,
    make: impl FnOnce(String) -> T,
) -> u32 {
    if let Some(&id) = known.get(name) {
        return id;
    }
    let id = table.len() as u32;
    known.insert(name.to_string(), id);
    table.push(make(name.to_string()));
    id
}

impl Names {
    pub(crate) fn new() -> Self {
        let mut names = Names::default();
        names.groups.push(GroupSpec {
            path: "/".to_string(),
            ..GroupSpec::default()
        });
        names.group_paths.insert("/".to_string(), ROOT_GROUP.0);
        names
    }

    pub(crate) fn mutex(&mut self, name: &str) -> MutexId {
        MutexId(index(
            &mut self.mutexes,
            &mut self.objects.mutexes,
            name,
            |name| name,
        ))
    }

    pub(crate) fn cond(&mut self, name: &str) -> CondId {
        CondId(index(
            &mut self.conds,
            &mut self.objects.conds,
            name,
            |name| name,
        ))
    }

    pub(crate) fn semaphore(&mut self, name: &str) -> SemId {
        SemId(index(
            &mut self.semaphores,
            &mut self.objects.semaphores,
            name,
            |name| name,
        ))
    }

    pub(crate) fn spinlock(&mut self, name: &str) -> SpinlockId {
        SpinlockId(index(
            &mut self.spinlocks,
            &mut self.objects.spinlocks,
            name,
            |name| name,
        ))
    }

    /// A barrier, with so many more users.
    pub(crate) fn barrier(&mut self, name: &str, users: u32) -> BarrierId {
        let new = |name| BarrierSpec { name, users: 0 };
        let id = index(&mut self.barriers, &mut self.objects.barriers, name, new);
        let barrier = &mut self.objects.barriers[id as usize];
        barrier.users = barrier.users.saturating_add(users);
        BarrierId(id)
    }

    /// A timer that all share.
    pub(crate) fn timer(&mut self, name: &str) -> u32 {
        let new = |name| TimerSpec {
            name,
            relative: true,
        };
        index(&mut self.timers, &mut self.objects.timers, name, new)
    }

    /// A buffer under a name that is unique among those of its use.
    pub(crate) fn buffer(
        &mut self,
        tag: MemoryTag,
        key: &str,
        make: impl FnOnce() -> BufferSpec,
    ) -> BufferId {
        let next = self.objects.buffers.len() as u32;
        let id = *self.buffers.entry((tag, key.to_string())).or_insert(next);
        if id == next {
            self.objects.buffers.push(make());
        }
        BufferId(id)
    }

    /// The group of a path that [`path_fault`] finds nothing wrong with; its parents come with it.
    pub(crate) fn group(&mut self, path: &str) -> GroupIdx {
        let path = path.trim_end_matches('/');
        let mut group = ROOT_GROUP;
        let ends = path
            .match_indices('/')
            .skip(1)
            .map(|(at, _)| at)
            .chain([path.len()]);
        for end in ends.filter(|&end| end > 0) {
            let new = |path| GroupSpec {
                path,
                parent: Some(group),
                ..GroupSpec::default()
            };
            let id = index(&mut self.group_paths, &mut self.groups, &path[..end], new);
            group = GroupIdx(id);
        }
        group
    }
}

/// What a group's path must be, if it is not.
pub(crate) fn path_fault(path: &str) -> Option<&'static str> {
    let Some(rest) = path.strip_prefix('/') else {
        return Some("a path that begins with \"/\"");
    };
    let parts = rest.strip_suffix('/').unwrap_or(rest);
    let fine = rest.is_empty()
        || parts
            .split('/')
            .all(|part| !matches!(part, "" | "." | "..") && !part.contains('\n'));
    (!fine).then_some("a path such as \"/a/b\" without empty, \".\" or \"..\" parts")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parents_come_first() {
        let mut names = Names::new();
        let b = names.group("/a/b");
        assert_eq!(names.group("/a/b/"), b);
        assert_eq!(names.group("/"), ROOT_GROUP);
        let paths: Vec<_> = names
            .groups
            .iter()
            .map(|group| group.path.as_str())
            .collect();
        assert_eq!(paths, ["/", "/a", "/a/b"]);
        assert_eq!(names.groups[b.idx()].parent, Some(GroupIdx(1)));
        assert_eq!(names.groups[1].parent, Some(ROOT_GROUP));
    }

    #[test]
    fn odd_paths_are_refused() {
        for path in ["", "a", "//", "/a//b", "/../a", "/a/."] {
            assert!(path_fault(path).is_some(), "{path:?}");
        }
        for path in ["/", "/a", "/a/b/"] {
            assert!(path_fault(path).is_none(), "{path:?}");
        }
    }
}
