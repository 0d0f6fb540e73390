//! A server that answers as it is told.

use std::io::{Result, Write as _};
use std::net::TcpListener;

use redis::{Parser, Value};

/// Starts one: its URL. `answer` gets a command's words, with a space between them.
pub(crate) fn server(answer: fn(&str) -> String) -> Result<String> {
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    let url = format!("redis://{}", listener.local_addr()?);
    std::thread::spawn(move || {
        for mut client in listener.incoming().flatten() {
            std::thread::spawn(move || {
                let mut parser = Parser::new();
                while let Ok(Value::Array(words)) = parser.parse_value(&mut client) {
                    let words: Vec<String> =
                        words.iter().filter_map(|word| redis::from_redis_value_ref(word).ok()).collect();
                    if client.write_all(answer(&words.join(" ")).as_bytes()).is_err() {
                        return;
                    }
                }
            });
        }
    });
    Ok(url)
}
