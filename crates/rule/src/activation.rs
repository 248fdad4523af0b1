//! From one host call of a rule to the next.

use crate::classes::{RateClassId, ServiceLevelId};
use crate::host::{Claim, Host};
use crate::machine::End;
use crate::response::{Draft, Response, redirect};
use mlua::thread::ThreadStatus;
use mlua::{BorrowedBytes, Lua, LuaString, Thread, Value};

/// A rule between its start or resumption and its end or suspension.
pub(crate) struct Activation<'a> {
    pub(crate) lua: &'a Lua,
    pub(crate) thread: &'a Thread,
}

/// A call number and its arguments, or what the rule returned.
type Yielded = (Value, Value, Value, Value, Value);

impl Activation<'_> {
    pub(crate) fn drive(&self, host: &mut dyn Host) -> mlua::Result<End> {
        let mut answer = Value::Nil;
        loop {
            let (call, first, second, third, fourth): Yielded = self.thread.resume(answer)?;
            if self.thread.status() != ThreadStatus::Resumable {
                return Ok(End::Pass);
            }
            answer = match call.as_u32().unwrap_or_default() {
                GET_PATH => self.string(host.path())?,
                GET_METHOD => self.string(host.method())?,
                GET_HEADER => match key(&first).and_then(|name| host.header(&name)) {
                    Some(value) => self.string(value)?,
                    None => Value::Nil,
                },
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
                unknown => return Err(mlua::Error::runtime(format!("there is no host call {unknown}"))),
            };
        }
    }

    fn string(&self, bytes: &[u8]) -> mlua::Result<Value> {
        self.lua.create_string(bytes).map(Value::String)
    }
}

/// Checks what `http.sendResponse` was given; headers may be left out.
fn response(status: &Value, second: &Value, body: &Value, headers: &Value) -> Result<Response, String> {
    let status = match status {
        Value::Number(status) => *status,
        Value::Integer(status) => *status as f64,
        other => return Err(format!("the status must be a number, not {}", other.type_name())),
    };
    let reason_or_type = text("the second argument (reason or content type)", second)?;
    let body = match body {
        Value::String(body) => body.as_bytes(),
        other => return Err(format!("the body must be a string, not {}", other.type_name())),
    };
    let headers =
        if headers.is_nil() { String::new() } else { text("the last argument (header lines)", headers)? };
    Draft { status, reason_or_type: &reason_or_type, body: &body, headers: &headers }.finish()
}

fn text(what: &str, value: &Value) -> Result<String, String> {
    let Value::String(string) = value else {
        return Err(format!("{what} must be a string, not {}", value.type_name()));
    };
    string.to_str().map(|text| text.to_string()).map_err(|_| format!("{what} is not valid UTF-8"))
}

/// The prelude has looked the number up in a table that we gave it.
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
