"""TLS, passwords and users, on a cluster and on one server."""

import asyncio

import pytest
import twindex
import twindex.aio

import twindex_cluster

Secure = tuple[list[str], bytes]


@pytest.mark.parametrize("place", [0, 1], ids=["cluster", "server"])
def test_tables_over_tls(secure: Secure, place: int, namespace: str) -> None:
    urls, authority = secure
    with twindex.connect(urls[place], namespace=namespace, tls_authority=authority) as store:
        users = store.table("users")
        users.update((str(number), "1") for number in range(100))
        assert (len(users), users.increment("7", 2)) == (100, 3)
        log = store.table("log", index="sorted")
        assert log.insert("a", "1")
        assert list(log.scan()) == [("a", "1")]

    async def main() -> None:
        connected = await twindex.aio.connect(urls[place], namespace=namespace, tls_authority=authority)
        async with connected as store:
            assert await (await store.table("users")).select("7") == "3"

    asyncio.run(main())


@pytest.mark.parametrize("place", [0, 1], ids=["cluster", "server"])
def test_who_is_not_let_in_is_told_why(secure: Secure, place: int) -> None:
    urls, authority = secure
    url = urls[place]
    with pytest.raises(twindex_cluster.UnavailableError, match="certificate"):
        twindex.connect(url)
    with pytest.raises(twindex_cluster.UnavailableError):
        twindex.connect(url.replace("rediss://", "redis://"))
    with pytest.raises(twindex_cluster.UrlError, match="only rediss:// is TLS"):
        twindex.connect(url.replace("rediss://", "redis://"), tls_authority=authority)
    with pytest.raises(twindex_cluster.RefusedError, match="WRONGPASS") as raised:
        twindex.connect(url.replace("secret", "wrong"), tls_authority=authority)
    assert "wrong@" not in str(raised.value)
    with pytest.raises(twindex_cluster.RefusedError, match="NOAUTH"):
        twindex.connect(url.replace("default:secret@", ""), tls_authority=authority)
    with pytest.raises(twindex_cluster.UrlError, match="no certificate"):
        twindex.connect(url, tls_authority="what")
    with pytest.raises(twindex.ArgumentTypeError, match="PEM"):
        twindex.connect(url, tls_authority=7)
    with pytest.raises(twindex.ArgumentTypeError, match="a pair"):
        twindex.connect(url, tls_identity=authority)


@pytest.mark.parametrize("place", [0, 1], ids=["cluster", "server"])
def test_a_user_without_the_right_is_told_so(secure: Secure, place: int, namespace: str) -> None:
    urls, authority = secure
    with twindex.connect(urls[place], namespace=namespace, tls_authority=authority) as store:
        store.table("users")["ada"] = "1815"
    reader = urls[place].replace("default", "reader")
    with twindex.connect(reader, namespace=namespace, tls_authority=authority) as store:
        users = store.table("users")
        assert users["ada"] == "1815"
        with pytest.raises(twindex_cluster.RefusedError, match=r"NOPERM.*'set'"):
            users["ada"] = "1852"
        assert users["ada"] == "1815"
