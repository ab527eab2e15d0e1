"""The same no-op, for Celery's prefork worker: `celery -A farm_tasks worker`."""
import os

from celery import Celery

app = Celery("farm", broker=os.environ["RABBITMQ_URL"])
app.conf.update(
    task_ignore_result=True,
    # As the farm does, and as its default queue does not: acknowledged when it is done, lost with no worker.
    task_acks_late=True,
    task_reject_on_worker_lost=True,
    # 250 a process, as the node holds.
    worker_prefetch_multiplier=250,
    task_default_queue=os.environ["QUEUE"],
    broker_connection_retry_on_startup=True,
    worker_send_task_events=False,
    # No queues and exchanges but its own.
    worker_enable_remote_control=False,
)


@app.task(name="noop")
def noop():
    pass
