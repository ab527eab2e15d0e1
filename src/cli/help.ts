import { BROKER_VARIABLES } from './settings/broker.js'
import { NODE_VARIABLES } from './settings/work.js'
export const EXIT_HELP = `
Exit codes:
  0  done; of work: every job in flight had ended
  1  failed
  2  an invalid flag, argument or variable
  3  work: jobs that had begun were killed, when the grace was over or by a second signal
  4  the broker cannot be reached, or refused
  5  no answer in time
  6  publish --wait: the task failed; control: a node refused`

/** Variables with their defaults and meaning; docs/farm-cli.md has them in a table. */
export const VARIABLES = [...NODE_VARIABLES, ...BROKER_VARIABLES]

export const WORK_HELP = `
Times are seconds, or have a unit: 15, 1.5, 500ms, 5s, 2m, 1h, 1d.

Variables (a flag overrides its variable; an empty variable counts as absent):
${VARIABLES.map(([name, fallback, help]) => `  ${name.padEnd(27)} ${help} (${fallback})`).join('\n')}

Signals:
  SIGTERM, SIGINT, SIGHUP  drain: no new jobs, those in flight have the grace; a second signal ends them now
  SIGTSTP                  quiet: no new jobs; SIGCONT resumes

Examples:
  prefork work --tasks ./tasks.js --workers 4
  prefork work --tasks ./tasks.js --autoscale 1,8 --http 9090`

export const PUBLISH_HELP = `
Examples:
  prefork publish sendWelcomeEmail '[42]' --delay 5s
  prefork publish add '[1, 2]' --wait`
