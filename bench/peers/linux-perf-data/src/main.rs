// SPDX-License-Identifier: MIT
// decode-linux-perf-data FILE ROUNDS: loads FILE into memory and reads every field that the crate reports of each record.
// Prints the number of records and the nanoseconds of CPU time of the best round.
use linux_perf_data::linux_perf_event_reader::{EventRecord, RawData, Regs, SampleRecord};
use linux_perf_data::{Error, PerfFileReader, PerfFileRecord};
use std::hint::black_box;
use std::io::Cursor;

// Linux with 64-bit times.
#[repr(C)]
struct Time {
    seconds: i64,
    nanoseconds: i64,
}
const CLOCK_THREAD_CPUTIME_ID: i32 = 3;
extern "C" {
    fn clock_gettime(clock: i32, time: *mut Time) -> i32;
}

fn cpu_time() -> i64 {
    let mut time = Time { seconds: 0, nanoseconds: 0 };

    unsafe { clock_gettime(CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.seconds * 1_000_000_000 + time.nanoseconds
}

fn first_byte(data: RawData) -> u64 {
    data.get(0..1).map_or(0, |byte| byte.as_slice()[0] as u64)
}

fn sum_registers(registers: &Option<Regs>, mask: u64) -> u64 {
    let Some(registers) = registers else { return 0 };
    (0..64)
        .filter(|bit| mask >> bit & 1 != 0)
        .map(|bit| registers.get(bit).unwrap_or(0))
        .fold(0, u64::wrapping_add)
}

fn sum_sample(sample: &SampleRecord, mask: u64) -> u64 {
    let mut sum = sample.id.unwrap_or(0);
    for value in [sample.ip, sample.addr, sample.timestamp, sample.stream_id, sample.period, sample.phys_addr] {
        sum = sum.wrapping_add(value.unwrap_or(0));
    }
    sum = sum.wrapping_add(sample.pid.unwrap_or(0) as u64 + sample.tid.unwrap_or(0) as u64 + sample.cpu.unwrap_or(0) as u64);
    if let Some(chain) = sample.callchain {
        for i in 0..chain.len() {
            sum = sum.wrapping_add(chain.get(i).unwrap_or(0));
        }
    }
    if let Some(raw) = sample.raw {
        sum = sum.wrapping_add(raw.len() as u64 + first_byte(raw));
    }
    if let Some((stack, size)) = sample.user_stack {
        sum = sum.wrapping_add(size + stack.len() as u64 + first_byte(stack));
    }
    sum.wrapping_add(sum_registers(&sample.user_regs, mask))
}

fn sum_event(record: &EventRecord, mask: u64) -> u64 {
    match record {
        EventRecord::Sample(sample) => sum_sample(sample, mask),
        EventRecord::Comm(comm) => comm.pid as u64 + comm.tid as u64 + first_byte(comm.name),
        EventRecord::Fork(task) | EventRecord::Exit(task) => {
            task.pid as u64 + task.ppid as u64 + task.tid as u64 + task.ptid as u64 + task.timestamp
        }
        EventRecord::Mmap2(map) => (map.pid as u64 + map.tid as u64 + map.address)
            .wrapping_add(map.length + map.page_offset + map.protection as u64 + map.flags as u64)
            .wrapping_add(first_byte(map.path)),
        _ => 0,
    }
}

fn read(bytes: &[u8]) -> Result<(u64, u64), Error> {
    let PerfFileReader { mut perf_file, mut record_iter } = PerfFileReader::parse_file(Cursor::new(bytes))?;
    let masks: Vec<u64> = perf_file.event_attributes().iter().map(|event| event.attr.sample_regs_user).collect();
    let (mut records, mut sum) = (0u64, 0u64);

    while let Some(record) = record_iter.next_record(&mut perf_file)? {
        records += 1;
        if let PerfFileRecord::EventRecord { attr_index, record } = record {
            sum = sum.wrapping_add(sum_event(&record.parse()?, masks[attr_index]));
            if let Ok(common) = record.common_data() {
                sum = sum.wrapping_add(common.timestamp.unwrap_or(0) + common.cpu.unwrap_or(0) as u64);
            }
        }
    }
    Ok((records, sum))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let bytes = std::fs::read(&arguments[1])?;
    let rounds: u32 = arguments[2].parse()?;
    let (mut records, mut best) = (0, i64::MAX);

    for _ in 0..rounds {
        let start = cpu_time();
        let (read, sum) = read(&bytes)?;

        records = read;
        black_box(sum);
        best = best.min(cpu_time() - start);
    }
    println!("{records} {best}");
    Ok(())
}
