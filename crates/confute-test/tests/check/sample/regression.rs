// Refuted: rfc9110-13.1.1/if-match.
// Seen, and not to be explained: 204, ETag: "377d35dea8e40225", Last-Modified: 19:54:17 on connection 0
//
// In Cargo.toml: [dev-dependencies] confute-test. Start your server in the test instead of asking for its URL,
// and leave out #[ignore].

#[test]
#[ignore = "needs a server: CONFUTE_URL=http://127.0.0.1:8080/ cargo test -- --ignored"]
fn rfc9110_13_1_1_if_match() {
    let url = std::env::var("CONFUTE_URL").expect("CONFUTE_URL names the server");
    confute_test::still_passes(CASE, &url);
}

const CASE: &str = r#"{"confute":"case","version":1,"model":"http","settings":{"is_store":false,"resources":[]},"server":"http://127.0.0.1:45567/","blame":[["rfc9110-13.1.1/if-match"]],"level":"must","name":"s-70ae20ec81ec7f","prefix":"s-","seed":0,"connections":16,"relaxed":[],"seen":"204, ETag: \"377d35dea8e40225\", Last-Modified: 19:54:17 on connection 0","again":[10,10]}
{"step":{"ask":{"ask":{"body":"b","method":"put","name":"r0"},"on":{"opened":0}}}}
{"step":{"wait":{"outstanding":0}}}
{"step":{"ask":{"ask":{"method":"get","name":"r0"},"on":{"opened":0}}}}
{"step":{"wait":{"outstanding":0}}}
{"step":{"ask":{"ask":{"body":"d","if_match":{"lines":[[{"guess":{"opaque":"confute-made-this-up"}}]]},"method":"put","name":"r0"},"on":{"opened":0}}}}
{"step":{"wait":{"outstanding":0}}}
{"event":{"opened":0}}
{"event":{"sent":[0,{"request":{"body":"b","method":"put","path":"/s-70ae20ec81ec7f-r0","sent_at":80}}]}}
{"event":{"received":[0,{"response":{"content_length":0,"etag":{"opaque":"f16952ee72f3454f"},"last_modified":1794858857,"received_at":4302,"status":201}}]}}
{"event":{"sent":[0,{"request":{"method":"get","path":"/s-70ae20ec81ec7f-r0","sent_at":4492}}]}}
{"event":{"received":[0,{"response":{"body":"b","content_length":1,"etag":{"opaque":"f16952ee72f3454f"},"last_modified":1794858857,"received_at":6401,"status":200}}]}}
{"event":{"sent":[0,{"request":{"body":"d","if_match":{"lines":[[{"opaque":"confute-made-this-up"}]]},"method":"put","path":"/s-70ae20ec81ec7f-r0","sent_at":6476}}]}}
{"event":{"received":[0,{"response":{"etag":{"opaque":"377d35dea8e40225"},"last_modified":1794858857,"received_at":6672,"status":204}}]}}
"#;
