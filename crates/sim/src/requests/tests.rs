mod check;
mod clients;
mod closed_forms;
mod instances;
mod laws;
mod limits;
mod world;
mod zones;
