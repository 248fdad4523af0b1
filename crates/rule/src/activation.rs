//! Runs a rule from one host call to the next.

use crate::changes::Changes;
use crate::classes::{PoolId, RateClassId, ServiceLevelId};
use crate::host::{Answer, Claim, Host};
use crate::machine::End;
use crate::response::{Draft, Response, check_status, redirect};
use crate::target;
use mlua::thread::ThreadStatus;
use mlua::{BorrowedBytes, Lua, LuaString, Thread, Value};
use std::borrow::Cow;

/// A rule between its start or resumption and its end or suspension.
pub(crate) struct Activation<'a> {
    pub(crate) lua: &'a Lua,
    pub(crate) thread: &'a Thread,
    /// The response that a response rule runs on.
    pub(crate) answer: Option<&'a dyn Answer>,
    pub(crate) changes: &'a mut Changes,
}

/// A call number and its arguments, or what the rule returned.
type Yielded = (Value, Value, Value, Value, Value);

impl Activation<'_> {
    pub(crate) fn drive(&mut self, host: &mut dyn Host) -> mlua::Result<End> {
        let mut answer = Value::Nil;
        loop {
            let (call, first, second, third, fourth): Yielded = self.thread.resume(answer)?;
            if self.thread.status() != ThreadStatus::Resumable {
                return Ok(End::Pass);
            }
            answer = match call.as_u32().unwrap_or_default() {
                GET_PATH => self.string(self.changes.path.as_deref().unwrap_or(host.path()))?,
                GET_METHOD => self.string(host.method())?,
                GET_HEADER => {
                    let name = text("the name", &first).unwrap_or_default();
                    let original = host.header(name.as_bytes());
                    // A response rule sees the original request.
                    let now = match self.answer {
                        Some(_) => original,
                        None => self.changes.fields.first(&name, original),
                    };
                    self.optional(now)?
                }
                SET_SERVICE_LEVEL => {
                    host.set_service_level(ServiceLevelId(id(&first)));
                    Value::Nil
                }
                CONFORMING => Value::Number(host.conforming(ServiceLevelId(id(&first))).get() * 100.0),
                GET_BACKLOG => {
                    let key = key(&second);
                    Value::Number(f64::from(host.backlog(RateClassId(id(&first)), key.as_deref())))
                }
                USE => {
                    let (class, key) = (RateClassId(id(&first)), key(&second));
                    match host.claim(class, key.as_deref()) {
                        Claim::Now => Value::Nil,
                        Claim::Wait => return Ok(End::Wait(class)),
                        Claim::Shed => return Ok(End::Shed(class)),
                    }
                }
                USE_NO_QUEUE => {
                    let (class, key) = (RateClassId(id(&first)), key(&second));
                    Value::Integer(host.claim_at_once(class, key.as_deref()).into())
                }
                SEND_RESPONSE => match response(&first, &second, &third, &fourth) {
                    Ok(response) => return Ok(End::Respond(response)),
                    Err(wrong) => self.string(wrong.as_bytes())?,
                },
                REDIRECT => match text("the address", &first).and_then(|url| redirect(&url)) {
                    Ok(response) => return Ok(End::Respond(response)),
                    Err(wrong) => self.string(wrong.as_bytes())?,
                },
                USE_POOL => {
                    self.changes.pool = Some(PoolId(id(&first)));
                    return Ok(End::Pass);
                }
                LOG => {
                    let line = key(&first).map(|line| printable(&line)).unwrap_or_default();
                    host.log(&line);
                    Value::Nil
                }
                GET_REMOTE_IP => self.string(host.client().to_string().as_bytes())?,
                GET_HOST => match self.answer {
                    Some(_) => self.optional(host.host().map(str::as_bytes))?,
                    None => {
                        self.optional(self.changes.fields.first("host", host.host().map(str::as_bytes)))?
                    }
                },
                GET_QUERY => self.string(self.query(host).as_bytes())?,
                GET_QUERY_PARAM => {
                    let name = key(&first);
                    let value = name.and_then(|name| target::query_param(self.query(host), &name));
                    self.optional(value.as_deref())?
                }
                GET_COOKIE => {
                    let name = key(&first);
                    let cookies = self.cookies(host);
                    self.optional(name.and_then(|name| target::cookie(&cookies, &name)))?
                }
                GET_STATUS => match self.answer {
                    Some(answer) => {
                        let status =
                            self.changes.status.as_ref().map_or(answer.status(), |(status, _)| *status);
                        Value::Integer(status.into())
                    }
                    None => return Err(mlua::Error::runtime("there is no response yet")),
                },
                GET_ANSWER_HEADER => {
                    let name = text("the name", &first).unwrap_or_default();
                    let original = self.answer.and_then(|answer| answer.header(name.as_bytes()));
                    self.optional(self.changes.fields.first(&name, original))?
                }
                change => match self.change(host, change, &first, &second) {
                    Some(Ok(())) => Value::Nil,
                    Some(Err(wrong)) => self.string(wrong.as_bytes())?,
                    None => return Err(mlua::Error::runtime(format!("there is no host call {change}"))),
                },
            };
        }
    }

    /// Records a change; returns what is wrong with it. `None` if the call changes nothing.
    fn change(
        &mut self,
        host: &dyn Host,
        call: u32,
        first: &Value,
        second: &Value,
    ) -> Option<Result<(), String>> {
        let bytes = |value: &Value| key(value).map(|bytes| bytes.to_vec()).unwrap_or_default();
        Some(match call {
            SELECT_POOL => {
                self.changes.pool = Some(PoolId(id(first)));
                Ok(())
            }
            SET_HEADER => {
                text("the name", first).and_then(|name| self.changes.fields.set(&name, &bytes(second)))
            }
            ADD_HEADER => {
                text("the name", first).and_then(|name| self.changes.fields.add(&name, &bytes(second)))
            }
            REMOVE_HEADER => text("the name", first).and_then(|name| self.changes.fields.remove(&name)),
            SET_PATH => {
                let path = bytes(first);
                target::check_path(&path).map(|()| self.changes.path = Some(path))
            }
            SET_QUERY => text("the query", first).and_then(|query| {
                target::check_query(&query)?;
                self.changes.query = Some(query);
                Ok(())
            }),
            SET_QUERY_PARAM => {
                let value = key(second);
                target::with_query_param(self.query(host), &bytes(first), value.as_deref())
                    .map(|query| self.changes.query = Some(query))
            }
            SET_COOKIE => {
                let value = key(second);
                let all = target::with_cookie(&self.cookies(host), &bytes(first), value.as_deref());
                all.and_then(|all| match all.is_empty() {
                    true => self.changes.fields.remove("cookie"),
                    false => self.changes.fields.set("cookie", &all),
                })
            }
            SET_STATUS => self.set_status(first, second),
            _ => return None,
        })
    }

    fn set_status(&mut self, status: &Value, reason: &Value) -> Result<(), String> {
        let status = check_status(number(status)?)?;
        let reason = if reason.is_nil() { None } else { Some(text("the reason", reason)?) };
        if let Some(reason) =
            reason.as_ref().filter(|reason| !reason.bytes().all(|b| b == b' ' || b.is_ascii_graphic()))
        {
            return Err(format!("the reason is {reason:?}; it is plain ASCII"));
        }
        let bodiless = |status| matches!(status, 204 | 304);
        let old = self.answer.map_or(status, Answer::status);
        if bodiless(old) != bodiless(status) {
            return Err(format!(
                "{old} cannot become {status}: one has a body and the other has none; use http.sendResponse"
            ));
        }
        self.changes.status = Some((status, reason));
        Ok(())
    }

    /// The query as the rule sees it.
    fn query<'h>(&'h self, host: &'h dyn Host) -> &'h str {
        self.changes.query.as_deref().unwrap_or_else(|| host.query().unwrap_or_default())
    }

    /// The cookies as the rule sees them.
    fn cookies<'h>(&'h self, host: &'h dyn Host) -> Cow<'h, [u8]> {
        match self.answer {
            None if self.changes.fields.replaces("cookie") => {
                Cow::Borrowed(self.changes.fields.first("cookie", None).unwrap_or_default())
            }
            _ => host.cookies(),
        }
    }

    fn optional(&self, bytes: Option<&[u8]>) -> mlua::Result<Value> {
        bytes.map_or(Ok(Value::Nil), |bytes| self.string(bytes))
    }

    fn string(&self, bytes: &[u8]) -> mlua::Result<Value> {
        self.lua.create_string(bytes).map(Value::String)
    }
}

/// Checks the arguments of `http.sendResponse`; headers are optional.
fn response(status: &Value, second: &Value, body: &Value, headers: &Value) -> Result<Response, String> {
    let status = number(status)?;
    let reason_or_type = text("the second argument (reason or content type)", second)?;
    let body = match body {
        Value::String(body) => body.as_bytes(),
        other => return Err(format!("the body must be a string, not {}", other.type_name())),
    };
    let headers =
        if headers.is_nil() { String::new() } else { text("the last argument (header lines)", headers)? };
    Draft { status, reason_or_type: &reason_or_type, body: &body, headers: &headers }.finish()
}

fn number(status: &Value) -> Result<f64, String> {
    match status {
        Value::Number(status) => Ok(*status),
        Value::Integer(status) => Ok(*status as f64),
        other => Err(format!("the status must be a number, not {}", other.type_name())),
    }
}

/// A printable log line: one line of limited length.
fn printable(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(&line[..line.len().min(LINE_CHARS_MAX * 4)]);
    text.chars().take(LINE_CHARS_MAX).map(|c| if c.is_control() { ' ' } else { c }).collect()
}

fn text(what: &str, value: &Value) -> Result<String, String> {
    let Value::String(string) = value else {
        return Err(format!("{what} must be a string, not {}", value.type_name()));
    };
    string.to_str().map(|text| text.to_string()).map_err(|_| format!("{what} is not valid UTF-8"))
}

/// The prelude has looked the number up in a table that the machine gave it.
fn id(value: &Value) -> u32 {
    value.as_u32().unwrap_or(u32::MAX)
}

/// The prelude has checked that a key is a string, or nil.
fn key(value: &Value) -> Option<BorrowedBytes> {
    value.as_string().map(LuaString::as_bytes)
}

// The numbers that `prelude.luau` yields.
const GET_PATH: u32 = 1;
const GET_METHOD: u32 = 2;
const GET_HEADER: u32 = 3;
const SET_SERVICE_LEVEL: u32 = 4;
const CONFORMING: u32 = 5;
const GET_BACKLOG: u32 = 6;
const USE: u32 = 7;
const USE_NO_QUEUE: u32 = 8;
const SEND_RESPONSE: u32 = 9;
const REDIRECT: u32 = 10;
const SET_PATH: u32 = 11;
const GET_QUERY: u32 = 12;
const SET_QUERY: u32 = 13;
const GET_QUERY_PARAM: u32 = 14;
const SET_QUERY_PARAM: u32 = 15;
const GET_HOST: u32 = 16;
const SET_HEADER: u32 = 17;
const ADD_HEADER: u32 = 18;
const REMOVE_HEADER: u32 = 19;
const GET_COOKIE: u32 = 20;
const SET_COOKIE: u32 = 21;
const GET_REMOTE_IP: u32 = 22;
const SELECT_POOL: u32 = 23;
const USE_POOL: u32 = 24;
const LOG: u32 = 25;
const GET_STATUS: u32 = 26;
const SET_STATUS: u32 = 27;
const GET_ANSWER_HEADER: u32 = 28;

/// The length of a line that a rule may log.
const LINE_CHARS_MAX: usize = 300;
