//! The Score files that a command is about, read and checked.

use std::path::Path;

use orchestra_api::annotation;
use orchestra_score::{Diagnostic, Document, Report, overrides};

use super::{attach, input};
use crate::{args::Documents, exit::Exit, ui};

/// A file and what is to be said about it.
pub(crate) struct Verdict {
    pub(crate) file: String,
    pub(crate) report: Report,
}

impl Documents {
    /// Reads and checks all files. What was asked for may make no sense at all, which is told at once.
    pub(super) fn verdicts(&self) -> Result<Vec<Verdict>, Exit> {
        let overridden =
            self.overrides_file.is_some() || !self.override_property.is_empty() || self.image.is_some();
        if overridden && let Err(error) = overrides::applicable_to(self.files.len()) {
            ui::complain(&format!("--overrides-file, --override-property and --image: {error}"));
            return Err(Exit::Usage);
        }
        if self.files.iter().chain(&self.overrides_file).filter(|path| path.as_os_str() == "-").count() > 1 {
            ui::complain("standard input can be read only once");
            return Err(Exit::Usage);
        }
        Ok(self.files.iter().map(|path| self.verdict(path)).collect())
    }

    fn verdict(&self, path: &Path) -> Verdict {
        let file = input::name(path);
        let report = match input::read(path) {
            Ok(source) => {
                let mut document = Document::parse(source);
                if let Some(path) = &self.overrides_file {
                    match input::read(path) {
                        Ok(source) => document.merge(source),
                        Err(finding) => document.note(*finding),
                    }
                }
                self.override_property.iter().for_each(|property| document.set_property(property));
                self.image.iter().for_each(|image| document.set_image(image));
                // What only the machine and the platform can tell, beside what the language says.
                let more: Vec<Diagnostic> = document.root().map_or_else(Vec::new, |root| {
                    let mut found = attach::check(root, path, self.allow_outside);
                    found.extend(annotation::unknown(root));
                    found
                });
                for finding in more {
                    document.note(finding);
                }
                document.check()
            }
            Err(finding) => unreadable(*finding),
        };
        Verdict { file, report }
    }
}

fn unreadable(finding: Diagnostic) -> Report {
    Report { sources: Vec::new(), diagnostics: vec![finding], spec_version: None, workload: None }
}
