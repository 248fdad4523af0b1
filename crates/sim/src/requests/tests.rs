mod check;
mod clients;
mod closed_forms;
mod instances;
mod laws;
mod world;
