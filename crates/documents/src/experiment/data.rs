//! The blocks of the comparison: what the verdicts were made of, and what did not count.

use serde::{Serialize, Serializer};

/// What was measured, block by block.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Data {
    /// The services: `control`, `second control` and the values of the candidates; of a search all values; of mirroring `off` and
    /// `on`.
    pub arms: Vec<String>,
    /// What the values are, in their order.
    pub measures: Vec<Column>,
    /// The blocks in the order of their time, at most [`Data::BLOCKS_MAX`].
    pub blocks: Vec<Block>,
}

impl Data {
    /// The blocks that are kept; those of a longer experiment count and are not listed.
    pub const BLOCKS_MAX: usize = 5_000;

    /// No block so far counts any more.
    pub fn give_up(&mut self, why: &str) {
        for block in &mut self.blocks {
            block.void.get_or_insert_with(|| why.to_owned());
        }
    }

    /// Adds a block, unless there are too many.
    pub fn add(&mut self, block: Block) {
        if self.blocks.len() < Self::BLOCKS_MAX {
            self.blocks.push(block);
        }
    }
}

/// What a value is.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Column {
    /// The route; `all` for all requests.
    pub route: String,
    /// The measure.
    pub measure: &'static str,
    /// The unit: `s`, `share` or `bytes`.
    pub unit: &'static str,
}

/// A block; of a search the part of one value.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Block {
    /// When it ended, from the beginning of the experiment, in seconds.
    #[serde(serialize_with = "short")]
    pub ended: f64,
    /// Why it does not count; `None` if it does.
    pub void: Option<String>,
    /// The services, in the order in which they got load if not at once.
    pub parts: Vec<BlockPart>,
}

/// What was measured of a service in a block.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BlockPart {
    /// The place of the service among those of the data.
    pub arm: usize,
    /// Requests that it should have got.
    pub requests: u64,
    /// The values to six digits; `None` where the block has none.
    #[serde(serialize_with = "short_values")]
    pub values: Vec<Option<f64>>,
}

fn rounded(value: f64) -> f64 {
    format!("{value:.5e}").parse().unwrap_or(value)
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde passes references
fn short<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(rounded(*value))
}

fn short_values<S: Serializer>(values: &[Option<f64>], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(values.iter().map(|value| value.map(rounded)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_six_digits_and_blocks_are_bounded() {
        let part = BlockPart { arm: 1, requests: 9, values: vec![Some(0.012_345_678_9), None, Some(0.0)] };
        let block = Block { ended: 12.345_678_9, void: None, parts: vec![part] };
        let mut data = Data::default();
        for _ in 0..=Data::BLOCKS_MAX {
            data.add(block.clone());
        }
        assert_eq!(data.blocks.len(), Data::BLOCKS_MAX);
        let shown = serde_json::to_string(&data.blocks[0]).unwrap();
        assert_eq!(
            shown,
            r#"{"ended":12.3457,"void":null,"parts":[{"arm":1,"requests":9,"values":[0.0123457,null,0.0]}]}"#
        );
    }

    #[test]
    fn what_is_given_up_keeps_its_first_reason() {
        let block =
            |void: Option<&str>| Block { ended: 1.0, void: void.map(str::to_owned), parts: Vec::new() };
        let mut data = Data { blocks: vec![block(None), block(Some("late"))], ..Data::default() };
        data.give_up("the design has changed");
        let reasons: Vec<_> = data.blocks.iter().map(|block| block.void.as_deref().unwrap()).collect();
        assert_eq!(reasons, ["the design has changed", "late"]);
    }
}
