use std::io::ErrorKind;
use std::pin::pin;
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use mitmcraft::proxy::{
    Listener, LogFault, LogHandle, LogOptions, LogWriter, NamedSink, Proxy, ProxyOptions, Resolver,
    ServerConnection, Stop, UpstreamName, caught,
};
use mitmcraft_engine::link::Upstream;

use super::exit::Done;
use super::mistakes::is_file;
use super::notice::entries;
use super::output::Output;
use super::services::{Services, Shared, StartedServices};
use super::signals::{self, Ending};

/// A run of the proxy whose addresses are bound and whose captures are created.
pub(crate) struct Run {
    pub(crate) listener: Listener,
    pub(crate) options: ProxyOptions,
    pub(crate) log: LogOptions,
    pub(crate) sinks: Vec<NamedSink>,
    pub(crate) services: Services,
    /// Ends the run.
    pub(crate) stop: Stop,
    /// How long players may go on after SIGTERM; `None` if they may not.
    pub(crate) drain: Option<Duration>,
}

impl Run {
    /// Starts the log, and announces what is served from then on.
    pub(crate) fn begin(self, output: &Output) -> anyhow::Result<Running> {
        let Self { listener, options, log, sinks, services, stop, drain } = self;
        let address = listener.local_addr().context("cannot listen")?;
        let towards = towards(&options);
        let notices = options.notices.clone();
        let (log, writer) = LogWriter::start(sinks, log).context("cannot start the log")?;
        let proxy = Proxy::new(listener, options, log.clone());
        let (stopping, output) = (stop.clone(), *output);
        signals::watch(|| on_signals(signals::end(), stopping, drain, output))
            .context("cannot wait for signals")?;
        output.note(&format!("listening on {address}, forwarding to {towards}"));
        services.announcements().for_each(|announcement| output.note(announcement));
        let services = services.start(&Shared {
            log: log.clone(),
            clock: proxy.clock(),
            numbers: proxy.numbers(),
            notices,
            stop: stop.clone(),
        });
        Ok(Running { proxy, services, log, writer, stop })
    }
}

/// Describes where clients are connected to.
fn towards(options: &ProxyOptions) -> String {
    match (options.transparent, &options.upstream) {
        (false, Some(upstream)) => upstream.to_string(),
        (true, Some(upstream)) => format!("the original destination of each client, or {upstream}"),
        (_, None) => "the original destination of each client".to_owned(),
    }
}

/// A run that has begun.
pub(crate) struct Running {
    proxy: Proxy,
    services: StartedServices,
    log: LogHandle,
    writer: LogWriter,
    stop: Stop,
}

impl Running {
    /// Serves until the user, a fault of the log, a service, or [`Run::stop`] stops the run; then
    /// completes the log.
    pub(crate) async fn serve(self, output: &Output) -> anyhow::Result<Done> {
        let Self { proxy, services, log, writer, stop } = self;
        let running = async { tokio::join!(proxy.run(&stop), services.run(&stop)).1 };
        let (served, recorded) = logged(running, &stop, log, writer, output).await?;
        served.map(|()| recorded)
    }
}

/// Runs what a verb does over the network.
pub(crate) fn block_on<T>(work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    tokio::runtime::Runtime::new()?.block_on(work)
}

/// Returns the address of a server that a user has named, which must exist.
pub(crate) async fn look_up(name: &UpstreamName) -> anyhow::Result<Upstream> {
    let resolver = Resolver::default();
    let server = resolver.resolve(name).await;
    resolver.check(&server).await.map_err(|error| with_record(error.into(), name, &server))?;
    Ok(server)
}

/// Adds to an error about a server what a user has named instead, or where its host comes from.
pub(crate) fn with_record(
    error: anyhow::Error,
    name: &UpstreamName,
    server: &Upstream,
) -> anyhow::Error {
    if is_file(&name.host) {
        return anyhow!("`{}` is a file; expected the name of a server", name.host);
    }
    match server.host == name.host {
        true => error,
        false => {
            error.context(format!("the SRV record of `{}` names `{}`", name.host, server.host))
        }
    }
}

/// Connects to a server.
pub(crate) async fn connect(server: &Upstream) -> anyhow::Result<ServerConnection> {
    let connection = ServerConnection::open(server).await;
    connection.map_err(|fault| anyhow!("cannot reach {server}: {fault}"))
}

/// Runs `running` to its end, which a fault of the log brings about through `stop`; then completes the
/// log. A panic is an error once the log is complete. Returns [`Done::No`] too if captures lack entries
/// because they could not be written.
pub(crate) async fn logged<T>(
    running: impl Future<Output = T>,
    stop: &Stop,
    mut log: LogHandle,
    writer: LogWriter,
    output: &Output,
) -> anyhow::Result<(T, Done)> {
    let (view, stopping) = (log.view(), stop.clone());
    let releasing = view.clone();
    tokio::spawn(async move {
        stopping.stopped().await;
        releasing.release();
    });
    let result = {
        let mut running = pin!(caught(running));
        tokio::select! {
            result = &mut running => result,
            fault = log.fault() => {
                stop.stop(fault);
                running.await
            }
        }
    };
    let left_out = log.left_out();
    drop(log);
    let faults = tokio::task::spawn_blocking(|| writer.finish()).await?;
    if left_out > 0 {
        let missing = entries(left_out);
        output.warning(&format!("{missing} missing from screen and captures: they were too slow"));
    }
    if let Some(fault) = faults.first() {
        return Err(log_error(fault));
    }
    let result = result.ok_or_else(|| anyhow!("the run has ended because of the panic above"))?;
    Ok((result, if view.has_failed() { Done::No } else { Done::Yes }))
}

/// Stops the run at the first signal to end from now on, and exits at the second. Call it before the run
/// says that it has begun: until then a signal ends the program without completing anything.
pub(crate) fn stop_on_signals(stop: &Stop, output: &Output) -> anyhow::Result<()> {
    let (stop, output) = (stop.clone(), *output);
    signals::watch(|| on_signals(signals::end(), stop, None, output))
        .context("cannot wait for signals")
}

async fn on_signals(
    first: impl Future<Output = Ending>,
    stop: Stop,
    drain: Option<Duration>,
    output: Output,
) {
    let ending = first.await;
    if let (Ending::Terminated, Some(limit)) = (ending, drain) {
        let seconds = limit.as_secs_f64();
        let mut second = std::pin::pin!(signals::end_at_once());
        stop.drain();
        output.note(&format!(
            "draining: no new players; those that are here may go on for {seconds} s (another signal \
             ends the run)"
        ));
        tokio::select! {
            () = stop.stopped() => {
                // The captures are being completed, which may take long.
                second.await;
                std::process::exit(130);
            }
            () = tokio::time::sleep(limit) => {}
            () = &mut second => {}
        }
    }
    let last = signals::end_at_once();
    output.note("stopping: closing sessions and completing captures (Ctrl-C again ends at once)");
    stop.stop("stopped by the user");
    last.await;
    std::process::exit(130);
}

fn log_error(fault: &LogFault) -> anyhow::Error {
    if fault.is_broken_pipe() {
        return std::io::Error::from(ErrorKind::BrokenPipe).into();
    }
    anyhow!(
        "{fault}: entries written so far are kept; free space, or write somewhere else, then start again"
    )
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use mitmcraft_engine::capture::{Entry, Sink};

    use super::*;
    use crate::cli::output::{Color, LogFormat};

    /// A sink that notes whether it was completed.
    struct Noting(Arc<Mutex<bool>>);

    impl Sink for Noting {
        fn write(&mut self, _: &Entry) -> std::io::Result<()> {
            Ok(())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }

        fn finish(&mut self) -> std::io::Result<()> {
            *self.0.lock().unwrap() = true;
            Ok(())
        }
    }

    #[test]
    fn a_signal_is_heard_while_all_threads_of_the_runtime_are_busy() {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
        let stop = Stop::new();
        let (busy, stopping) = (stop.clone(), stop.clone());
        let busy = runtime.spawn(async move {
            while !busy.is_stopped() {
                std::thread::yield_now();
            }
        });
        let output = Output::new(Color::Never, LogFormat::Text);
        let _entered = runtime.enter();
        signals::watch(|| on_signals(async { Ending::Other }, stopping, None, output)).unwrap();
        runtime.block_on(busy).unwrap();
    }

    #[tokio::test]
    async fn a_run_that_panics_is_an_error_and_its_log_is_completed() {
        let completed = Arc::new(Mutex::new(false));
        let sink: NamedSink = ("a".to_owned(), Box::new(Noting(Arc::clone(&completed))));
        let (log, writer) = LogWriter::start(vec![sink], LogOptions::default()).unwrap();
        let running = async { panic!("a fault of the program") };
        let output = Output::new(Color::Never, LogFormat::Text);
        let ended: anyhow::Result<((), Done)> =
            logged(running, &Stop::new(), log, writer, &output).await;
        assert!(ended.unwrap_err().to_string().contains("panic"));
        assert!(*completed.lock().unwrap());
    }
}
