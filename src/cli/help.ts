export const EXIT_HELP = `
Exit codes:
  0  done; of work: every job in flight had ended
  1  failed
  2  a flag, an argument or a variable that cannot be used
  3  work: the grace was over or a second signal came, jobs that had begun were killed
  4  the broker cannot be reached, or refused
  5  nobody answered in time
  6  publish --wait: the task failed; control: a node refused`

/** Names, defaults and meaning of the variables; docs/farm-cli.md has the same table. */
export const VARIABLES = [
  ['MIN_WORKERS', '1', 'workers at the least'],
  ['MAX_WORKERS', '10', 'workers at the most'],
  ['PREFETCH_PER_WORKER', '10', 'jobs held by each worker'],
  ['SCALE_UP_BATCH_SIZE', '2', 'workers started at once'],
  ['SCALE_DOWN_BATCH_SIZE', '1', 'workers retired at once'],
  ['SCALE_CHECK_INTERVAL_S', '1.0', 'seconds between two looks at the backlog'],
  ['WORKER_SHUTDOWN_GRACE_S', '15', 'seconds that jobs in flight have at the end'],
  ['HEARTBEAT_INTERVAL_S', '1', 'seconds between two heartbeats'],
  ['MAX_STALL_S', 'none', 'seconds without a turn that end a worker'],
  ['MAX_LOSSES', '3', 'beginnings on workers that died, then the dead letters'],
  ['TASK_HISTORY_MAX', '300', 'jobs remembered'],
  ['RABBITMQ_URL', 'amqp://guest:guest@127.0.0.1:5672/', 'the broker'],
  ['RABBITMQ_TLS_CA', 'those of Node', 'a file: the authorities of its certificate (amqps)'],
  ['RABBITMQ_TLS_CERT', 'none', 'a file: the certificate of this client'],
  ['RABBITMQ_TLS_KEY', 'none', 'a file: its key'],
  ['RABBITMQ_TLS_PASSPHRASE', 'none', 'opens the key, if it is encrypted'],
  ['RABBITMQ_TLS_SERVERNAME', 'that of the URL', 'the name in its certificate'],
  ['ASYNC_FARM_JOBS_QUEUE', 'async_farm.jobs', 'queues, with commas between'],
  ['ASYNC_FARM_CONTROL_EXCHANGE', 'async_farm.supervisor', 'commands to the nodes'],
  ['ASYNC_FARM_WORKER_EXCHANGE', 'async_farm.worker', 'events of the nodes'],
  ['ASYNC_FARM_SECRET', 'none', 'commands must carry it'],
] as const

export const WORK_HELP = `
Times are seconds, or have a unit: 15, 1.5, 500ms, 5s, 2m, 1h, 1d.

Variables (a flag wins; an empty one counts as absent):
${VARIABLES.map(([name, fallback, help]) => `  ${name.padEnd(27)} ${help} (${fallback})`).join('\n')}

Signals:
  SIGTERM, SIGINT, SIGHUP  drain: no new jobs, those in flight have the grace; a second one ends them now
  SIGTSTP                  quiet: no new jobs; SIGCONT takes them up again

Examples:
  prefork work --tasks ./tasks.js --workers 4
  prefork work --tasks ./tasks.js --autoscale 1,8 --http 9090`

export const PUBLISH_HELP = `
Examples:
  prefork publish sendWelcomeEmail '[42]' --delay 5s
  prefork publish add '[1, 2]' --wait`
