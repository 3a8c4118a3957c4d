# Kinto with its storage in memory. Any user may create buckets.
import warnings

warnings.filterwarnings("ignore")
import kinto
from waitress import serve

settings = {f"kinto.{kind}_backend": f"kinto.core.{kind}.memory" for kind in ["storage", "permission", "cache"]}
settings |= {
    "kinto.userid_hmac_secret": "x", "multiauth.policies": "basicauth",
    "kinto.bucket_create_principals": "system.Authenticated",
}
serve(kinto.main({}, None, **settings), host="127.0.0.1", port=PORT, threads=16)
