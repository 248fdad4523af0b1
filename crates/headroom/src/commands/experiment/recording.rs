//! Requests with times of their own: a recording from its beginning to its end, or a capture while it is written.

use crate::inputs;
use ::load::{Base, Servers, Target, Targets, Work};
use http::dial::Resolver;
use import::{Entry, Recording as Recorded, Replay, Request};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashSet, VecDeque};
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use study::experiment::{Arm, OTHER, Recording, part};

/// A recording, of which each block has the next part.
pub struct Whole {
    /// When each request is sent, from the first one on, and which one.
    times: Vec<Duration>,
    requests: Vec<u32>,
    span: Duration,
    first: RefCell<Option<u64>>,
    order: RefCell<Arc<[u32]>>,
}

impl Whole {
    /// The requests, each once, and their times.
    ///
    /// # Errors
    /// No request has a time, or their times are too far apart.
    pub fn new(entries: Vec<Entry>, seed: u64) -> Result<(Self, Vec<Entry>), String> {
        let recording = Arc::new(Recorded::new(entries, seed).map_err(|error| error.to_string())?);
        let replay =
            Replay::new(Arc::clone(&recording), 1.0, 1.0, seed).map_err(|error| error.to_string())?;
        let (times, requests): (Vec<Duration>, Vec<u32>) =
            replay.dues().map(|due| (due.at, due.request)).unzip();
        // Until it begins again, the usual time between two requests passes.
        let count = u32::try_from(times.len()).unwrap_or(u32::MAX);
        let length = recording.length();
        let span = length + (length / count.max(1)).max(Duration::from_millis(1));
        let listed = recording.requests().iter().map(entry).collect();
        let (first, order) = (RefCell::new(None), RefCell::new(Arc::from([])));
        Ok((Whole { times, requests, span, first, order }, listed))
    }
}

fn entry(request: &Request) -> Entry {
    let Request { method, url, headers, body } = request.clone();
    let (at, user, status, response_time, bytes) = (None, None, None, None, None);
    Entry { at, method, url, headers, body, user, status, response_time, bytes }
}

impl Recording for Whole {
    fn part(&self, number: u64, length: Duration) -> Result<Vec<Duration>, String> {
        let first = *self.first.borrow_mut().get_or_insert(number);
        let start = length.as_nanos() * u128::from(number.wrapping_sub(first)) % self.span.as_nanos();
        let start = Duration::from_nanos(u64::try_from(start).unwrap_or_default());
        let found = part(&self.times, self.span, start, length);
        *self.order.borrow_mut() = found.iter().map(|(place, _)| self.requests[*place as usize]).collect();
        Ok(found.into_iter().map(|(_, due)| due).collect())
    }

    fn targets(&self, arm: &Arm) -> Result<Targets, String> {
        match &arm.work {
            Work::Targets(targets) => Ok(targets.clone().in_order(Arc::clone(&self.order.borrow()))),
            Work::Scenario { .. } => Err("a scenario has no recorded times".to_owned()),
        }
    }
}

/// A capture that the gateway is writing. Requests of a block are those that arrived last, before it: they are sent to all
/// arms a few seconds after their clients sent them.
pub struct Live {
    follower: RefCell<Follower>,
    resolver: Resolver,
    /// Requests as they were when the experiment began: each endpoint once, by its name, so that all blocks have the same endpoints.
    examples: Vec<(String, Entry)>,
    latest: RefCell<Part>,
    kept: RefCell<Kept>,
    reads_only: bool,
    /// Whether each service that gets copies has a store of its own: others get none of requests that change data, which may
    /// come after the first block.
    own_stores: bool,
    /// Requests that were left out for that.
    left_out: Cell<usize>,
    /// In place of those of the capture.
    headers: Vec<String>,
}

/// The latest part.
struct Part {
    number: Option<u64>,
    /// When it ends.
    end: i64,
    /// Its requests in the order of their times; a shorter part of the same number has the last of them.
    entries: Vec<Entry>,
    /// The first one that is sent.
    first: usize,
    /// The share of those that arrived since the part before that the gateway has lost.
    lost: f64,
}

/// Different requests for the comparison of answers, the examples first.
#[derive(Default)]
struct Kept {
    /// With their endpoints.
    entries: Vec<(Entry, usize)>,
    /// Hashes of them.
    known: HashSet<u64>,
    /// How many each endpoint has.
    counts: BTreeMap<usize, usize>,
    bytes: usize,
}

impl Kept {
    /// Keeps a request, unless it is known or its endpoint has enough of them.
    fn add(&mut self, entry: &Entry, endpoint: usize) {
        let count = self.counts.get(&endpoint).copied().unwrap_or_default();
        if count < KEPT_EACH && self.bytes + bytes(entry) <= KEPT_BYTES {
            self.insert(entry, endpoint);
        }
    }

    fn insert(&mut self, entry: &Entry, endpoint: usize) {
        let mut hasher = DefaultHasher::new();
        (&entry.method, &entry.url, &entry.body).hash(&mut hasher);
        if self.known.insert(hasher.finish()) {
            *self.counts.entry(endpoint).or_default() += 1;
            self.bytes += bytes(entry);
            self.entries.push((entry.clone(), endpoint));
        }
    }
}

/// About how much a kept request needs.
fn bytes(entry: &Entry) -> usize {
    let headers: usize = entry.headers.iter().map(|(name, value)| name.len() + value.len()).sum();
    entry.url.len() + headers + entry.body.len()
}

/// Reads what is appended to a capture.
struct Follower {
    path: PathBuf,
    file: File,
    /// A line that is not complete yet.
    begun: Vec<u8>,
    recent: VecDeque<Entry>,
    /// How many the gateway has lost.
    lost: u64,
}

impl Follower {
    fn open(path: &Path) -> io::Result<Self> {
        let mut file = File::open(path)?;
        let length = file.metadata()?.len();
        let start = length.saturating_sub(EXAMPLE_BYTES);
        file.seek(SeekFrom::Start(start))?;
        let mut follower =
            Follower { path: path.to_owned(), file, begun: Vec::new(), recent: VecDeque::new(), lost: 0 };
        follower.read()?;
        if start > 0 {
            // The first line may be half of one.
            follower.recent.pop_front();
        }
        follower.lost = 0;
        Ok(follower)
    }

    /// Reads what was appended; of a file that was replaced or truncated, from its beginning on.
    fn read(&mut self) -> io::Result<()> {
        self.read_on()?;
        if self.is_replaced()? {
            self.file = File::open(&self.path)?;
            self.begun.clear();
            self.read_on()?;
        }
        Ok(())
    }

    /// Whether there is another file now; none is there for a moment while one is rotated.
    fn is_replaced(&mut self) -> io::Result<bool> {
        use std::os::unix::fs::MetadataExt;
        let position = self.file.stream_position()?;
        let ours = self.file.metadata()?;
        match std::fs::metadata(&self.path) {
            Ok(now) => Ok((ours.dev(), ours.ino()) != (now.dev(), now.ino()) || now.len() < position),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn read_on(&mut self) -> io::Result<()> {
        self.file.read_to_end(&mut self.begun)?;
        let Some(end) = self.begun.iter().rposition(|byte| *byte == b'\n') else { return Ok(()) };
        let rest = self.begun.split_off(end + 1);
        for line in self.begun.split(|byte| *byte == b'\n') {
            self.lost += import::dropped_before(line);
            // A line that cannot be read is left out, as in every capture.
            if let Ok(Some(entry)) = import::read_line(line)
                && entry.at.is_some()
            {
                self.recent.push_back(entry);
            }
        }
        self.begun = rest;
        let surplus = self.recent.len().saturating_sub(RECENT_MAX);
        self.recent.drain(..surplus);
        Ok(())
    }
}

impl Live {
    /// Opens a capture, which has at least one request already.
    ///
    /// # Errors
    /// It cannot be read, or has no request.
    pub fn open(
        path: &Path,
        reads_only: bool,
        own_stores: bool,
        headers: &[String],
        resolver: Resolver,
    ) -> Result<Self, inputs::InputError> {
        let unreadable = |error| inputs::InputError::Read(path.to_owned(), error);
        let follower = Follower::open(path).map_err(unreadable)?;
        let mut examples = BTreeMap::new();
        for entry in follower.recent.iter().filter(|entry| is_sent(entry, reads_only)) {
            if examples.len() < Targets::ENDPOINTS_MAX - 1 {
                examples.entry(import::endpoint(entry)).or_insert_with(|| entry.clone());
            }
        }
        if examples.is_empty() {
            return Err(inputs::InputError::Empty(path.to_owned()));
        }
        let latest = Part { number: None, end: i64::MIN, entries: Vec::new(), first: 0, lost: 0.0 };
        let examples: Vec<(String, Entry)> = examples.into_iter().collect();
        let mut kept = Kept::default();
        examples.iter().enumerate().for_each(|(endpoint, (_, entry))| kept.insert(entry, endpoint));
        Ok(Live {
            follower: RefCell::new(follower),
            resolver,
            examples,
            latest: RefCell::new(latest),
            kept: RefCell::new(kept),
            reads_only,
            own_stores,
            left_out: Cell::new(0),
            headers: headers.to_vec(),
        })
    }

    /// One request of each endpoint.
    pub fn examples(&self) -> Vec<Entry> {
        self.examples.iter().map(|(_, entry)| entry.clone()).collect()
    }

    /// These requests as they are sent to an arm.
    fn sent(&self, arm: &Arm, entries: &[Entry]) -> Result<Vec<Target>, String> {
        let mut servers = Servers::new(&self.resolver);
        let path = self.follower.borrow().path.clone();
        let (requests, base) = (inputs::recorded(entries), Base::All(arm.url.as_str()));
        inputs::targets(&mut servers, &path, requests, base, &self.headers)
            .map_err(|error| crate::output::with_causes(&error))
    }

    /// The place of the endpoint of a request; that behind the last one if it was not seen when the experiment began.
    fn endpoint(&self, entry: &Entry) -> usize {
        let name = import::endpoint(entry);
        self.examples.binary_search_by(|(known, _)| known.cmp(&name)).unwrap_or(self.examples.len())
    }
}

fn is_sent(entry: &Entry, reads_only: bool) -> bool {
    !reads_only || http::codec::method::is_safe(entry.method.as_bytes())
}

impl Recording for Live {
    fn part(&self, number: u64, length: Duration) -> Result<Vec<Duration>, String> {
        let mut latest = self.latest.borrow_mut();
        let at = |entry: &Entry| entry.at.map_or(i64::MIN, |at| at.micros);
        let micros = i64::try_from(length.as_micros()).unwrap_or(i64::MAX);
        if latest.number != Some(number) {
            let mut follower = self.follower.borrow_mut();
            follower.read().map_err(|error| format!("{}: {error}", follower.path.display()))?;
            let lost = std::mem::take(&mut follower.lost) as f64;
            let lost = if lost > 0.0 { lost / (lost + follower.recent.len() as f64) } else { 0.0 };
            let end = follower.recent.iter().map(at).max().unwrap_or(latest.end);
            let start = end.saturating_sub(micros).max(latest.end);
            let is_in =
                |entry: &&Entry| at(entry) > start && at(entry) <= end && is_sent(entry, self.reads_only);
            let mut found: Vec<Entry> = follower.recent.iter().filter(is_in).cloned().collect();
            found.sort_by_key(at);
            follower.recent.clear();
            let all = found.len();
            found.retain(|entry| self.own_stores || is_sent(entry, true));
            self.left_out.set(self.left_out.get() + all - found.len());
            let mut kept = self.kept.borrow_mut();
            found.iter().for_each(|entry| kept.add(entry, self.endpoint(entry)));
            *latest = Part { number: Some(number), end, entries: found, first: 0, lost };
        }
        let begin = latest.end.saturating_sub(micros);
        latest.first = latest.entries.partition_point(|entry| at(entry) <= begin);
        let due = |entry: &Entry| u64::try_from(at(entry).saturating_sub(begin)).unwrap_or_default();
        Ok(latest.entries[latest.first..].iter().map(|entry| Duration::from_micros(due(entry))).collect())
    }

    fn kept(&self) -> Option<Vec<usize>> {
        Some(self.kept.borrow().entries.iter().map(|(_, endpoint)| *endpoint).collect())
    }

    fn kept_targets(&self, arm: &Arm, places: &[usize]) -> Result<Vec<Target>, String> {
        let kept = self.kept.borrow();
        let entries: Vec<Entry> = places.iter().map(|place| kept.entries[*place].0.clone()).collect();
        self.sent(arm, &entries)
    }

    fn lost(&self) -> f64 {
        self.latest.borrow().lost
    }

    fn note(&self) -> Option<String> {
        let left_out = Some(self.left_out.get()).filter(|count| *count > 0)?;
        Some(format!(
            "{} of the capture, which came later, change data and were left out: not all services that get copies have a store \
             of their own (`own_store: true`)",
            documents::words::counted(left_out as u64, "request")
        ))
    }

    fn targets(&self, arm: &Arm) -> Result<Targets, String> {
        let latest = self.latest.borrow();
        let first = self.examples.iter().take(1).map(|(_, entry)| (entry, OTHER.to_owned()));
        let examples = self.examples.iter().map(|(name, entry)| (entry, name.clone())).chain(first);
        let name = |entry: &Entry| {
            self.examples.get(self.endpoint(entry)).map_or(OTHER, |(name, _)| name).to_owned()
        };
        let all: Vec<(&Entry, String)> =
            examples.chain(latest.entries[latest.first..].iter().map(|entry| (entry, name(entry)))).collect();
        let sent = all.iter().map(|(entry, _)| (*entry).clone()).collect::<Vec<_>>();
        let list = self.sent(arm, &sent)?;
        let named: Vec<Target> =
            list.into_iter().zip(all).map(|(target, (_, name))| target.named(&name)).collect();
        let (before, count) = (self.examples.len() as u32 + 1, named.len() as u32);
        Ok(Targets::new(named).in_order((before..count).collect()))
    }
}

/// The end of the capture that shows which endpoints there are.
const EXAMPLE_BYTES: u64 = 4 * 1024 * 1024;
/// Requests between two blocks that are held.
const RECENT_MAX: usize = 1_000_000;
/// Different requests of an endpoint that are kept for the comparison of answers, and bytes of all of them.
const KEPT_EACH: usize = 50;
const KEPT_BYTES: usize = 16 << 20;

#[cfg(test)]
mod tests {
    use super::*;
    use import::{At, Edge};
    use std::io::Write;

    fn line(second: i64, url: &str) -> String {
        format!("{{\"at_us\":{},\"method\":\"GET\",\"url\":\"{url}\"}}\n", second * 1_000_000)
    }

    fn resolver() -> Resolver {
        Resolver::new::<&str>(&[], &[], None).unwrap()
    }

    fn seconds(times: Vec<Duration>) -> Vec<u64> {
        times.iter().map(Duration::as_secs).collect()
    }

    #[test]
    fn each_part_of_a_growing_capture_is_new_and_ends_with_its_latest_request() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("capture");
        std::fs::write(&path, line(1, "/a") + &line(2, "/b") + "{\"at_us\":").unwrap();
        let live = Live::open(&path, true, true, &[], resolver()).unwrap();
        assert_eq!(live.examples().len(), 2);
        let mut file = File::options().append(true).open(&path).unwrap();
        // The rest of the line that was begun, a request that changes data, and one more second.
        let post = line(4, "/c").replace("GET", "POST");
        write!(file, "3000000,\"method\":\"GET\",\"url\":\"/a\"}}\n{post}{}", line(5, "/new")).unwrap();
        let part = |number| seconds(live.part(number, Duration::from_secs(3)).unwrap());
        assert_eq!(part(1), [1, 3]);
        assert_eq!(part(1), [1, 3], "arms that take turns get the same requests");
        assert!(part(2).is_empty(), "nothing came since");
        // The file is replaced.
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, line(6, "/a") + "no request\n" + &line(9, "/b")).unwrap();
        assert_eq!(part(3), [3]);
        assert!(Live::open(&folder.path().join("none"), true, true, &[], resolver()).is_err());
    }

    #[test]
    fn a_shorter_part_of_the_same_number_has_its_last_requests() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("capture");
        std::fs::write(&path, (1..=9).map(|second| line(second, "/a")).collect::<String>()).unwrap();
        let live = Live::open(&path, false, true, &[], resolver()).unwrap();
        let part = |length| seconds(live.part(1, Duration::from_secs(length)).unwrap());
        assert_eq!((part(4), part(2), part(4)), (vec![1, 2, 3, 4], vec![1, 2], vec![1, 2, 3, 4]));
    }

    #[test]
    fn answers_are_compared_for_requests_that_come_later_too() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("capture");
        std::fs::write(&path, line(1, "/b/1") + &line(2, "/a")).unwrap();
        let live = Live::open(&path, false, true, &[], resolver()).unwrap();
        assert_eq!(live.kept().unwrap(), [0, 1], "the examples have the order of the endpoints");
        let mut file = File::options().append(true).open(&path).unwrap();
        let later: String = (3..100).map(|second| line(second, &format!("/b/{second}"))).collect();
        write!(file, "{later}{}{}{}", line(100, "/new"), line(101, "/new"), line(102, "/a")).unwrap();
        live.part(1, Duration::from_secs(200)).unwrap();
        let kept = live.kept().unwrap();
        let of = |endpoint: usize| kept.iter().filter(|one| **one == endpoint).count();
        // `/a` is the same request again, and `/new` has no endpoint of its own.
        assert_eq!((&kept[..2], of(0), of(1), of(2)), (&[0, 1][..], 1, KEPT_EACH, 1));
    }

    #[test]
    fn a_write_that_comes_later_goes_only_to_stores_of_their_own() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("capture");
        for (own_stores, sent) in [(false, 1), (true, 2)] {
            std::fs::write(&path, line(1, "/a")).unwrap();
            let live = Live::open(&path, false, own_stores, &[], resolver()).unwrap();
            live.part(1, Duration::from_secs(9)).unwrap();
            let mut file = File::options().append(true).open(&path).unwrap();
            write!(file, "{}{}", line(2, "/a"), line(3, "/order").replace("GET", "POST")).unwrap();
            assert_eq!(live.part(2, Duration::from_secs(9)).unwrap().len(), sent);
            assert_eq!(live.note().is_some(), !own_stores);
        }
    }

    #[test]
    fn what_the_gateway_lost_is_a_share_of_what_came() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("capture");
        let after =
            |second, lost: u64| line(second, "/a").replace('}', &format!(",\"dropped_before\":{lost}}}"));
        std::fs::write(&path, after(1, 9)).unwrap();
        let live = Live::open(&path, false, true, &[], resolver()).unwrap();
        live.part(1, Duration::from_secs(9)).unwrap();
        assert_eq!(live.lost(), 0.0, "that was before");
        let mut file = File::options().append(true).open(&path).unwrap();
        write!(file, "{}{}{}", line(2, "/a"), after(3, 1), line(4, "/a")).unwrap();
        live.part(2, Duration::from_secs(9)).unwrap();
        assert_eq!(live.lost(), 0.25);
        live.part(3, Duration::from_secs(9)).unwrap();
        assert_eq!(live.lost(), 0.0);
    }

    #[test]
    fn a_capture_that_is_rotated_loses_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("capture");
        std::fs::write(&path, line(1, "/a")).unwrap();
        let live = Live::open(&path, false, true, &[], resolver()).unwrap();
        let part = |number| live.part(number, Duration::from_secs(9)).unwrap().len();
        assert_eq!(part(1), 1);
        let mut file = File::options().append(true).open(&path).unwrap();
        std::fs::rename(&path, folder.path().join("capture.1")).unwrap();
        file.write_all(line(2, "/a").as_bytes()).unwrap();
        assert_eq!(part(2), 1, "there is no file of this name");
        file.write_all(line(3, "/a").as_bytes()).unwrap();
        std::fs::write(&path, line(4, "/a")).unwrap();
        assert_eq!(part(3), 2, "the rest of the old file and the new one");
    }

    #[test]
    fn a_recording_begins_again_after_its_end() {
        let entry = |second: i64| Entry {
            at: Some(At { micros: second * 1_000_000, whole_second: false, edge: Edge::Start }),
            method: "GET".to_owned(),
            url: format!("/{second}"),
            headers: Vec::new(),
            body: Vec::new(),
            user: None,
            status: None,
            response_time: None,
            bytes: None,
        };
        let (whole, listed) = Whole::new([10, 11, 12, 13].map(entry).to_vec(), 1).unwrap();
        assert_eq!(listed.len(), 4);
        let part = |number| seconds(whole.part(number, Duration::from_secs(2)).unwrap());
        // Between the last request and the first one again, the usual time passes: 0.75 s.
        assert_eq!((part(7), part(8)), (vec![0, 1], vec![0, 1, 1]));
        assert_eq!(whole.order.borrow().to_vec(), [2, 3, 0]);
        // The first part again: numbers need not begin at zero.
        assert_eq!(part(7), [0, 1]);
        assert!(Whole::new(vec![Entry { at: None, ..entry(1) }], 1).is_err());
    }
}
