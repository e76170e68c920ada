//! `serve`: the API by itself, until it is told to stop.

use std::io::{self, Write};

use orchestra_apiserver::{
    Api, Options,
    serve::Server,
    store::{Folder, Redb},
};

use crate::{args::Serve, exit::Exit, ui};

/// Runs the command.
pub(crate) fn run(args: &Serve) -> Exit {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let served = match runtime {
        Ok(runtime) => runtime.block_on(serve(args)),
        Err(error) => Err(format!("failed to start: {error}")),
    };
    match served {
        Ok(()) => Exit::Yes,
        Err(why) => {
            ui::complain(&why);
            Exit::No
        }
    }
}

async fn serve(args: &Serve) -> Result<(), String> {
    let data = args.data_dir()?;
    let folder = Folder::hold(&data).map_err(|error| error.to_string())?;
    let store = Redb::open(folder).map_err(|error| error.to_string())?;
    let server = Server::bind(args.listen, &data).await.map_err(|error| error.to_string())?;
    let api = Api::open(store, Options::default()).await.map_err(|error| error.to_string())?;
    let mut out = io::stdout().lock();
    // A reader that went away does not stop the server.
    let _ = writeln!(out, "Serving the API on https://{}; stop with Ctrl-C.\n", server.address());
    let _ =
        writeln!(out, "    export KUBECONFIG={}\n    kubectl get namespaces", server.kubeconfig().display());
    drop(out);
    let stopping = api.clone();
    let served = server
        .run(api.router(), async move {
            asked_to_stop().await;
            stopping.stop();
        })
        .await;
    served.map_err(|error| error.to_string())
}

/// Resolves when the user or the system wants the program to end.
async fn asked_to_stop() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut terminate) = signal(SignalKind::terminate()) {
            tokio::select! {
                _ = tokio::signal::ctrl_c() => {}
                _ = terminate.recv() => {}
            }
            return;
        }
    }
    let _ = tokio::signal::ctrl_c().await;
}
