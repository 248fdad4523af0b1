//! curl command lines, as typed by people and copied by browsers.
//!
//! The result is what curl would send: its rules for the method, for several `-d`, for `-G` and for the headers that a
//! flag implies. curl's own `User-Agent` and `Accept` are not added, because the requests are not sent by curl. An
//! unknown flag is an error instead of being ignored, because it might change the request.

mod flags;
mod shell;

use crate::body::Bodies;
use crate::header::header;
use crate::reader::{Parser, Ready};
use capture::request::{method, percent, url, visible};
use capture::{Entry, Fault, LineError, json, shown};
use flags::{Data, Does};
use shell::{Shell, Word};
use std::borrow::Cow;

#[derive(Debug)]
pub(crate) struct Curl {
    bodies: Bodies,
    shell: Shell,
    /// Skips the rest of a command with an error.
    skipping: bool,
}

impl Curl {
    pub(crate) fn new(bodies: Bodies) -> Self {
        Curl { bodies, shell: Shell::default(), skipping: false }
    }

    fn run(&self, commands: Vec<Vec<Word>>, ready: &mut Ready) {
        for command in commands {
            match requests(&command, &self.bodies) {
                Ok(entries) => ready.extend(entries.into_iter().map(Ok)),
                Err(error) => ready.push_back(Err(error)),
            }
        }
    }
}

impl Parser for Curl {
    fn line(&mut self, number: u64, line: &[u8], ready: &mut Ready) {
        let goes_on = line.ends_with(b"\\") || line.ends_with(b"^");
        if self.skipping {
            self.skipping = goes_on;
            return;
        }
        let mut commands = Vec::new();
        let result = self.shell.line(number, line, self.bodies.limit, &mut commands);
        self.run(commands, ready);
        if let Err(error) = result {
            self.skipping = goes_on;
            ready.push_back(Err(error));
        }
    }

    fn lost(&mut self, _ready: &mut Ready) {
        self.shell = Shell::default();
    }

    fn end(&mut self, ready: &mut Ready) {
        let mut commands = Vec::new();
        let result = self.shell.end(&mut commands);
        self.run(commands, ready);
        ready.extend(result.err().map(Err));
    }
}

/// The flags of a command so far.
#[derive(Default)]
struct Command {
    method: Option<String>,
    urls: Vec<String>,
    headers: Vec<(String, String)>,
    /// Headers that `-H 'Name:'` removes.
    without: Vec<String>,
    /// Headers that flags imply: `-H` overrides them.
    implied: Vec<(&'static str, String)>,
    data: Option<Vec<u8>>,
    json: bool,
    get: bool,
    head: bool,
}

fn requests(words: &[Word], bodies: &Bodies) -> Result<Vec<Entry>, LineError> {
    let words = if words[0].text == b"$" && words.len() > 1 { &words[1..] } else { words };
    let name = words[0].text.as_slice();
    if name != b"curl" && !name.ends_with(b"/curl") && name != b"curl.exe" {
        return Err(wrong(&words[0], "a command that begins with curl"));
    }
    let mut command = Command::default();
    let mut rest = words[1..].iter();
    let mut only_urls = false;
    while let Some(word) = rest.next() {
        let text = word.text.as_slice();
        if only_urls || !text.starts_with(b"-") || text == b"-" {
            command.url(word, text)?;
        } else if text == b"--" {
            only_urls = true;
        } else if let Some(name) = text.strip_prefix(b"--") {
            let name = String::from_utf8_lossy(name);
            let does = flags::long(&name).ok_or_else(|| unknown(word, &name))?;
            let value =
                if does.takes_a_value() { Some(rest.next().ok_or_else(|| no_value(word))?) } else { None };
            command.flag(word, does, value.map(|value| (value, value.text.as_slice())), bodies)?;
        } else {
            let mut letters = &text[1..];
            while let Some((letter, tail)) = letters.split_first() {
                let does = flags::short(*letter).ok_or_else(|| {
                    let mut error = wrong(word, "a flag of curl that is known here");
                    error.found = format!("the flag {}", shown(&[b'-', *letter]));
                    error
                })?;
                letters = tail;
                if !does.takes_a_value() {
                    command.flag(word, does, None, bodies)?;
                    continue;
                }
                letters = &[];
                let value = if tail.is_empty() {
                    let value = rest.next().ok_or_else(|| no_value(word))?;
                    (value, value.text.as_slice())
                } else {
                    (word, tail)
                };
                command.flag(word, does, Some(value), bodies)?;
            }
        }
    }
    if command.urls.is_empty() {
        let mut error = wrong(&words[0], "a URL");
        error.found = "a command without a URL".to_owned();
        return Err(error);
    }
    Ok(command.entries())
}

impl Command {
    fn flag(
        &mut self,
        flag: &Word,
        does: Does,
        value: Option<(&Word, &[u8])>,
        bodies: &Bodies,
    ) -> Result<(), LineError> {
        let (word, text) = value.unwrap_or((flag, b""));
        let string = || match text.iter().any(u8::is_ascii_control) {
            false => Ok(String::from_utf8_lossy(text).into_owned()),
            true => Err(wrong(word, "no control character in a header")),
        };
        match does {
            Does::Method => {
                self.method = Some(method(text).ok_or_else(|| wrong(word, "a method such as POST"))?)
            }
            Does::Header => self.header(word, text)?,
            Does::Data(kind) => {
                let part = data(kind, text, bodies).map_err(|fault| placed(fault, word))?;
                self.add(&part, true);
            }
            Does::Json => {
                let part = data(Data::Binary, text, bodies).map_err(|fault| placed(fault, word))?;
                // curl concatenates several of these.
                self.add(&part, false);
                self.json = true;
            }
            Does::User => self.imply("Authorization", format!("Basic {}", json::encode(text))),
            Does::Bearer => self.imply("Authorization", format!("Bearer {}", string()?)),
            Does::Agent => self.imply("User-Agent", string()?),
            Does::Referer => self.imply("Referer", string()?),
            Does::Cookie if text.contains(&b'=') => self.cookie(string()?),
            Does::Cookie => {
                let mut error = wrong(word, "cookies such as name=value");
                error.way_out = Some("cookies from a file are not read".into());
                return Err(error);
            }
            Does::Url => self.url(word, text)?,
            Does::Get => self.get = true,
            Does::Head => self.head = true,
            Does::Compressed => self.imply("Accept-Encoding", "deflate, gzip".to_owned()),
            Does::Nothing | Does::NothingWith => {}
            Does::Refused(reason) => {
                let mut error = wrong(flag, "a flag that can be repeated as it is");
                error.way_out = Some(reason.into());
                return Err(error);
            }
        }
        Ok(())
    }

    fn url(&mut self, word: &Word, text: &[u8]) -> Result<(), LineError> {
        // curl assumes http for a name without a scheme.
        let whole = if text.windows(3).any(|window| window == b"://") {
            text.to_vec()
        } else {
            [b"http://", text].concat()
        };
        self.urls.push(url(&whole).map_err(|_| wrong(word, "an http or https URL"))?);
        Ok(())
    }

    fn header(&mut self, word: &Word, text: &[u8]) -> Result<(), LineError> {
        if text.starts_with(b"@") {
            let mut error = wrong(word, "a header");
            error.way_out = Some("headers from a file are not read".into());
            return Err(error);
        }
        // `Name;` is a header without a value, `Name:` removes the header that curl would send.
        let bare = text.strip_suffix(b";").filter(|name| !name.contains(&b':'));
        let line: Cow<'_, [u8]> = bare.map_or(Cow::Borrowed(text), |name| [name, b":"].concat().into());
        let (name, value) = header(&line).map_err(|fault| placed(fault, word))?;
        if value.is_empty() && bare.is_none() {
            self.without.push(name);
        } else if !name.eq_ignore_ascii_case("content-length") {
            self.headers.push((name, value));
        }
        Ok(())
    }

    fn cookie(&mut self, more: String) {
        match self.implied.iter_mut().find(|(name, _)| *name == "Cookie") {
            Some((_, value)) => *value = format!("{value}; {more}"),
            None => self.imply("Cookie", more),
        }
    }

    /// A header that a flag implies; the last flag counts, as in curl.
    fn imply(&mut self, name: &'static str, value: String) {
        self.implied.retain(|(other, _)| *other != name);
        if !value.is_empty() {
            self.implied.push((name, value));
        }
    }

    fn add(&mut self, part: &[u8], separated: bool) {
        match &mut self.data {
            Some(data) => {
                if separated {
                    data.push(b'&');
                }
                data.extend_from_slice(part);
            }
            None => self.data = Some(part.to_vec()),
        }
    }

    fn entries(mut self) -> Vec<Entry> {
        let data = self.data.take();
        let has_body = data.is_some() && !self.get;
        if has_body {
            let kind = if self.json { "application/json" } else { "application/x-www-form-urlencoded" };
            self.imply("Content-Type", kind.to_owned());
        }
        if self.json {
            self.imply("Accept", "application/json".to_owned());
        }
        let implied = match (self.head, has_body) {
            (true, _) => "HEAD",
            (false, true) => "POST",
            (false, false) => "GET",
        };
        let method = self.method.unwrap_or_else(|| implied.to_owned());
        let mut headers = self.headers;
        for (name, value) in self.implied {
            let is = |other: &String| other.eq_ignore_ascii_case(name);
            // `-H` takes precedence over all other flags.
            if !self.without.iter().any(is) && !headers.iter().any(|(other, _)| is(other)) {
                headers.push((name.to_owned(), value));
            }
        }
        let query = data.as_deref().filter(|_| self.get).map(visible);
        let body = if has_body { data.unwrap_or_default() } else { Vec::new() };
        let entry = |mut url: String| {
            if let Some(query) = &query {
                let fragment = url.find('#').map_or_else(String::new, |at| url.split_off(at));
                url.push(if url.contains('?') { '&' } else { '?' });
                url = url + query + &fragment;
            }
            Entry {
                method: method.clone(),
                url,
                headers: headers.clone(),
                body: body.clone(),
                ..Entry::default()
            }
        };
        self.urls.into_iter().map(entry).collect()
    }
}

/// What a data flag adds to the body.
fn data(kind: Data, text: &[u8], bodies: &Bodies) -> Result<Vec<u8>, Fault> {
    match kind {
        Data::Raw => Ok(text.to_vec()),
        Data::Binary if text.starts_with(b"@") => bodies.read(text, 1),
        Data::Text if text.starts_with(b"@") => {
            let mut body = bodies.read(text, 1)?;
            body.retain(|byte| !matches!(byte, b'\r' | b'\n' | 0));
            Ok(body)
        }
        Data::Text | Data::Binary => Ok(text.to_vec()),
        Data::Encoded => {
            // `content`, `=content`, `name=content`, `@file`, `name@file`.
            let Some(mark) = text.iter().position(|byte| matches!(byte, b'=' | b'@')) else {
                return Ok(encoded(b"", text));
            };
            let content =
                if text[mark] == b'@' { bodies.read(text, mark + 1)? } else { text[mark + 1..].to_vec() };
            Ok(encoded(&text[..mark], &content))
        }
    }
}

fn encoded(name: &[u8], content: &[u8]) -> Vec<u8> {
    let mut out = String::new();
    for byte in content {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(byte) {
            out.push(char::from(*byte));
        } else {
            percent(&mut out, *byte);
        }
    }
    let equals: &[u8] = if name.is_empty() { b"" } else { b"=" };
    [name, equals, out.as_bytes()].concat()
}

fn wrong(word: &Word, expected: &'static str) -> LineError {
    let found = if word.text.is_empty() { "an empty word".to_owned() } else { shown(&word.text) };
    LineError { line: word.line, column: word.column, found, expected: expected.into(), way_out: None }
}

/// A fault inside a word, reported at the word, because quotes and escapes shift its columns.
fn placed(fault: Fault, word: &Word) -> LineError {
    LineError { column: word.column, ..fault.on(word.line) }
}

fn unknown(word: &Word, name: &str) -> LineError {
    let mut error = wrong(word, "a flag of curl that is known here");
    error.found = format!("the flag {}", shown(&word.text));
    error.way_out = flags::nearest(name).map(|name| format!("did you mean --{name}?").into());
    error
}

fn no_value(word: &Word) -> LineError {
    let mut error = wrong(word, "a value after it");
    error.found = format!("the flag {} at the end", shown(&word.text));
    error
}
