//! Makes version 7 of trace.dat out of version 6, with what no recorder here writes.
#![allow(dead_code, reason = "each test uses a part")]

/// How sections are packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Packing {
    None,
    Zlib,
}

/// A buffer: its name and the pages of its CPUs.
#[derive(Clone, Debug)]
pub(crate) struct Buffer {
    pub(crate) name: String,
    pub(crate) cpus: Vec<(u32, Vec<u8>)>,
    /// Its pages are said to be where those of the first buffer are.
    pub(crate) shared: bool,
}

/// A file being made.
pub(crate) struct File {
    packing: Packing,
    /// Section numbers and contents.
    sections: Vec<(u16, Vec<u8>)>,
    options: Vec<u8>,
    pub(crate) buffers: Vec<Buffer>,
}

/// A position in the bytes of version 6.
struct Parts<'a>(&'a [u8]);

impl<'a> Parts<'a> {
    fn take(&mut self, len: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(len);
        self.0 = rest;
        taken
    }

    fn number(&mut self, len: usize) -> usize {
        let bytes = self.take(len).iter().rev();
        bytes.fold(0, |number, byte| number << 8 | usize::from(*byte))
    }

    fn sized(&mut self) -> &'a [u8] {
        let len = self.number(8);
        self.take(len)
    }

    /// What lies between an earlier position and this one.
    fn since(&self, before: &'a [u8]) -> Vec<u8> {
        before[..before.len() - self.0.len()].to_vec()
    }
}

impl File {
    /// Takes a file of version 6 with options apart.
    pub(crate) fn of_v6(bytes: &[u8], packing: Packing) -> Self {
        let mut parts = Parts(bytes);
        parts.take(3 + 7 + 2 + 2 + 4);
        let before = parts.0;
        parts.take(12);
        parts.sized();
        parts.take(13);
        parts.sized();
        let header_info = parts.since(before);
        let before = parts.0;
        for _ in 0..parts.number(4) {
            parts.sized();
        }
        let ftrace = parts.since(before);
        let before = parts.0;
        for _ in 0..parts.number(4) {
            while parts.number(1) != 0 {}
            for _ in 0..parts.number(4) {
                parts.sized();
            }
        }
        let events = parts.since(before);
        for _ in 0..2 {
            let len = parts.number(4);
            parts.take(len);
        }
        let before = parts.0;
        parts.sized();
        let cmdlines = parts.since(before);
        let nr_cpus = parts.number(4);
        parts.take(10);
        while parts.number(2) != 0 {
            let len = parts.number(4);
            parts.take(len);
        }
        parts.take(10);
        let mut cpus = Vec::new();
        for cpu in 0..nr_cpus as u32 {
            let (at, size) = (parts.number(8), parts.number(8));
            cpus.push((cpu, bytes[at..at + size].to_vec()));
        }
        Self {
            packing,
            sections: vec![
                (16, header_info),
                (17, ftrace),
                (18, events),
                (21, cmdlines),
            ],
            options: Vec::new(),
            buffers: vec![Buffer {
                name: String::new(),
                cpus,
                shared: false,
            }],
        }
    }

    /// Adds an option.
    pub(crate) fn option(&mut self, id: u16, data: &[u8]) {
        self.options.extend_from_slice(&id.to_le_bytes());
        self.options
            .extend_from_slice(&(data.len() as u32).to_le_bytes());
        self.options.extend_from_slice(data);
    }

    /// Adds a GUEST option.
    pub(crate) fn guest(&mut self, name: &str, trace_id: u64, vcpus: &[(u32, u32)]) {
        let mut data = name.as_bytes().to_vec();
        data.push(0);
        data.extend_from_slice(&trace_id.to_le_bytes());
        data.extend_from_slice(&(vcpus.len() as u32).to_le_bytes());
        for (cpu, pid) in vcpus {
            data.extend_from_slice(&cpu.to_le_bytes());
            data.extend_from_slice(&pid.to_le_bytes());
        }
        self.option(13, &data);
    }

    /// The file.
    pub(crate) fn bytes(mut self) -> Vec<u8> {
        let mut out = b"\x17\x08\x44tracing7\0\0\x08".to_vec();
        out.extend_from_slice(&4096_u32.to_le_bytes());
        out.extend_from_slice(match self.packing {
            Packing::None => b"none\0\0",
            Packing::Zlib => b"zlib\x001.3\0",
        });
        let first_options = out.len();
        out.extend_from_slice(&[0; 8]);
        for (id, data) in std::mem::take(&mut self.sections) {
            let at = out.len() as u64;
            self.section(&mut out, id, &data);
            self.option(id, &at.to_le_bytes());
        }
        let mut first_places = Vec::new();
        for buffer in std::mem::take(&mut self.buffers) {
            let section = out.len() as u64;
            let places = if buffer.shared {
                first_places.clone()
            } else {
                self.pages(&mut out, &buffer)
            };
            if first_places.is_empty() {
                first_places.clone_from(&places);
            }
            let mut option = if buffer.shared {
                // The section of the first buffer has the header wanted.
                self.section(&mut out, 3, &[]);
                section.to_le_bytes().to_vec()
            } else {
                section.to_le_bytes().to_vec()
            };
            option.extend_from_slice(buffer.name.as_bytes());
            option.extend_from_slice(b"\0local\0");
            option.extend_from_slice(&4096_u32.to_le_bytes());
            option.extend_from_slice(&(places.len() as u32).to_le_bytes());
            for (cpu, at, size) in places {
                option.extend_from_slice(&cpu.to_le_bytes());
                option.extend_from_slice(&at.to_le_bytes());
                option.extend_from_slice(&size.to_le_bytes());
            }
            self.option(3, &option);
        }
        let at = out.len() as u64;
        self.option(0, &0_u64.to_le_bytes());
        let options = std::mem::take(&mut self.options);
        self.section(&mut out, 0, &options);
        out[first_options..first_options + 8].copy_from_slice(&at.to_le_bytes());
        out
    }

    fn section(&self, out: &mut Vec<u8>, id: u16, data: &[u8]) {
        let mut packed = data.to_vec();
        if self.packing == Packing::Zlib {
            packed = chunk(data);
        }
        section_header(out, id, self.packing, packed.len());
        out.extend_from_slice(&packed);
    }

    /// A buffer's section; gives where the pages of each CPU are.
    fn pages(&self, out: &mut Vec<u8>, buffer: &Buffer) -> Vec<(u32, u64, u64)> {
        section_header(out, 3, self.packing, 0);
        let mut places = Vec::new();
        for (cpu, pages) in &buffer.cpus {
            out.resize(out.len().next_multiple_of(4096), 0);
            let at = out.len() as u64;
            match self.packing {
                Packing::None => out.extend_from_slice(pages),
                Packing::Zlib => {
                    // In two chunks.
                    out.extend_from_slice(&2_u32.to_le_bytes());
                    let (first, second) = pages.split_at(pages.len() / 2);
                    out.extend_from_slice(&chunk(first));
                    out.extend_from_slice(&chunk(second));
                }
            }
            places.push((*cpu, at, out.len() as u64 - at));
        }
        places
    }
}

fn section_header(out: &mut Vec<u8>, id: u16, packing: Packing, size: usize) {
    out.extend_from_slice(&id.to_le_bytes());
    out.extend_from_slice(&u16::from(packing == Packing::Zlib).to_le_bytes());
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(&(size as u64).to_le_bytes());
}

/// Data packed, after both lengths.
fn chunk(data: &[u8]) -> Vec<u8> {
    let packed = miniz_oxide::deflate::compress_to_vec_zlib(data, 6);
    let mut out = (packed.len() as u32).to_le_bytes().to_vec();
    out.extend_from_slice(&(data.len() as u32).to_le_bytes());
    out.extend_from_slice(&packed);
    out
}
