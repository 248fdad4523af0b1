//! A PostgreSQL server.
//!
//! All tables are in a schema of their own, `headroom`, so that a ledger may share a database with other programs. Writers
//! wait for each other at an advisory lock: an entry of the ledger names the hash of the one before it.

use super::{Failure, Row, Value};
use crate::location::Server;
use crate::{Error, Location};
use ::postgres::types::{Format, IsNull, ToSql, Type, to_sql_checked};
use ::postgres::{Client, Config, NoTls, Statement, config::SslMode};
use rustls::{ClientConfig, RootCertStore};
use std::cell::RefCell;
use std::collections::HashMap;
use std::error::Error as StdError;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio_postgres_rustls::MakeRustlsConnect;

/// An open connection.
pub(crate) struct Postgres {
    client: RefCell<Client>,
    /// Prepared once each.
    statements: RefCell<HashMap<String, Statement>>,
}

impl std::fmt::Debug for Postgres {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Postgres")
    }
}

impl Postgres {
    pub(super) fn open(server: &Server, place: &Location) -> Result<Self, Error> {
        // A certificate is verified with its name whenever TLS is used.
        let url = server.url().replace("sslmode=verify-full", "sslmode=require");
        let mut config: Config = url.parse().map_err(|source: ::postgres::Error| Error::Address {
            place: place.clone(),
            what: chain(&source),
        })?;
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECTS);
        }
        // A server that is gone is soon found out, and a network between does not forget the connection.
        config.tcp_user_timeout(super::PATIENCE).keepalives_idle(KEEPALIVE);
        if config.get_application_name().is_none() {
            config.application_name("headroom");
        }
        let failed = |source: Failure| Error::Unreachable { place: place.clone(), source: source.into() };
        let client = match config.get_ssl_mode() {
            SslMode::Disable => config.connect(NoTls).map_err(|source| failed(source.into()))?,
            _ => {
                let tls = tls().map_err(|what| failed(Failure::Tls(what)))?;
                config.connect(MakeRustlsConnect::new(tls)).map_err(|source| failed(source.into()))?
            }
        };
        let postgres = Postgres { client: RefCell::new(client), statements: RefCell::default() };
        let prepare = format!(
            "SET search_path TO headroom; SET client_min_messages TO warning; SET lock_timeout = {}",
            super::PATIENCE.as_millis()
        );
        postgres.run(&prepare).map_err(|source| Error::of(place, source))?;
        Ok(postgres)
    }

    pub(super) fn execute(&self, statement: &str, values: &[Value]) -> Result<u64, Failure> {
        let values: Vec<&(dyn ToSql + Sync)> = values.iter().map(|value| value as _).collect();
        let statement = self.prepared(statement)?;
        Ok(self.client.borrow_mut().execute(&statement, &values)?)
    }

    pub(super) fn query(&self, query: &str, values: &[Value]) -> Result<Vec<Row>, Failure> {
        let values: Vec<&(dyn ToSql + Sync)> = values.iter().map(|value| value as _).collect();
        let query = self.prepared(query)?;
        let rows = self.client.borrow_mut().query(&query, &values)?;
        let Some(first) = rows.first() else { return Ok(Vec::new()) };
        let names: Rc<[String]> = first.columns().iter().map(|column| column.name().to_owned()).collect();
        let types: Vec<Type> = first.columns().iter().map(|column| column.type_().clone()).collect();
        let row = |row: &::postgres::Row| {
            let values = types
                .iter()
                .enumerate()
                .map(|(place, of)| value(row, place, of))
                .collect::<Result<_, _>>()?;
            Ok(Row { names: Rc::clone(&names), values })
        };
        rows.iter().map(row).collect()
    }

    fn prepared(&self, text: &str) -> Result<Statement, Failure> {
        if let Some(known) = self.statements.borrow().get(text) {
            return Ok(known.clone());
        }
        let new = self.client.borrow_mut().prepare(&numbered(text))?;
        let mut statements = self.statements.borrow_mut();
        if statements.len() >= PREPARED {
            statements.clear();
        }
        statements.insert(text.to_owned(), new.clone());
        Ok(new)
    }

    pub(super) fn run(&self, statements: &str) -> Result<(), Failure> {
        Ok(self.client.borrow_mut().batch_execute(statements)?)
    }

    pub(super) fn begin_to_write(&self) -> Result<(), Failure> {
        self.run(&format!(
            "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; SELECT pg_advisory_xact_lock({LOCK})"
        ))
    }

    /// 0 where the schema is missing or empty.
    pub(super) fn version(&self) -> Result<i64, Failure> {
        // Also where the user may not read it: then the next query says so.
        let exists = "SELECT 1 AS there FROM pg_catalog.pg_class JOIN pg_catalog.pg_namespace AS n ON n.oid = relnamespace
                      WHERE n.nspname = 'headroom' AND relname = 'ledger_version'";
        if self.query(exists, &[])?.is_empty() {
            return Ok(0);
        }
        let found = self.query("SELECT version FROM ledger_version", &[])?;
        Ok(found.first().and_then(|row| row.get("version").ok()).unwrap_or(0))
    }

    pub(super) fn set_version(&self, version: i64) -> Result<(), Failure> {
        self.run(&format!(
            "CREATE TABLE IF NOT EXISTS ledger_version (version BIGINT NOT NULL);
             DELETE FROM ledger_version;
             INSERT INTO ledger_version VALUES ({version})"
        ))
    }
}

/// Statements of the schema, which are written for SQLite.
pub(super) fn schema(statements: &str) -> String {
    let words = [
        ("INTEGER PRIMARY KEY AUTOINCREMENT", "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY"),
        ("INTEGER", "BIGINT"),
        ("BLOB", "BYTEA"),
        (") STRICT, WITHOUT ROWID", ")"),
        (") STRICT", ")"),
    ];
    let words = words.into_iter().fold(statements.to_owned(), |text, (from, to)| text.replace(from, to));
    format!("{SCHEMA}{words}")
}

/// A statement with values as PostgreSQL numbers them.
fn numbered(statement: &str) -> String {
    statement.replace('?', "$")
}

fn value(row: &::postgres::Row, place: usize, of: &Type) -> Result<Value, Failure> {
    let value = match *of {
        Type::INT8 => row.try_get::<_, Option<i64>>(place)?.map(Value::Integer),
        Type::INT4 => row.try_get::<_, Option<i32>>(place)?.map(|number| Value::Integer(number.into())),
        Type::BOOL => row.try_get::<_, Option<bool>>(place)?.map(|is| Value::Integer(is.into())),
        Type::BYTEA => row.try_get::<_, Option<Vec<u8>>>(place)?.map(Value::Blob),
        _ => row.try_get::<_, Option<String>>(place)?.map(Value::Text),
    };
    Ok(value.unwrap_or(Value::Null))
}

impl ToSql for Value {
    fn to_sql(
        &self,
        of: &Type,
        out: &mut bytes::BytesMut,
    ) -> Result<IsNull, Box<dyn StdError + Sync + Send>> {
        match self {
            Value::Null => Ok(IsNull::Yes),
            Value::Integer(number) if *of == Type::INT4 => i32::try_from(*number)?.to_sql(of, out),
            Value::Integer(number) => number.to_sql(of, out),
            Value::Text(text) => text.to_sql(of, out),
            Value::Blob(bytes) => bytes.to_sql(of, out),
        }
    }

    fn accepts(of: &Type) -> bool {
        [Type::INT8, Type::INT4, Type::TEXT, Type::BYTEA].contains(of)
    }

    fn encode_format(&self, of: &Type) -> Format {
        i64::encode_format(&0, of)
    }

    to_sql_checked!();
}

/// Trusts what the machine trusts.
fn tls() -> Result<ClientConfig, String> {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(found.certs);
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let builder = builder.map_err(|error| error.to_string())?;
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}

/// An error with what caused it.
fn chain(error: &dyn StdError) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        text = format!("{text}: {error}");
        source = error.source();
    }
    text
}

/// Statements that are kept.
const PREPARED: usize = 100;
/// The number of the lock of writers: "hdrm" in ASCII.
const LOCK: i64 = 0x6864_726d;
/// Creating a schema needs a right of the database, even where it exists.
const SCHEMA: &str = "DO $$ BEGIN
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_namespace WHERE nspname = 'headroom') THEN CREATE SCHEMA headroom; END IF;
END $$;\n";
/// How long nothing may be sent before the connection is tried.
const KEEPALIVE: Duration = Duration::from_secs(30);
/// How long a connection may take to be made, where the URL does not say.
const CONNECTS: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schema_is_in_words_that_postgresql_knows() {
        let said = schema(
            "CREATE TABLE a (id INTEGER PRIMARY KEY AUTOINCREMENT, b BLOB, c INTEGER) STRICT, WITHOUT ROWID;",
        );
        assert_eq!(
            said,
            format!(
                "{SCHEMA}CREATE TABLE a (id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, b BYTEA, c BIGINT);"
            )
        );
        assert_eq!(numbered("UPDATE a SET b = ?2 WHERE id = ?1"), "UPDATE a SET b = $2 WHERE id = $1");
    }
}
