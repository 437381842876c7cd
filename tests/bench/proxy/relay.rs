use std::io::Write as _;

use tokio::net::{TcpListener, TcpStream};

/// Relays every client to `upstream` until the process is killed, and prints its port.
pub fn run(upstream: &str) {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        println!("{}", listener.local_addr().unwrap().port());
        std::io::stdout().flush().unwrap();
        while let Ok((mut client, _)) = listener.accept().await {
            let mut server = TcpStream::connect(upstream).await.unwrap();
            client.set_nodelay(true).unwrap();
            server.set_nodelay(true).unwrap();
            tokio::spawn(async move {
                let size = 64 << 10;
                tokio::io::copy_bidirectional_with_sizes(&mut client, &mut server, size, size).await
            });
        }
    });
}
