//! Arguments of `orchestra provisioners`.

use std::path::PathBuf;

use clap::{Subcommand, ValueHint};

use super::{Format, Target};

#[derive(Debug, Subcommand)]
pub(crate) enum Provisioners {
    /// List provisioners
    ///
    /// Entries of the orchestrator config come first, then the built-in ones. Entries of the engine
    /// `template` show the provisioner file in use. Invalid files are reported with their errors.
    ///
    ///   orchestra provisioners list
    ///   orchestra provisioners list --builtin          only built-in ones, without a platform
    #[command(verbatim_doc_comment)]
    List {
        /// Only built-in provisioners; needs no platform
        #[arg(long)]
        builtin: bool,

        #[command(flatten)]
        target: Target,

        /// Output format
        #[arg(short, long, value_enum, default_value_t)]
        output: Format,
    },
    /// Print the provisioner file of a type or URI
    ///
    /// Customize a built-in provisioner:
    ///
    ///   orchestra provisioners show postgres --builtin > my.provisioners.yaml
    ///   orchestra provisioners test my.provisioners.yaml
    ///   kubectl -n score-system create configmap my-provisioners --from-file my.provisioners.yaml
    ///   kubectl -n score-system label configmap my-provisioners score.dev/provisioners=true
    #[command(verbatim_doc_comment)]
    Show {
        /// Type such as postgres, or URI such as `template://orchestra/postgres`
        #[arg(value_name = "TYPE|URI")]
        name: String,

        /// Only built-in provisioners; needs no platform
        #[arg(long)]
        builtin: bool,

        #[command(flatten)]
        target: Target,
    },
    /// Render the entries of a provisioner file for an example workload
    ///
    /// Prints outputs and manifests, with secrets masked. Nothing is sent to a platform. Exits with 1
    /// if an entry is invalid, cannot be rendered, or creates a forbidden object.
    ///
    ///   orchestra provisioners test my.provisioners.yaml
    ///   orchestra provisioners test my.provisioners.yaml --type postgres --param version=16
    #[command(verbatim_doc_comment)]
    Test(Test),
}

#[derive(Debug, clap::Args)]
pub(crate) struct Test {
    /// Provisioner file; `-` is standard input
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,

    /// Only entries of this type
    #[arg(long = "type", value_name = "TYPE")]
    pub(crate) type_: Option<String>,

    /// Class of the example resource [default: that of the entry]
    #[arg(long, value_name = "CLASS")]
    pub(crate) class: Option<String>,

    /// Id of the example resource [default: that of the entry]
    #[arg(long, value_name = "ID")]
    pub(crate) id: Option<String>,

    /// Parameter of the resource, such as version=16; the value is JSON or text
    #[arg(long = "param", value_name = "KEY=VALUE")]
    pub(crate) params: Vec<String>,

    /// Parameter of the provisioner in the orchestrator config, such as registry=mirror.example.org
    #[arg(long = "setting", value_name = "KEY=VALUE")]
    pub(crate) settings: Vec<String>,

    /// Output format
    #[arg(short, long, value_enum, default_value_t)]
    pub(crate) output: Format,
}
