//! Arguments of the command line. The texts here are the help, the completions and the reference.

mod cluster;
mod machine;
#[cfg(feature = "template")]
mod provisioners;
mod user;

use std::{path::PathBuf, time::Duration};

use clap::{Parser, Subcommand, ValueEnum, ValueHint};
use clap_complete::Shell;

pub(crate) use cluster::{Cluster, Doctor, Install, Uninstall};
#[cfg(feature = "embedded")]
pub(crate) use machine::{AuditDestination, AuditScope};
pub(crate) use machine::{Down, LogFormat, LogLevel, NoHome, Serve, Up, data_dir, default_data_dir};
#[cfg(feature = "template")]
pub(crate) use provisioners::{Provisioners, Test as TestProvisioners};
pub(crate) use user::{AddUser, ListUsers, RemoveUser, User, UserToken};

/// Run Score workloads anywhere.
///
/// The platform validates a Score file, provisions its dependencies, selects a runtime and runs the workload there.
#[derive(Debug, Parser)]
#[command(name = "orchestra", version, propagate_version = false)]
#[command(
    after_help = "Examples:\n  orchestra init                       write a sample Score file\n  orchestra validate                   check ./score.yaml\n  orchestra up                         run ./score.yaml on this machine\n  orchestra apply --wait               deploy ./score.yaml, and wait until it is ready\n  orchestra explain web                show why a workload is not ready\n\nExit codes: 0 success, 1 failure or invalid input, 2 invalid usage, 3 the platform is unreachable."
)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Validate(Validate),
    Init(Init),
    Up(Up),
    Down(Down),
    Serve(Serve),
    Apply(Apply),
    Plan(Plan),
    Get(Get),
    Describe(Describe),
    Explain(Explain),
    Logs(Logs),
    Outputs(Outputs),
    Wait(Wait),
    Delete(Delete),
    Install(Install),
    Uninstall(Uninstall),
    Doctor(Doctor),
    /// Add, list and remove users of the platform on this machine
    #[command(subcommand)]
    User(User),
    /// Check the orchestrator config
    #[command(subcommand)]
    Config(Config),
    /// List, show and test provisioners
    #[cfg(feature = "template")]
    #[command(subcommand)]
    Provisioners(Provisioners),
    /// Print the custom resource definitions
    ///
    ///   orchestra crd | kubectl apply --server-side -f -
    #[command(verbatim_doc_comment)]
    Crd,
    /// Print the JSON Schema of Score files
    ///
    /// For editors with the YAML language server, refer to it in the first line of a Score file:
    ///
    ///   orchestra schema > .score.schema.json
    ///
    ///   # yaml-language-server: $schema=.score.schema.json
    #[command(verbatim_doc_comment)]
    Schema,
    /// Print the version, the build and the Score specification of this program
    ///
    ///   orchestra version -o json | jq -r .version
    #[command(verbatim_doc_comment)]
    Version {
        /// Output format
        #[arg(short, long, value_enum, default_value_t)]
        output: Output,
    },
    /// Sample web server
    ///
    /// Listens on port $PORT of this machine, and greets with $GREETING.
    ///
    ///   PORT=8000 GREETING=Hello orchestra sample-server
    #[command(hide = true, verbatim_doc_comment)]
    SampleServer,
    /// Print a shell completion script
    ///
    ///   bash:        source <(orchestra completion bash)
    ///   zsh:         orchestra completion zsh > "${fpath[1]}/_orchestra"
    ///   fish:        orchestra completion fish > ~/.config/fish/completions/orchestra.fish
    ///   powershell:  orchestra completion powershell | Out-String | Invoke-Expression
    #[command(verbatim_doc_comment)]
    Completion {
        /// Shell
        shell: Shell,
    },
}

/// Validate Score files, and report all errors at once
///
/// Files are validated against the Score specification (score.dev/v1b1 at 0.4.1),
/// and for what a schema cannot check: undefined resources in placeholders,
/// dependency cycles, duplicate ports, missing files and unknown annotations.
///
///   orchestra validate                             check ./score.yaml
///   orchestra validate a.yaml b.yaml               check several files
///   cat score.yaml | orchestra validate -          check standard input
///   orchestra validate -o json | jq '.files[].errors'
///   orchestra validate --override-property containers.main.image=nginx
///
/// Every error code has a page under docs/errors/.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
#[command(
    after_help = "Exit codes: 0 all files are valid, 1 a file is invalid or unreadable, 2 invalid usage."
)]
pub(crate) struct Validate {
    #[command(flatten)]
    pub(crate) documents: Documents,

    /// Score file, as with kubectl
    #[arg(short, long, hide = true, value_name = "FILE", conflicts_with = "files")]
    pub(crate) file: Vec<PathBuf>,

    /// Summarize valid files: containers in start order, ports, dependencies (not with -o json)
    #[arg(long)]
    pub(crate) explain: bool,

    /// Output format
    #[arg(short, long, value_enum, default_value_t)]
    pub(crate) output: Output,
}

/// Score files and overrides.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Documents {
    /// Score files, YAML or JSON; `-` is standard input
    #[arg(value_name = "FILE", default_value = "score.yaml", value_hint = ValueHint::FilePath)]
    pub(crate) files: Vec<PathBuf>,

    /// YAML file that overrides values of the Score file; maps are merged, other values replaced
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) overrides_file: Option<PathBuf>,

    /// Set a value, such as containers.main.image=nginx; the value is YAML, an empty one removes the key
    ///
    /// Write \. for a dot in a key, and a number for a list index (-1 appends). Can be repeated:
    ///
    ///   --override-property 'containers.main.variables.DEBUG="true"'
    ///   --override-property 'metadata.annotations.score\.dev/profile=batch-job'
    ///   --override-property containers.main.args.-1=--verbose
    ///   --override-property service.ports.admin=
    #[arg(long, value_name = "PATH=VALUE", verbatim_doc_comment)]
    pub(crate) override_property: Vec<String>,

    /// Image of the containers whose image is `.`
    #[arg(short, long, value_name = "IMAGE")]
    pub(crate) image: Option<String>,

    /// Allow `source` files outside the folder of the Score file
    #[arg(long)]
    pub(crate) allow_outside: bool,
}

/// Write a commented sample Score file
///
///   orchestra init && orchestra validate --explain
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Init {
    /// File to write
    #[arg(value_name = "FILE", default_value = "score.yaml", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,

    /// Overwrite the file if it exists
    #[arg(long)]
    pub(crate) force: bool,
}

/// Platform and namespace of a command.
#[derive(Debug, clap::Args)]
pub(crate) struct Target {
    /// Namespace [default: that of the kubeconfig]
    #[arg(short, long, value_name = "NAME")]
    pub(crate) namespace: Option<String>,

    /// Kubeconfig of the platform [default: $KUBECONFIG, the platform on this machine, or ~/.kube/config]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) kubeconfig: Option<PathBuf>,

    /// Context of the kubeconfig
    #[arg(long, value_name = "NAME")]
    pub(crate) context: Option<String>,

    /// Address of the orchestrator's server, which answers plan, explain, describe and logs [default: the published one]
    #[arg(long, value_name = "URL", env = "ORCHESTRA_SERVER", value_parser = cluster::https)]
    pub(crate) server: Option<String>,

    /// Bearer token [default: credentials of the kubeconfig]
    #[arg(long, value_name = "TOKEN", env = "ORCHESTRA_TOKEN", hide_env_values = true)]
    pub(crate) token: Option<String>,
}

/// Deploy workloads from Score files
///
/// All files are validated first; nothing is sent if one of them is invalid. Files that
/// containers name with `source` are read from the folder of the Score file and sent along.
/// A workload that `orchestra down` has suspended is resumed.
///
///   orchestra apply                                deploy ./score.yaml
///   orchestra apply --wait                         and wait until it is ready
///   orchestra apply -n shop web.yaml worker.yaml
///   orchestra apply --image registry.example.org/web:7
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Apply {
    #[command(flatten)]
    pub(crate) documents: Documents,

    #[command(flatten)]
    pub(crate) target: Target,

    /// Wait until the workloads are ready
    #[arg(long)]
    pub(crate) wait: bool,

    /// Timeout, such as 90s or 5m
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = duration)]
    pub(crate) timeout: Duration,

    /// Take over fields that another field manager owns
    #[arg(long)]
    pub(crate) force_conflicts: bool,

    /// Output format
    #[arg(short, long, value_enum, default_value_t)]
    pub(crate) output: Format,
}

/// Show what apply would change
///
/// The platform takes the same decision as for apply, without executing it, and shows every
/// difference to the current state and the resulting status.
///
///   orchestra plan score.yaml
///   orchestra plan web.yaml worker.yaml -o json    print a list, with the name of each workload
///   orchestra plan --delete web
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
#[command(
    after_help = "Exit codes: 0 apply would succeed, 1 the workload is invalid or a policy forbids it, 2 invalid usage, 3 the platform is unreachable."
)]
pub(crate) struct Plan {
    #[command(flatten)]
    pub(crate) documents: Documents,

    #[command(flatten)]
    pub(crate) target: Target,

    /// Show what deleting this workload would change instead
    #[arg(long, value_name = "WORKLOAD", conflicts_with_all = ["files", "overrides_file", "override_property", "image"])]
    pub(crate) delete: Option<String>,

    /// Output format
    #[arg(short, long, value_enum, default_value_t)]
    pub(crate) output: Format,
}

/// List workloads, or show one
///
///   orchestra get                                  list the workloads of the namespace
///   orchestra get -A                               list the workloads of all namespaces
///   orchestra get web -o yaml                      show one, with its status
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Get {
    /// Workloads [default: all of the namespace]
    #[arg(value_name = "WORKLOAD", value_parser = name)]
    pub(crate) names: Vec<String>,

    #[command(flatten)]
    pub(crate) target: Target,

    /// All namespaces
    #[arg(short = 'A', long, conflicts_with_all = ["namespace", "names"])]
    pub(crate) all_namespaces: bool,

    /// Output format
    #[arg(short, long, value_enum, default_value_t)]
    pub(crate) output: Format,
}

/// Show the status of a workload: conditions, dependencies and events
///
///   orchestra describe -n shop web
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Describe {
    /// Workload
    #[arg(value_name = "WORKLOAD", value_parser = name)]
    pub(crate) name: String,

    #[command(flatten)]
    pub(crate) target: Target,
}

/// Show why a workload is not ready, and how to fix it
///
/// Shows the causes of each condition: errors in the Score file, policies that deny or set
/// values, the placement with its reasons, and pending dependencies.
///
///   orchestra explain web
///   orchestra explain web -o json | jq .next
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Explain {
    /// Workload
    #[arg(value_name = "WORKLOAD", value_parser = name)]
    pub(crate) name: String,

    #[command(flatten)]
    pub(crate) target: Target,

    /// Output format
    #[arg(short, long, value_enum, default_value_t)]
    pub(crate) output: Format,
}

/// Show the logs of a workload
///
///   orchestra logs web
///   orchestra logs web -f --since 10m              from 10 minutes ago, and follow
///   orchestra logs web --container worker --tail 20
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Logs {
    /// Workload
    #[arg(value_name = "WORKLOAD", value_parser = name)]
    pub(crate) name: String,

    #[command(flatten)]
    pub(crate) target: Target,

    /// Follow the logs
    #[arg(short, long)]
    pub(crate) follow: bool,

    /// Only this container
    #[arg(short, long, value_name = "CONTAINER", value_parser = name)]
    pub(crate) container: Option<String>,

    /// Only logs newer than this, such as 90s or 5m
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) since: Option<Duration>,

    /// Number of lines from the end
    #[arg(long, value_name = "LINES")]
    pub(crate) tail: Option<usize>,

    /// Show timestamps
    #[arg(long)]
    pub(crate) timestamps: bool,
}

/// Show the outputs of the dependencies of a workload, secrets included
///
/// Requires permission to read claims and secrets. You have it on your own machine; users of a
/// cluster usually do not.
///
///   orchestra outputs visits                       all outputs of all resources
///   orchestra outputs visits db                    all outputs of one resource
///   psql "$(orchestra outputs visits db uri)"      the value of one output
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Outputs {
    /// Workload
    #[arg(value_name = "WORKLOAD", value_parser = name)]
    pub(crate) name: String,

    /// Key of the resource [default: all]
    #[arg(value_name = "RESOURCE", value_parser = name)]
    pub(crate) resource: Option<String>,

    /// Output [default: all]
    #[arg(value_name = "OUTPUT")]
    pub(crate) output: Option<String>,

    #[command(flatten)]
    pub(crate) target: Target,
}

/// Wait until workloads are ready or deleted
///
///   orchestra wait web                             wait until it is ready
///   orchestra wait web --for deleted --timeout 30s
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
#[command(
    after_help = "Exit codes: 0 reached, 1 failed or timed out, 2 invalid usage, 3 the platform is unreachable."
)]
pub(crate) struct Wait {
    /// Workloads
    #[arg(value_name = "WORKLOAD", required = true, value_parser = name)]
    pub(crate) names: Vec<String>,

    #[command(flatten)]
    pub(crate) target: Target,

    /// Goal to wait for
    #[arg(long = "for", value_enum, default_value_t)]
    pub(crate) goal: Goal,

    /// Timeout, such as 90s or 5m
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = duration)]
    pub(crate) timeout: Duration,
}

/// Goal of a wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Goal {
    /// The last applied version is ready
    #[default]
    Ready,
    /// The workload and its dependencies are deleted
    Deleted,
}

/// Delete workloads and their dependencies
///
/// Dependencies with a retain policy are kept. Preview with `orchestra plan --delete`.
///
///   orchestra plan --delete web && orchestra delete web
///   orchestra delete -n shop web worker
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Delete {
    /// Workloads
    #[arg(value_name = "WORKLOAD", required = true, value_parser = name)]
    pub(crate) names: Vec<String>,

    #[command(flatten)]
    pub(crate) target: Target,

    /// Do not wait until they are deleted
    #[arg(long)]
    pub(crate) no_wait: bool,

    /// Timeout, such as 90s or 5m
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = duration)]
    pub(crate) timeout: Duration,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Config {
    /// Check an orchestrator config, and report all errors at once
    ///
    /// Runtimes and engines that are not part of this program are warnings: external controllers
    /// may implement them.
    ///
    ///   orchestra config check platform.yaml
    ///   orchestra config check platform.yaml -o json | jq '.faults'
    #[command(verbatim_doc_comment)]
    Check {
        /// Orchestrator config; `-` is standard input
        #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
        file: PathBuf,

        /// Output format
        #[arg(short, long, value_enum, default_value_t)]
        output: Output,
    },
}

/// Parses the name of a workload.
fn name(text: &str) -> Result<String, String> {
    let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '.';
    if text.is_empty() || !text.chars().all(is_name) {
        return Err("expected lowercase letters, digits and dashes".to_owned());
    }
    Ok(text.to_owned())
}

/// Parses a duration such as `90s`, `5m` or `1h`.
fn duration(text: &str) -> Result<Duration, String> {
    let unit_at = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(unit_at);
    let seconds = match unit {
        "" | "s" => 1,
        "m" => 60,
        "h" => 3600,
        _ => return Err("expected a number with s, m or h, such as 90s".to_owned()),
    };
    let number: u64 =
        number.parse().map_err(|_| "expected a number with s, m or h, such as 90s".to_owned())?;
    number.checked_mul(seconds).map(Duration::from_secs).ok_or_else(|| "duration too long".to_owned())
}

/// Output format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Output {
    /// Text
    #[default]
    Human,
    /// JSON
    Json,
}

/// Output format of objects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Text
    #[default]
    Human,
    /// JSON
    Json,
    /// YAML
    Yaml,
}
