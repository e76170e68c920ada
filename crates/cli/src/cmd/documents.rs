//! Score files of a command: read, overridden and checked.

use std::path::Path;

use orchestra_api::annotation;
use orchestra_score::{Diagnostic, Document, Report, overrides};

use super::{attach, input};
use crate::{args::Documents, error::CliError};

/// A file with its diagnostics.
pub(crate) struct CheckedFile {
    pub(crate) file: String,
    pub(crate) report: Report,
}

impl Documents {
    /// Reads and checks all files. Invalid combinations of options are errors.
    pub(super) fn check(&self) -> Result<Vec<CheckedFile>, CliError> {
        let is_overridden =
            self.overrides_file.is_some() || !self.override_property.is_empty() || self.image.is_some();
        if is_overridden {
            overrides::applicable_to(self.files.len())?;
        }
        if self.files.iter().chain(&self.overrides_file).filter(|path| path.as_os_str() == "-").count() > 1 {
            return Err(CliError::StdinTwice);
        }
        Ok(self.files.iter().map(|path| self.check_file(path)).collect())
    }

    fn check_file(&self, path: &Path) -> CheckedFile {
        let file = input::name(path);
        let report = match input::read(path) {
            Ok(source) => {
                let mut document = Document::parse(source);
                if let Some(path) = &self.overrides_file {
                    match input::read(path) {
                        Ok(source) => document.merge(source),
                        Err(mut diagnostic) => {
                            diagnostic.message = format!("overrides file: {}", diagnostic.message);
                            document.note(*diagnostic);
                        }
                    }
                }
                self.override_property.iter().for_each(|property| document.set_property(property));
                self.image.iter().for_each(|image| document.set_image(image));
                // Checks beyond the language: files of this machine, and annotations of the orchestrator.
                let more: Vec<Diagnostic> = document.root().map_or_else(Vec::new, |root| {
                    let mut found = attach::check(root, path, self.allow_outside);
                    found.extend(annotation::unknown(root));
                    found
                });
                for diagnostic in more {
                    document.note(diagnostic);
                }
                document.check()
            }
            Err(diagnostic) => unreadable(*diagnostic),
        };
        CheckedFile { file, report }
    }
}

fn unreadable(diagnostic: Diagnostic) -> Report {
    Report { sources: Vec::new(), diagnostics: vec![diagnostic], spec_version: None, workload: None }
}
