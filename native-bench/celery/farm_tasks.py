"""The same no-op, for Celery's prefork worker: `celery -A farm_tasks worker`."""
import os

from celery import Celery

app = Celery("farm", broker=os.environ["RABBITMQ_URL"])
app.conf.update(
    task_ignore_result=True,
    # Like the farm: acknowledge after the task, requeue when the worker is lost. Celery's defaults do neither.
    task_acks_late=True,
    task_reject_on_worker_lost=True,
    # Prefetch: 250 a process, like the node.
    worker_prefetch_multiplier=250,
    task_default_queue=os.environ["QUEUE"],
    broker_connection_retry_on_startup=True,
    worker_send_task_events=False,
    # No further queues and exchanges.
    worker_enable_remote_control=False,
)


@app.task(name="noop")
def noop():
    pass
