//! Parses the tokens of a row. Names are resolved later.

use super::lex::{Token, tokens};
use super::{Beside, Operator, Wrong};
use std::time::Duration;
use units::Unit;

#[derive(Debug, Clone, PartialEq)]
pub(super) enum RowSyntax {
    Chain(Syntax, Vec<(Beside, Syntax)>),
    Range(Syntax, Syntax, Syntax),
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Syntax {
    Number(f64, Unit, String),
    Measure { names: Vec<String>, within: Option<(Duration, Duration)> },
    Of(Operator, Box<Syntax>, Box<Syntax>),
}

impl Syntax {
    pub(super) fn shown(&self) -> String {
        match self {
            Syntax::Number(_, _, written) => written.clone(),
            Syntax::Measure { names, .. } => names.join("."),
            Syntax::Of(operator, left, right) => {
                let sign = match operator {
                    Operator::Plus => '+',
                    Operator::Minus => '-',
                    Operator::Times => '*',
                    Operator::Over => '/',
                };
                format!("{} {sign} {}", left.shown(), right.shown())
            }
        }
    }
}

const HELP: &str = "write as in `baseline.p95 in 400ms..600ms` or `a.p95 > b.p95`";
/// The maximum depth of parentheses.
const DEPTH_MAX: u32 = 20;

pub(super) fn syntax(text: &str) -> Result<RowSyntax, Wrong> {
    let tokens = tokens(text)?;
    let mut parser = Parser { tokens: &tokens, place: 0, depth: 0 };
    let first = parser.sum()?;
    let row = match parser.next() {
        Some(Token::In) => {
            let low = parser.sum()?;
            parser.expect("..")?;
            RowSyntax::Range(first, low, parser.sum()?)
        }
        Some(Token::Sign(sign)) => {
            let mut beside = beside(sign)?;
            let mut rest = Vec::new();
            loop {
                rest.push((beside, parser.sum()?));
                match parser.next() {
                    None => return Ok(RowSyntax::Chain(first, rest)),
                    Some(Token::Sign(sign)) => beside = self::beside(sign)?,
                    Some(other) => return Err(unexpected(other)),
                }
            }
        }
        Some(other) => return Err(unexpected(other)),
        None => return Err(Wrong::new("a row says what must hold", HELP)),
    };
    match parser.next() {
        None => Ok(row),
        Some(other) => Err(unexpected(other)),
    }
}

fn beside(sign: &str) -> Result<Beside, Wrong> {
    Ok(match sign {
        "<" => Beside::Less,
        "<=" => Beside::AtMost,
        ">" => Beside::Greater,
        ">=" => Beside::AtLeast,
        "=" => Beside::Equal,
        other => {
            return Err(Wrong::new(format!("`{other}` stands where `<`, `=`, `>` or `in` belongs"), HELP));
        }
    })
}

fn unexpected(token: &Token) -> Wrong {
    let shown = match token {
        Token::Names(names) => names.join("."),
        Token::Number(_, _, written) => written.clone(),
        Token::Window(..) => "a window".to_owned(),
        Token::Sign(sign) => (*sign).to_owned(),
        Token::In => "in".to_owned(),
    };
    Wrong::new(format!("`{shown}` does not belong there"), HELP)
}

struct Parser<'a> {
    tokens: &'a [Token],
    place: usize,
    depth: u32,
}

impl<'a> Parser<'a> {
    fn next(&mut self) -> Option<&'a Token> {
        let token = self.tokens.get(self.place);
        self.place += 1;
        token
    }

    fn take(&mut self, wanted: &[&'static str]) -> Option<&'static str> {
        match self.tokens.get(self.place) {
            Some(Token::Sign(sign)) if wanted.contains(sign) => {
                self.place += 1;
                Some(sign)
            }
            _ => None,
        }
    }

    fn expect(&mut self, sign: &'static str) -> Result<(), Wrong> {
        match self.take(&[sign]) {
            Some(_) => Ok(()),
            None => Err(Wrong::new(format!("`{sign}` is missing"), HELP)),
        }
    }

    fn sum(&mut self) -> Result<Syntax, Wrong> {
        let mut left = self.product()?;
        while let Some(sign) = self.take(&["+", "-"]) {
            let operator = if sign == "+" { Operator::Plus } else { Operator::Minus };
            left = Syntax::Of(operator, Box::new(left), Box::new(self.product()?));
        }
        Ok(left)
    }

    fn product(&mut self) -> Result<Syntax, Wrong> {
        let mut left = self.factor()?;
        while let Some(sign) = self.take(&["*", "/"]) {
            let operator = if sign == "*" { Operator::Times } else { Operator::Over };
            left = Syntax::Of(operator, Box::new(left), Box::new(self.factor()?));
        }
        Ok(left)
    }

    fn factor(&mut self) -> Result<Syntax, Wrong> {
        match self.next() {
            Some(Token::Number(value, unit, written)) => Ok(Syntax::Number(*value, *unit, written.clone())),
            Some(Token::Names(names)) => {
                let within = match self.tokens.get(self.place) {
                    Some(Token::Window(from, until)) => {
                        self.place += 1;
                        Some((*from, *until))
                    }
                    _ => None,
                };
                Ok(Syntax::Measure { names: names.clone(), within })
            }
            Some(Token::Sign("(")) if self.depth < DEPTH_MAX => {
                self.depth += 1;
                let inner = self.sum()?;
                self.expect(")")?;
                self.depth -= 1;
                Ok(inner)
            }
            Some(other) => Err(unexpected(other)),
            None => Err(Wrong::new("the row ends where a value belongs", HELP)),
        }
    }
}
