//! The arguments of `orchestra provisioners`.

use std::path::PathBuf;

use clap::{Subcommand, ValueHint};

use super::{Format, Target};

#[derive(Debug, Subcommand)]
pub(crate) enum Provisioners {
    /// List who provides what: type, class, id, engine, and where that is said
    ///
    /// What the platform's document says comes first, then what is built in. For entries of the
    /// engine `template`, the provisioner file is named that is in force. Files that cannot be used
    /// are told, with what is wrong with them.
    ///
    ///   orchestra provisioners list
    ///   orchestra provisioners list --builtin          what is in this program; no platform is asked
    #[command(verbatim_doc_comment)]
    List {
        /// Only what is inside this program; no platform is asked
        #[arg(long)]
        builtin: bool,

        #[command(flatten)]
        target: Target,

        /// How to print them
        #[arg(short, long, value_enum, default_value_t)]
        output: Format,
    },
    /// Print the provisioner file that provides a type, or that has an entry
    ///
    /// What is printed is a provisioner file of Score, to be changed and given to the platform:
    ///
    ///   orchestra provisioners show postgres --builtin > my.provisioners.yaml
    ///   orchestra provisioners test my.provisioners.yaml
    ///   kubectl -n score-system create configmap my-provisioners --from-file my.provisioners.yaml
    ///   kubectl -n score-system label configmap my-provisioners score.dev/provisioners=true
    #[command(verbatim_doc_comment)]
    Show {
        /// A type such as postgres, or the URI of an entry such as `template://orchestra/postgres`
        #[arg(value_name = "TYPE|URI")]
        name: String,

        /// Only what is inside this program; no platform is asked
        #[arg(long)]
        builtin: bool,

        #[command(flatten)]
        target: Target,
    },
    /// Render the entries of a provisioner file for a made-up workload, and show what they give
    ///
    /// Secret outputs and the contents of secrets are masked. Nothing is sent anywhere. Ends with 1
    /// if an entry cannot be read or rendered, or makes what it may not.
    ///
    ///   orchestra provisioners test my.provisioners.yaml
    ///   orchestra provisioners test my.provisioners.yaml --type postgres --param version=16
    #[command(verbatim_doc_comment)]
    Test(Test),
}

#[derive(Debug, clap::Args)]
pub(crate) struct Test {
    /// The provisioner file; `-` is standard input
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,

    /// Only entries for this type
    #[arg(long = "type", value_name = "TYPE")]
    pub(crate) type_: Option<String>,

    /// The class of the made-up resource [default: that of the entry]
    #[arg(long, value_name = "CLASS")]
    pub(crate) class: Option<String>,

    /// The id of the made-up resource [default: that of the entry]
    #[arg(long, value_name = "ID")]
    pub(crate) id: Option<String>,

    /// A parameter of the resource, such as version=16; the value is JSON if it can be, else text
    #[arg(long = "param", value_name = "KEY=VALUE")]
    pub(crate) params: Vec<String>,

    /// A setting of the platform's document for the entry, such as registry=mirror.example.org
    #[arg(long = "setting", value_name = "KEY=VALUE")]
    pub(crate) settings: Vec<String>,

    /// How to print what it gives
    #[arg(short, long, value_enum, default_value_t)]
    pub(crate) output: Format,
}
