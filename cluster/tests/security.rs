//! TLS, passwords and users: what they let in, and what is said of what they do not.

use std::fs::read;
use std::time::Duration;

use twindex_cluster::{Error, IndexKind, Options, Store};
use twindex_servers::{Certificates, Cluster, Result, Server};

/// All that a user needs who uses every verb; docs/cluster.md names them too. `replicas` needs `+wait`, a near cache
/// `+client|tracking` and `+ssubscribe`.
const RIGHTS: &str = "-@all +hello +auth +client|setname +cluster|slots +role +fcall +function|load +get +set \
                      +del +unlink +exists +incrby +pttl +pexpire +persist +scan +hget +hmget +hset +hsetnx +hdel +hexists \
                      +hlen +hstrlen +hincrby +hgetall +hkeys +hvals +zadd +zrem +zcard +zrange +spublish +asking";

fn options() -> Options {
    Options::new().patience(Duration::from_secs(20))
}

fn trusting(certificates: &Certificates) -> Result<Options> {
    Ok(options().tls_authority(&read(certificates.authority())?))
}

/// The error, and the time that it took is no matter of patience.
async fn refused(options: Options, url: &str) -> Error {
    options.connect(url).await.expect_err("the servers do not let this in")
}

/// Some verbs of both kinds of tables.
async fn use_store(store: &Store) -> Result<()> {
    for index in [IndexKind::Hash, IndexKind::Sorted] {
        let table = store.table(index.name(), index).await?;
        let pairs: Vec<_> = (0..200).map(|number| (format!("key{number:03}"), number.to_string())).collect();
        assert!(table.insert_many(&pairs).await?.iter().all(|done| *done));
        assert!(!table.insert("key007", "8").await?);
        assert!(table.replace("key007", "8").await?);
        table.upsert("key008", "9").await?;
        assert_eq!(table.select("key007").await?.as_deref(), Some(b"8".as_slice()));
        assert!(table.contains("key008").await?);
        assert_eq!(table.increment("key009", 5).await?, 14);
        assert!(table.compare_and_swap("key009", Some(b"14"), None).await?);
        assert!(table.delete("key010").await?);
        assert_eq!(table.len().await?, 198);
        let mut pairs = table.iter().all().await?;
        pairs.sort();
        assert_eq!(pairs[9], (b"key011".to_vec(), b"11".to_vec()));
        if index == IndexKind::Hash {
            table.with_ttl(Duration::from_secs(9))?.upsert("brief", "1").await?;
            assert!(matches!(table.ttl("brief").await?, twindex_cluster::Ttl::Left(_)));
            assert!(table.touch("brief", None).await?);
        } else {
            assert_eq!(table.prefix("key01")?.rev().limit(1).all().await?[0].0, b"key019");
        }
        table.clear().await?;
        assert!(store.drop_table(index.name()).await?);
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn one_server_is_spoken_to_over_tls() -> Result<()> {
    let certificates = Certificates::make()?;
    let server = Server::start_tls(&certificates, false, &["--requirepass", "secret"])?;
    let host = server.tls_host().ok_or("it speaks TLS")?;
    let url = format!("rediss://:secret@{host}");
    use_store(&trusting(&certificates)?.connect(&url).await?).await?;

    let trusted = || trusting(&certificates);
    let [plain, wrong, without] =
        ["redis://:secret@", "rediss://:wrong@", "rediss://"].map(|start| [start, &host].concat());
    for (options, url, code, said) in [
        (options(), &url, "TWINDEX_UNAVAILABLE", "certificate"),
        (trusting(&Certificates::make()?)?, &url, "TWINDEX_UNAVAILABLE", "certificate"),
        (options(), &plain, "TWINDEX_UNAVAILABLE", &*host),
        (trusted()?, &wrong, "TWINDEX_REFUSED", "WRONGPASS"),
        (trusted()?, &without, "TWINDEX_REFUSED", "NOAUTH"),
    ] {
        let error = refused(options, url).await;
        assert_eq!(error.code(), code, "{error}");
        assert!(error.to_string().contains(said) && error.to_string().contains(&host), "{error}");
        assert!(!error.to_string().contains("wrong@"), "{error}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_may_want_a_certificate_of_its_clients() -> Result<()> {
    let certificates = Certificates::make()?;
    let server = Server::start_tls(&certificates, true, &[])?;
    let url = format!("rediss://{}", server.tls_host().ok_or("it speaks TLS")?);
    let error = refused(trusting(&certificates)?, &url).await;
    assert_eq!(error.code(), "TWINDEX_UNAVAILABLE", "{error}");
    let [certificate, key] = certificates.identity();
    let options = trusting(&certificates)?.tls_identity(&read(certificate)?, &read(key)?);
    use_store(&options.connect(&url).await?).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_is_spoken_to_over_tls() -> Result<()> {
    let certificates = Certificates::make()?;
    let mut settings = vec!["--requirepass", "secret", "--masterauth", "secret"];
    for user in ["ada", "bob"] {
        settings.extend(["--user", user, "on", ">secret", "~tw*", "&tw*"]);
        settings.extend(RIGHTS.split_whitespace().filter(|right| user == "ada" || *right != "+asking"));
    }
    let cluster = Cluster::start_with(3, 1, Some(&certificates), &settings)?;
    let url = format!("rediss://default:secret@{}", cluster.tls_hosts());
    let store = trusting(&certificates)?.near_cache(1 << 20).connect(&url).await?;
    use_store(&store).await?;
    let table = store.table("moved", IndexKind::Hash).await?;
    table.insert("{k}a", "1").await?;
    // Redirections name the servers' ports for TLS.
    let slot = cluster.slot_of("{k}")?;
    cluster.move_slot(slot, (cluster.master_of(slot)? + 1) % 3)?;
    assert_eq!(table.select("{k}a").await?.as_deref(), Some(b"1".as_slice()));
    // A slot on the move: it is said what right is missing, instead of that nobody has the slot.
    let from = cluster.master_of(slot)?;
    let ids =
        [from, (from + 1) % 3].map(|place| (place, cluster.servers()[place].command(&["CLUSTER", "MYID"])));
    let [(from, from_id), (to, to_id)] = ids;
    let (slot, from_id, to_id): (_, String, String) = (slot.to_string(), from_id?, to_id?);
    cluster.servers()[to].command::<()>(&["CLUSTER", "SETSLOT", &slot, "IMPORTING", &from_id])?;
    cluster.servers()[from].command::<()>(&["CLUSTER", "SETSLOT", &slot, "MIGRATING", &to_id])?;
    for user in ["ada", "bob"] {
        let store = trusting(&certificates)?.connect(&url.replace("default", user)).await?;
        let moving = store.table("moved", IndexKind::Hash).await?.select("{k}moving").await;
        match moving {
            Ok(value) => assert_eq!((user, value), ("ada", None)),
            Err(error) => {
                assert_eq!((user, error.code()), ("bob", "TWINDEX_REFUSED"), "{error}");
                assert!(error.to_string().contains("'asking'"), "{error}");
            }
        }
    }
    assert_eq!(refused(options(), &url).await.code(), "TWINDEX_UNAVAILABLE");
    let wrong = url.replace("secret", "wrong");
    assert_eq!(refused(trusting(&certificates)?, &wrong).await.code(), "TWINDEX_REFUSED");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn users_do_what_they_may_and_are_told_what_they_may_not() -> Result<()> {
    let mut settings = vec!["--user", "ada", "on", ">secret", "~tw*", "&tw*"];
    settings.extend(RIGHTS.split_whitespace());
    settings.extend(["--user", "bob", "on", ">secret", "~tw*", "&tw*"]);
    settings
        .extend(RIGHTS.split_whitespace().filter(|right| !matches!(*right, "+set" | "+hset" | "+hsetnx")));
    settings.extend(["--user", "eve", "on", ">secret", "~other*", "+@all"]);
    settings.extend(["--user", "dan", "on", ">secret", "~*", "-@all", "+hello", "+auth"]);
    settings.extend(["--user", "default", "off"]);
    let server = Server::start(&settings)?;
    let url = |user: &str| format!("redis://{user}:secret@127.0.0.1:{}", server.port());
    let store = options().connect(&url("ada")).await?;
    use_store(&store).await?;
    let hash = store.table("h", IndexKind::Hash).await?;
    let sorted = store.table("s", IndexKind::Sorted).await?;
    hash.insert("a", "1").await?;
    sorted.insert("a", "1").await?;
    let error = refused(options().near_cache(1 << 20), &url("ada")).await;
    assert_eq!(error.code(), "TWINDEX_REFUSED", "a near cache needs CLIENT TRACKING: {error}");
    assert!(error.to_string().contains("client|tracking"), "{error}");

    let error = refused(options().replicas(1), &url("ada")).await;
    assert_eq!(error.code(), "TWINDEX_REFUSED", "{error}");
    assert!(error.to_string().contains("'wait'"), "{error}");

    // Bob reads and does not write: in functions too.
    let store = options().connect(&url("bob")).await?;
    for (index, name, command) in [(IndexKind::Hash, "h", "set"), (IndexKind::Sorted, "s", "")] {
        let table = store.table(name, index).await?;
        assert_eq!(table.select("a").await?.as_deref(), Some(b"1".as_slice()));
        let error = table.upsert("a", "2").await.expect_err("he may not write");
        assert_eq!(error.code(), "TWINDEX_REFUSED", "{error}");
        assert!(error.to_string().contains(command), "{error}");
        assert_eq!(table.select("a").await?.as_deref(), Some(b"1".as_slice()));
    }
    // Eve has no right to these keys, and Dan none to find the servers.
    let store = options().connect(&url("eve")).await?;
    let error = store.table("h", IndexKind::Hash).await.expect_err("she may not read the catalogue");
    assert_eq!(error.code(), "TWINDEX_REFUSED");
    assert!(error.to_string().contains("NOPERM"), "{error}");
    let error = refused(options(), &url("dan")).await;
    assert_eq!(error.code(), "TWINDEX_REFUSED");
    assert!(error.to_string().contains("cluster|slots"), "{error}");
    for (user, password) in [("ada", "wrong"), ("nobody", "secret")] {
        let error =
            refused(options(), &format!("redis://{user}:{password}@127.0.0.1:{}", server.port())).await;
        assert_eq!(error.code(), "TWINDEX_REFUSED", "{error}");
        assert!(error.to_string().contains("WRONGPASS"), "{error}");
    }
    Ok(())
}
