"""Fills a queue with no-ops and lets Celery's prefork worker (2 processes) empty it: `measure.py <jobs>`. Prints its figures as JSON."""
import json
import os
import signal
import subprocess
import sys
import time
import uuid

JOBS = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
URL = os.environ.setdefault("RABBITMQ_URL", "amqp://guest:guest@127.0.0.1:5672/")
os.environ["QUEUE"] = f"prefork.bench.celery.{uuid.uuid4().hex[:12]}"
HERE = os.path.dirname(os.path.abspath(__file__))
# The start is not measured, and the last jobs do not keep every process busy.
FROM, TO = int(JOBS * 0.25), int(JOBS * 0.95)

sys.path.insert(0, HERE)
from farm_tasks import app, noop  # noqa: E402


def depth(channel):
    """Unacknowledged messages: without the prefetched ones, those would count as done."""
    return channel.queue_declare(os.environ["QUEUE"], passive=True).message_count


with app.producer_or_acquire() as producer:
    for _ in range(JOBS):
        noop.apply_async(producer=producer)

worker = subprocess.Popen(
    [sys.executable, "-m", "celery", "-A", "farm_tasks", "worker", "--pool", "prefork", "--concurrency", "2", "--loglevel", "WARNING",
     "--without-gossip", "--without-mingle", "--without-heartbeat"],
    cwd=HERE,
    stdout=subprocess.DEVNULL,
    stderr=subprocess.DEVNULL,
)
marks = []
try:
    with app.connection_for_read() as connection:
        channel = connection.default_channel
        deadline = time.monotonic() + 300
        for wanted in (FROM, TO):
            # The worker has prefetched up to 500 unfinished jobs, at both marks alike.
            while JOBS - depth(channel) < wanted and time.monotonic() < deadline:
                time.sleep(0.02)
            marks.append((JOBS - depth(channel), time.monotonic()))
finally:
    # SIGTERM would let it finish its prefetched jobs first.
    worker.send_signal(signal.SIGQUIT)
    try:
        worker.wait(10)
    except subprocess.TimeoutExpired:
        worker.kill()
    with app.connection_for_write() as connection:
        connection.default_channel.queue_delete(os.environ["QUEUE"])
        connection.default_channel.exchange_delete(os.environ["QUEUE"])
(first, began), (last, ended) = marks
print(json.dumps({"celery": __import__("celery").__version__, "perSecond": (last - first) / (ended - began)}))
