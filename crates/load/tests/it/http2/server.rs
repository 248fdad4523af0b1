//! The `h2` crate's server, on a runtime of its own.

use crate::servers::Gauge;
use h2::server::SendResponse;
use h2::{Reason, RecvStream};
use http_types::{Request, Response};
use std::io::Cursor;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};

type Body = Cursor<Vec<u8>>;

/// How a server responds: `/wait/MS` after a while, `/size/BYTES` with a body, `/never` not at all, `/reset` with a
/// reset, `/refused-once` when an arrival comes again.
#[derive(Clone, Default)]
pub struct Service {
    /// Requests in progress.
    pub gauge: Arc<Gauge>,
    pub streams_max: Option<u32>,
    /// After how many requests of a connection it sends GOAWAY.
    pub goodbye_after: Option<usize>,
    /// The numbers of the arrivals.
    pub numbers: Arc<Mutex<Vec<u64>>>,
}

/// Serves as long as the test lives.
pub fn serve(service: Service) -> SocketAddr {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    listener.set_nonblocking(true).unwrap();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async move {
            let listener = TcpListener::from_std(listener).unwrap();
            while let Ok((socket, _)) = listener.accept().await {
                socket.set_nodelay(true).unwrap();
                tokio::spawn(connection(socket, service.clone()));
            }
        });
    });
    address
}

async fn connection(socket: TcpStream, service: Service) -> Result<(), h2::Error> {
    let mut builder = h2::server::Builder::new();
    if let Some(most) = service.streams_max {
        builder.max_concurrent_streams(most);
    }
    let mut connection = builder.handshake::<_, Body>(socket).await?;
    let mut count = 0;
    while let Some(accepted) = connection.accept().await {
        let (request, respond) = accepted?;
        count += 1;
        if service.goodbye_after == Some(count) {
            connection.graceful_shutdown();
        }
        tokio::spawn(answer(request, respond, service.clone()));
    }
    Ok(())
}

/// Decrements the gauge when the request is over, however it ends.
struct AtWork(Arc<Gauge>);

impl Drop for AtWork {
    fn drop(&mut self) {
        self.0.leave();
    }
}

async fn answer(
    request: Request<RecvStream>,
    mut respond: SendResponse<Body>,
    service: Service,
) -> Result<(), h2::Error> {
    service.gauge.enter();
    let at_work = AtWork(Arc::clone(&service.gauge));
    let mut is_again = false;
    if let Some(number) = request.headers().get("x-arrival") {
        let number = number.to_str().unwrap().parse().unwrap();
        let mut numbers = service.numbers.lock().unwrap();
        is_again = numbers.contains(&number);
        numbers.push(number);
    }
    let path = request.uri().path().to_owned();
    let stated =
        request.headers().get("content-length").map(|length| length.to_str().unwrap().parse::<usize>());
    let mut body = request.into_body();
    let mut received = 0;
    while let Some(data) = body.data().await {
        let data = data?;
        received += data.len();
        body.flow_control().release_capacity(data.len())?;
    }
    let number = |prefix: &str| path.strip_prefix(prefix).and_then(|rest| rest.parse::<usize>().ok());
    let status = if stated.is_none_or(|stated| stated == Ok(received)) { 200 } else { 500 };
    match path.as_str() {
        "/never" => {
            std::future::poll_fn(|context| respond.poll_reset(context)).await?;
            return Ok(());
        }
        "/reset" => {
            respond.send_reset(Reason::INTERNAL_ERROR);
            return Ok(());
        }
        "/refused-once" if !is_again => {
            respond.send_reset(Reason::REFUSED_STREAM);
            return Ok(());
        }
        _ => {}
    }
    if let Some(millis) = number("/wait/") {
        tokio::time::sleep(Duration::from_millis(millis as u64)).await;
    }
    let size = number("/size/").unwrap_or(2);
    // The response may arrive before this continues.
    drop(at_work);
    let head = Response::builder().status(status).header("set-cookie", "a=b").body(()).unwrap();
    respond.send_response(head, false)?.send_data(Cursor::new(vec![b'x'; size]), true)
}
