//! Reads a machine from hwloc XML (`lstopo machine.xml`), format versions 1, 2 and 3.
//!
//! Model.       Every PU is one CPU; what encloses it (Core, caches, Package) says what it shares.
//!              NUMA nodes are found by their cpuset, which serves version 1 (nodes enclose) and
//!              later ones (nodes are attached). The outermost data cache around a PU is its LLC;
//!              an L2 inside it, or a group named Cluster, is a cluster.
//! Source.      hwloc2.dtd, and the XML that hwloc 1.11, 2.x and 3.0 write.
//! Deviations.  Kinds of cores (cpukinds) are not read: all CPUs get full capacity, with a note.
//!              Latencies between other objects than NUMA nodes are ignored, and so are devices.

use roxmltree::{Document, Node, ParsingOptions};

use crate::caches::Caches;
use crate::cpulist::{CPU_MAX, parse_mask};
use crate::error::{Error, line_column};
use crate::load::Found;
use crate::places::FoundCpu;

/// Reads `text`; `file` names it in errors.
pub(crate) fn read(file: &str, text: &str) -> Result<Found, Error> {
    let options = ParsingOptions {
        allow_dtd: true,
        ..ParsingOptions::default()
    };
    let document = Document::parse_with_options(text, options).map_err(|error| {
        let at = error.pos();
        Error::Content {
            file: file.to_string(),
            place: Some((at.row as usize, at.col as usize)),
            what: format!("not well-formed XML: {error}"),
            mend: "write it anew with 'lstopo machine.xml'".to_string(),
        }
    })?;
    Reader { file, text }.read(&document)
}

struct Reader<'a> {
    file: &'a str,
    text: &'a str,
}

impl Reader<'_> {
    fn read(&self, document: &Document<'_>) -> Result<Found, Error> {
        let root = document.root_element();
        if root.tag_name().name() != "topology" {
            return Err(self.wrong(
                root,
                format!(
                    "the root element is <{}>, not <topology>",
                    root.tag_name().name()
                ),
                "give a file that 'lstopo machine.xml' wrote",
            ));
        }
        let mut found = Found::default();
        self.cpus(root, &mut found)?;
        self.nodes(root, &mut found)?;
        self.distances(root, &mut found)?;
        if root
            .children()
            .filter(|child| child.has_tag_name("cpukind"))
            .count()
            > 1
        {
            found
                .notes
                .push("the file tells kinds of cores apart; all are taken as equal".into());
        }
        let model = root
            .descendants()
            .find(|n| n.attribute("name") == Some("CPUModel"));
        if let Some(model) = model.and_then(|n| n.attribute("value")) {
            found.description = model.split_whitespace().collect::<Vec<_>>().join(" ");
        }
        Ok(found)
    }

    fn cpus(&self, root: Node<'_, '_>, found: &mut Found) -> Result<(), Error> {
        // Version 1 says which CPUs are online; later versions leave offline ones out.
        let online = match root
            .descendants()
            .find_map(|n| n.attribute_node("online_cpuset"))
        {
            Some(mask) => Some(self.mask(mask)?),
            None => None,
        };
        let mut offline = 0;
        for pu in root.descendants().filter(|n| is_object(n, "PU")) {
            let os = self.os_index(pu)?;
            if online
                .as_ref()
                .is_some_and(|online| online.binary_search(&os).is_err())
            {
                offline += 1;
                continue;
            }
            if found.cpus.iter().any(|cpu| cpu.os == os) {
                return Err(self.wrong(pu, format!("CPU {os} is there twice"), ""));
            }
            let cpu = self.cpu(pu, os, &mut found.caches)?;
            found.cpus.push(cpu);
        }
        if offline > 0 {
            found.notes.push(format!("{offline} offline CPUs left out"));
        }
        if found.cpus.is_empty() {
            return Err(self.wrong(
                root,
                "no online CPU (object of type PU) in it".to_string(),
                "write it anew with 'lstopo machine.xml', without filters",
            ));
        }
        Ok(())
    }

    /// One CPU, from what encloses it; cache sizes of the first CPU stand for all.
    fn cpu(&self, pu: Node<'_, '_>, os: u32, caches: &mut Caches) -> Result<FoundCpu, Error> {
        let key = |node: Node<'_, '_>| u64::from(node.id().get());
        let mut cpu = FoundCpu {
            os,
            core: key(pu),
            cluster: None,
            llc: None,
            package: 0,
            node: 0,
            capacity: u32::MAX,
        };
        let mut llc = None;
        let mut package = None;
        let mut sizes = [0u64; 6];
        let mut shared_l2 = None;
        for outer in pu.ancestors().filter(|n| n.has_tag_name("object")) {
            match outer.attribute("type").unwrap_or("") {
                "Core" => cpu.core = key(outer),
                "Package" | "Socket" => package = Some(outer),
                "Group" if outer.attribute("subtype") == Some("Cluster") => {
                    cpu.cluster = Some(key(outer));
                }
                kind => {
                    let Some(level) = self.data_cache_level(outer, kind)? else {
                        continue;
                    };
                    if llc.is_none_or(|(inner, _)| level >= inner) {
                        llc = Some((level, key(outer)));
                    }
                    sizes[level] = self.number(outer, "cache_size")?.unwrap_or(0);
                    if level == 2 {
                        shared_l2 = Some(key(outer));
                    }
                    if let Some(line) = self.number(outer, "cache_linesize")? {
                        caches.line_bytes = caches.line_bytes.max(line);
                    }
                }
            }
        }
        if let Some(package) = package {
            cpu.package = match package.attribute("os_index") {
                Some(_) => self.os_index(package)?,
                None => package.id().get(),
            };
        }
        cpu.llc = llc.map(|(_, key)| key);
        let llc_level = llc.map_or(0, |(level, _)| level);
        if llc_level > 2 && cpu.cluster.is_none() {
            cpu.cluster = shared_l2;
        }
        if caches.llc_bytes == 0 && llc_level > 0 {
            caches.l1d_bytes = if llc_level > 1 { sizes[1] } else { 0 };
            caches.l2_bytes = if llc_level > 2 { sizes[2] } else { 0 };
            caches.llc_bytes = sizes[llc_level];
        }
        Ok(cpu)
    }

    /// Level of a data or unified cache; `None` for anything else.
    fn data_cache_level(&self, object: Node<'_, '_>, kind: &str) -> Result<Option<usize>, Error> {
        let level = match kind {
            "L1Cache" => 1,
            "L2Cache" => 2,
            "L3Cache" => 3,
            "L4Cache" => 4,
            "L5Cache" => 5,
            "Cache" => match self.number(object, "depth")? {
                Some(depth @ 1..=5) => depth as usize,
                _ => {
                    let what = "a Cache without a depth from 1 to 5".to_string();
                    return Err(self.wrong(object, what, ""));
                }
            },
            _ => return Ok(None),
        };
        // 0: unified, 1: data, 2: instruction.
        Ok((self.number(object, "cache_type")? != Some(2)).then_some(level))
    }

    fn nodes(&self, root: Node<'_, '_>, found: &mut Found) -> Result<(), Error> {
        let mut owner: Vec<Option<u32>> = vec![None; found.cpus.len()];
        let mut without_cpus = 0;
        for node in root.descendants().filter(|n| is_object(n, "NUMANode")) {
            let os = self.os_index(node)?;
            let cpus = match node.attribute_node("cpuset") {
                Some(mask) => self.mask(mask)?,
                None => {
                    let what = "a NUMANode without a cpuset".to_string();
                    return Err(self.wrong(node, what, "add the mask of its CPUs"));
                }
            };
            let mut used = false;
            for (cpu, owner) in found.cpus.iter().zip(&mut owner) {
                if owner.is_none() && cpus.binary_search(&cpu.os).is_ok() {
                    *owner = Some(os);
                    used = true;
                }
            }
            without_cpus += usize::from(!used);
        }
        if without_cpus > 0 {
            let note = format!("{without_cpus} NUMA nodes without CPUs of their own left out");
            found.notes.push(note);
        }
        let lost = owner.iter().filter(|owner| owner.is_none()).count();
        if lost > 0 && lost < owner.len() {
            let note = format!("{lost} CPUs are in no NUMA node of the file: put into node 0");
            found.notes.push(note);
        }
        for (cpu, owner) in found.cpus.iter_mut().zip(owner) {
            cpu.node = owner.unwrap_or(0);
        }
        Ok(())
    }

    fn distances(&self, root: Node<'_, '_>, found: &mut Found) -> Result<(), Error> {
        let nodes: Vec<Node<'_, '_>> = root
            .descendants()
            .filter(|n| is_object(n, "NUMANode"))
            .collect();
        // Kind bit 2 marks latencies, as opposed to bandwidths.
        let latencies = root.descendants().find(|n| {
            n.has_tag_name("distances2")
                && n.attribute("type") == Some("NUMANode")
                && n.attribute("kind")
                    .and_then(|k| k.parse::<u64>().ok())
                    .is_some_and(|k| k & 4 != 0)
        });
        if let Some(distances) = latencies {
            let indexes = self.values(distances, "indexes")?;
            let values = self.values(distances, "u64values")?;
            let mut order = Vec::new();
            for index in &indexes {
                order.push(match distances.attribute("indexing") {
                    Some("gp") => match nodes.iter().find(|n| {
                        n.attribute("gp_index").and_then(|i| i.parse().ok()) == Some(*index)
                    }) {
                        Some(node) => self.os_index(*node)?,
                        None => {
                            let what = format!("no NUMANode has the gp_index {index}");
                            return Err(self.wrong(distances, what, ""));
                        }
                    },
                    _ => u32::try_from(*index).unwrap_or(u32::MAX),
                });
            }
            return self.matrix(distances, &order, &values, found);
        }
        // Version 1: a matrix in the order of the nodes, in decimal multiples of a base.
        let old = root.descendants().find(|n| {
            n.has_tag_name("distances")
                && n.attribute("nbobjs").and_then(|k| k.parse().ok()) == Some(nodes.len())
        });
        let Some(distances) = old else { return Ok(()) };
        let base = self
            .decimal(distances, "latency_base")?
            .unwrap_or(10_000_000);
        let mut values = Vec::new();
        for latency in distances.children().filter(|n| n.has_tag_name("latency")) {
            let value = self.decimal(latency, "value")?.unwrap_or(0);
            let product = u128::from(value) * u128::from(base);
            values
                .push(u64::try_from((product + 500_000_000_000) / 1_000_000_000_000).unwrap_or(0));
        }
        let order = nodes
            .iter()
            .map(|n| self.os_index(*n))
            .collect::<Result<Vec<_>, _>>()?;
        self.matrix(distances, &order, &values, found)
    }

    fn matrix(
        &self,
        at: Node<'_, '_>,
        order: &[u32],
        values: &[u64],
        found: &mut Found,
    ) -> Result<(), Error> {
        let size = order.len();
        if values.len() != size * size {
            let what = format!("{} distances for {size} NUMA nodes", values.len());
            return Err(self.wrong(at, what, &format!("expected {size} x {size}")));
        }
        for (idx, value) in values.iter().enumerate() {
            let pair = (order[idx / size], order[idx % size]);
            found
                .distances
                .insert(pair, u32::try_from(*value).unwrap_or(u32::MAX));
        }
        Ok(())
    }

    /// All numbers in the text of the child elements called `tag`.
    fn values(&self, parent: Node<'_, '_>, tag: &str) -> Result<Vec<u64>, Error> {
        let mut values = Vec::new();
        for child in parent.children().filter(|n| n.has_tag_name(tag)) {
            for word in child.text().unwrap_or("").split_whitespace() {
                values.push(word.parse().map_err(|_| {
                    self.wrong(
                        child,
                        format!("'{word}' in <{tag}> is not a whole number"),
                        "",
                    )
                })?);
            }
        }
        Ok(values)
    }

    fn os_index(&self, object: Node<'_, '_>) -> Result<u32, Error> {
        let kind = object.attribute("type").unwrap_or("object");
        match self.number(object, "os_index")? {
            Some(index) if index <= u64::from(CPU_MAX) => Ok(index as u32),
            _ => Err(self.wrong(
                object,
                format!("a {kind} without an os_index from 0 to {CPU_MAX}"),
                "give the number that the operating system uses",
            )),
        }
    }

    fn number(&self, object: Node<'_, '_>, name: &str) -> Result<Option<u64>, Error> {
        match object.attribute(name) {
            None => Ok(None),
            Some(text) => text.parse().map(Some).map_err(|_| {
                self.wrong(
                    object,
                    format!("{name}=\"{text}\" is not a whole number"),
                    "",
                )
            }),
        }
    }

    /// A decimal attribute in millionths.
    fn decimal(&self, object: Node<'_, '_>, name: &str) -> Result<Option<u64>, Error> {
        let Some(text) = object.attribute(name) else {
            return Ok(None);
        };
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let digits: String = fraction.chars().chain("000000".chars()).take(6).collect();
        let parsed = (whole.parse::<u64>(), digits.parse::<u64>());
        match parsed {
            (Ok(whole), Ok(part)) if whole < 1_000_000 => Ok(Some(whole * 1_000_000 + part)),
            _ => Err(self.wrong(
                object,
                format!("{name}=\"{text}\" is not a decimal number"),
                "",
            )),
        }
    }

    fn mask(&self, attribute: roxmltree::Attribute<'_, '_>) -> Result<Vec<u32>, Error> {
        parse_mask(attribute.value()).map_err(|what| Error::Content {
            file: self.file.to_string(),
            place: Some(line_column(self.text, attribute.range().start)),
            what: format!("{}: {what}", attribute.name()),
            mend: "expected 32-bit words such as 0x3,0xffffffff".to_string(),
        })
    }

    fn wrong(&self, at: Node<'_, '_>, what: String, mend: &str) -> Error {
        Error::Content {
            file: self.file.to_string(),
            place: Some(line_column(self.text, at.range().start)),
            what,
            mend: mend.to_string(),
        }
    }
}

fn is_object(node: &Node<'_, '_>, kind: &str) -> bool {
    node.has_tag_name("object") && node.attribute("type") == Some(kind)
}
