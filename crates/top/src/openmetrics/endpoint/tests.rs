//! What the endpoint answers, and what it refuses.

use super::*;
use std::net::Shutdown;

fn endpoint(text: &str) -> Endpoint {
    let endpoint = Endpoint::start("127.0.0.1:0".parse().expect("address")).expect("listening");
    endpoint.publish(text.to_owned());
    endpoint
}

fn connected(endpoint: &Endpoint) -> TcpStream {
    TcpStream::connect(endpoint.address).expect("connected")
}

/// The whole answer to some bytes.
fn asked(endpoint: &Endpoint, request: &[u8]) -> String {
    let mut stream = connected(endpoint);
    // A refusal may come while we still send.
    let _ = stream.write_all(request);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

#[test]
fn get_metrics_gives_the_text() {
    let endpoint = endpoint("a 1\n# EOF\n");
    for request in [
        "GET /metrics HTTP/1.1\r\nHost: here\r\nAccept: */*\r\n\r\n",
        "GET /metrics?x=1 HTTP/1.0\r\n\r\n",
    ] {
        let answer = asked(&endpoint, request.as_bytes());
        let (head, body) = answer.split_once("\r\n\r\n").expect("head and body");
        assert!(head.starts_with("HTTP/1.1 200 OK\r\n") && head.contains(CONTENT_TYPE), "{head}");
        assert!(head.contains("Content-Length: 10\r\n") && head.contains("Connection: close"));
        assert_eq!(body, "a 1\n# EOF\n");
    }
    assert!(asked(&self::endpoint(""), b"GET /metrics HTTP/1.1\r\n\r\n").contains(" 503 "));
}

#[test]
fn everything_else_is_refused() {
    let endpoint = endpoint("a 1\n# EOF\n");
    for method in ["POST", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE", "GETX", "get", "CONNECT"] {
        let answer = asked(&endpoint, format!("{method} /metrics HTTP/1.1\r\n\r\n").as_bytes());
        assert!(
            answer.starts_with("HTTP/1.1 405 ") && answer.contains("Allow: GET\r\n"),
            "{answer}"
        );
    }
    for (request, status) in [
        ("GET / HTTP/1.1\r\n\r\n", 404),
        ("GET /metrics/../../etc/passwd HTTP/1.1\r\n\r\n", 404),
        ("GET /metrics HTTP/2.0\r\n\r\n", 400),
        ("GET /metrics\r\n\r\n", 400),
        ("GET /metrics HTTP/1.1 x\r\n\r\n", 400),
        ("\r\n\r\n", 400),
    ] {
        let answer = asked(&endpoint, request.as_bytes());
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{request:?}: {answer}");
        assert!(!answer.contains("a 1"), "{answer}");
    }
    assert!(asked(&endpoint, &[0xff; 64]).is_empty(), "no line, no answer, but an end");
}

#[test]
fn a_request_without_end_is_cut() {
    let endpoint = endpoint("a 1\n# EOF\n");
    let long =
        [b"GET /metrics HTTP/1.1\r\nX: ".to_vec(), vec![b'x'; 3 * REQUEST_BYTES_MAX]].concat();
    assert!(asked(&endpoint, &long).starts_with("HTTP/1.1 431 "));
    let post = [b"POST / HTTP/1.1\r\n".to_vec(), vec![b'x'; 64]].concat();
    assert!(asked(&endpoint, &post).starts_with("HTTP/1.1 405 "), "before its head ends");
}

#[test]
fn those_who_send_nothing_do_not_shut_out_others() {
    let endpoint = endpoint("a 1\n# EOF\n");
    let request = b"GET /metrics HTTP/1.1\r\n\r\n";
    // One who is slow keeps a place that silent ones want.
    let mut slow = connected(&endpoint);
    slow.write_all(&request[..9]).expect("sent");
    std::thread::sleep(NOTICE);
    let mut silent: Vec<TcpStream> = (0..200).map(|_| connected(&endpoint)).collect();
    slow.write_all(&request[9..]).expect("sent");
    let mut answer = String::new();
    slow.read_to_string(&mut answer).expect("read");
    assert!(answer.contains("200 OK"), "{answer}");
    silent.extend((0..800).map(|_| connected(&endpoint)));
    let asked_at = Instant::now();
    assert!(asked(&endpoint, request).contains("200 OK"));
    let took = asked_at.elapsed();
    assert!(took < TIME_MAX, "{took:?}: it had to wait until the time of the others had come");
    for mut stream in silent {
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest);
        assert!(rest.is_empty(), "they get an end and no answer");
    }
}

#[test]
fn an_address_with_few_connections_keeps_them() {
    let endpoint = endpoint("a 1\n# EOF\n");
    let from_elsewhere = || {
        // Another address of this machine; the standard library cannot choose the own end.
        let ends = (SocketAddr::from(([127, 0, 0, 9], 0)), endpoint.address);
        let socket = rustix::net::socket(
            rustix::net::AddressFamily::INET,
            rustix::net::SocketType::STREAM,
            None,
        );
        let socket = socket.expect("socket");
        rustix::net::bind(&socket, &ends.0).expect("bound");
        rustix::net::connect(&socket, &ends.1).expect("connected");
        TcpStream::from(socket)
    };
    let mut patient = from_elsewhere();
    std::thread::sleep(NOTICE);
    let _silent: Vec<TcpStream> = (0..200).map(|_| connected(&endpoint)).collect();
    patient.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").expect("sent");
    let mut answer = String::new();
    patient.read_to_string(&mut answer).expect("read");
    assert!(answer.contains("200 OK"), "the oldest of all, and silent until now: {answer}");
}

#[test]
fn who_reads_nothing_is_dropped_and_an_end_of_sending_is_no_trouble() {
    let endpoint = endpoint(&"x".repeat(64 << 20));
    let mut stream = connected(&endpoint);
    stream.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").expect("sent");
    stream.shutdown(Shutdown::Write).expect("shut");
    std::thread::sleep(TIME_MAX * 2);
    let mut got = Vec::new();
    let _ = stream.read_to_end(&mut got);
    assert!(got.len() < 64 << 20, "{} bytes: it kept waiting for a reader", got.len());
}

#[test]
fn an_address_that_is_taken_is_named_and_an_end_frees_it() {
    let first = endpoint("a");
    let error = Endpoint::start(first.address).expect_err("taken").to_string();
    assert!(error.contains(&first.address.to_string()), "{error}");
    let address = first.address;
    drop(first);
    Endpoint::start(address).expect("free again");
}
