"""A connection string gets limits on how long a silent server is waited for, and keeps its own."""

from psycopg.conninfo import conninfo_to_dict

from lightwell.records.connections import with_keepalives


def test_a_url_without_limits_gets_them() -> None:
    parts = conninfo_to_dict(
        with_keepalives("postgresql://me:p%40ss@db:5433/store?sslmode=require")
    )
    assert parts == {
        "user": "me",
        "password": "p@ss",
        "host": "db",
        "port": "5433",
        "dbname": "store",
        "sslmode": "require",
        "keepalives_idle": "10",
        "keepalives_interval": "5",
        "keepalives_count": "3",
        "tcp_user_timeout": "25000",
    }


def test_what_a_url_says_is_kept() -> None:
    url = "postgresql://db/store?keepalives_idle=600&tcp_user_timeout=0"
    parts = conninfo_to_dict(with_keepalives(url))
    assert (parts["keepalives_idle"], parts["tcp_user_timeout"]) == ("600", "0")
    assert parts["keepalives_count"] == "3"


def test_the_file_of_a_named_service_is_not_overruled() -> None:
    assert with_keepalives("service=store") == "service=store"
